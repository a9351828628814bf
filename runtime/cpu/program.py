"""Running fused graphs: plans (`passes/plan_memory.py`) prepared once, then run with little Python between the steps.

    p = CompiledGraph(graph, owned={0})
    outputs = p.run(arrays)              # arrays in the order of the graph's inputs

A run of kernels is one native call. Operators that are no kernels (contractions, gathers) are called between, by the kernels
that eager mode uses. Any number of threads may run one compiled graph at the same time.
"""

import functools

import numpy as np

from ...ir.errors import IngotError
from ...ir.graph import Graph, Value
from ...ir.printer import format_line
from ...ir.target import host
from ...passes.codegen.llvm import kernels as code
from ...passes.codegen.llvm import programs
from ...passes.codegen.llvm.emit import Module
from ...passes.codegen.llvm.epilogue import Outside
from ...passes.plan_memory import Product, Run, plan
from . import alloc, call, compile, gemm, pool  # noqa: F401 (pool gives kernels the thread pool's entry)

RELEASE_AT = 1 << 14      # elements of work from which other Python threads may run
_KEPT_ARENAS = 4          # small arenas that wait for the next call


class CompiledGraph:
    """A graph, ready to run.

    graph      what is computed, after all graph passes
    owned      positions of results that get memory of their own
    targets    {position of a result: number of the input that it replaces}; `in_place` says for which of them the run
               itself writes into the input
    kernel_of  gives the eager kernel of an operator
    """

    def __init__(self, graph: Graph, kernel_of, owned=frozenset(), targets=None):
        self.plan = plan(graph, owned, targets)
        graph = self.graph = self.plan.graph
        self.number = {v: i for i, v in enumerate(graph.values())}
        replaced = {v: graph.inputs.index(t) for v, t in self.plan.in_place.items()}
        self.in_place = frozenset(i for i, v in enumerate(graph.outputs) if v in replaced)
        places = {self.number[v]: i for v, i in replaced.items()}
        self.steps: tuple = tuple([self._prepared(s, places, kernel_of) for s in self.plan.steps])
        self.outputs = tuple([self.number[v] for v in graph.outputs])
        self.room = [None] * (len(self.number) - len(graph.inputs))
        self.is_native = all(type(s) is NativeRun for s in self.steps)     # nothing in it calls numpy
        if len(self.steps) == 1 and self.is_native:
            alone = self.steps[0].alone(len(graph.inputs), self.outputs)
            if alone is not None:
                self.run = alone

    def _prepared(self, step, places, kernel_of):
        if type(step) is Run:
            return NativeRun(step, self.number, places)
        return FusedProduct(step, self.number, places) if type(step) is Product else CalledNode(step, self.number, kernel_of)

    def run(self, arrays) -> list:
        """The results, as arrays, in order."""
        env = [*arrays, *self.room]
        for step in self.steps:
            step.run(env)
        return [env[i] for i in self.outputs]


class NativeRun:
    """Kernels that follow each other, in one native call."""

    def __init__(self, run: Run, number: dict, places: dict):
        self.source = run
        self.reads = tuple([number[v] for v in run.reads])
        self.writes = tuple([(number[v], v.shape, v.dtype.np, places.get(number[v])) for v in run.writes])
        self.dead = tuple([number[v] for v in run.dead])
        self.words = _plan_words(run)
        self.address = self.words.ctypes.data
        self.arenas = Arenas(run.program.arena_bytes)
        self.small = all(v.aval.size * v.dtype.itemsize < alloc.SMALL_BYTES for v in run.writes)
        work = sum(max([v.aval.size for v, _, _ in k.operands], default=0) for k in run.kernels)
        self.entry = _entry(run, work)

    def run(self, env):
        """Computes; results go into `env`."""
        args = [env[i] for i in self.reads]
        make = np.empty if self.small else alloc.empty
        for i, shape, dtype, place in self.writes:
            env[i] = out = make(shape, dtype) if place is None else env[place]
            args.append(out)
        self._launch(args)
        for i in self.dead:
            env[i] = None

    def _launch(self, args):
        arena = self.arenas.take()
        try:
            self.entry(self.address, arena, *args)
        except TypeError:
            self._run_on_copies(arena, args)
        self.arenas.give(arena)

    def _run_on_copies(self, arena, args):
        """Arrays that are not in C order, or not writable, are copied before and after."""
        plain = [a if type(a) is np.ndarray and a.flags.carray else np.array(a, order="C", subok=False) for a in args]
        self.entry(self.address, arena, *plain)
        for a, b in zip(args[len(self.reads):], plain[len(self.reads):]):
            if a is not b:
                np.copyto(a, b)

    def alone(self, inputs, outputs):
        """For a run that is all there is: a function from the arrays of the graph's inputs to those of its outputs, without an
        environment between. None if it reads, writes or gives in another order."""
        if self.reads != tuple(range(inputs)) or any(place is not None for *_, place in self.writes):
            return None
        at = [i for i, *_ in self.writes]
        if tuple(at) != outputs:
            return None
        entry, address, make = self.entry, self.address, np.empty if self.small else alloc.empty
        shapes = tuple([(shape, dtype) for _, shape, dtype, _ in self.writes])
        arenas = self.arenas

        def run(arrays):
            made = [make(shape, dtype) for shape, dtype in shapes]
            arena = arenas.take()
            try:
                entry(address, arena, *arrays, *made)
            except TypeError:
                self._run_on_copies(arena, [*arrays, *made])
            arenas.give(arena)
            return made

        return run


def _plan_words(run) -> np.ndarray:
    """The program as data for the native runner."""
    words = [len(run.program.steps)]
    for step, k in zip(run.program.steps, run.kernels):
        words += [kernel_address(k), len(step.slots), len(step.symbols)]
        for name in step.slots:
            slot = run.program.slots[name]
            words += [1, slot.where] if slot.kind == "arena" else [2 + slot.where, slot.offset]
        words += [step.symbols[s] for s in k.kernel.symbols]
    return np.array(words, np.int64)


_texts: dict = {}        # (kernel's name, strategy) -> LLVM IR


def kernel_text(lowered) -> str:
    """The LLVM IR of a fused kernel for this machine."""
    key = lowered.kernel.name, lowered.strategy
    text = _texts.get(key)
    if text is None:
        module = Module(host())
        code.write(module, lowered.kernel, lowered.strategy)
        text = _texts[key] = module.text()
    return text


def kernel_address(lowered) -> int:
    """Where the compiled kernel is."""
    name = lowered.kernel.name
    return compile.compile_module(kernel_text(lowered), [name])[name]


def _entry(run, work):
    """The callable (address of the words, arena, arrays...)."""
    address = compile.compile_module(programs.runner_text(host()), [programs.RUNNER])[programs.RUNNER]
    parameters = [call.INTEGER, call.array(np.uint8, -1), *[call.array(v.dtype.np, -1, contiguous=True) for v in run.reads],
                  *[call.array(v.dtype.np, -1, writable=True, contiguous=True) for v in run.writes]]
    return call.entry(run.program.name, address, parameters, 0 if work >= RELEASE_AT else -1)


class Arenas:
    """Memory for the inner values of a run: small ones are kept for the next call, large ones come from the allocator."""

    def __init__(self, size: int):
        self.size, self.kept = size, []
        self.large = size >= alloc.SMALL_BYTES
        if not self.large:
            self.kept.append(alloc.aligned_zeros((max(size, 1),), np.uint8))

    def take(self) -> np.ndarray:
        """An arena that nobody else uses until it is given back."""
        try:
            return self.kept.pop()
        except IndexError:
            return alloc.empty(self.size, np.uint8) if self.large else alloc.aligned_zeros((max(self.size, 1),), np.uint8)

    def give(self, arena):
        """Takes an arena back."""
        if not self.large and len(self.kept) < _KEPT_ARENAS:
            self.kept.append(arena)


class FusedProduct:
    """A matrix product whose epilogue does what follows it."""

    def __init__(self, step: Product, number: dict, places: dict):
        e = step.epilogue
        self.source = step
        self.x, self.y = (number[v] for v in e.node.inputs)
        self.out, self.shape = number[e.result], e.result.shape
        self.others = tuple([(number[v], v.shape, v.dtype.np, places.get(number[v])) for v in e.others])
        self.operands = tuple([(number[v], *[n * v.dtype.itemsize for n in steps]) for v, *steps in e.operands])
        self.product = _product(e.result.dtype.np)
        self.function = compile.compile_module(e.fused.text(host()), [e.fused.name])[e.fused.name]
        self.dead = tuple([number[v] for v in step.dead])

    def run(self, env):
        """Computes; the result goes into `env`."""
        for i, shape, dtype, place in self.others:
            fits = place is not None and env[place].flags.carray
            env[i] = env[place] if fits else alloc.empty(shape, dtype)
        words, kept = [self.function], []
        for i, offset, row, batch in self.operands:
            a = env[i] if env[i].flags.c_contiguous else np.ascontiguousarray(env[i])
            kept.append(a)
            words += (call.address_of(a) + offset, row, batch)
        block = np.array(words, np.int64)
        made = self.product(env[self.x], env[self.y], None, call.address_of(block))
        env[self.out] = made if made.shape == self.shape else made.reshape(self.shape)
        for i, _, _, place in self.others:
            if place is not None and env[i] is not env[place]:
                np.copyto(env[place], env[i])
        for i in self.dead:
            env[i] = None


@functools.lru_cache(None)
def _product(dtype):
    return gemm.Product(dtype, epilogue=Outside())


class CalledNode:
    """One operator, called on arrays by the kernel that eager mode uses."""

    def __init__(self, step, number: dict, kernel_of):
        node = self.node = step.node
        self.source = step
        self.kernel = kernel_of(node.op)
        self.params = node.params
        self.sources = tuple([(number[x], None) if type(x) is Value else (-1, x) for x in node.inputs])
        self.outs = tuple([number[v] for v in node.outputs])
        self.dead = tuple([number[v] for v in step.dead])

    def run(self, env):
        """Computes; results go into `env`."""
        try:
            result = self.kernel(*[env[i] if i >= 0 else x for i, x in self.sources], **self.params)
        except IngotError:
            raise
        except Exception as e:
            where = f" at {format_line(self.node.line, full_paths=True)}" if self.node.line else ""
            raise IngotError(f"{self.node.op.name}{where} failed in traced code: {e}") from e
        for i, r in zip(self.outs, result if self.node.multi else (result,)):
            env[i] = r if type(r) is np.ndarray else np.asarray(r)
        for i in self.dead:
            env[i] = None


