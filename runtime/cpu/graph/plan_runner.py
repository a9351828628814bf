"""Native steps of a plan as one native call (`passes/codegen/llvm/loops/programs.py`), with an arena for inner values."""

import ctypes
import functools
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import starmap

import numpy as np

from ....ir.errors import IngotError
from ....ir.graph.printer import format_line
from ....ir.target import host
from ....passes.codegen.llvm.loops.strategies import STREAMING
from ....passes.schedule.plan_steps import Fused, Run, shallow
from ..calls import call, kernel_entry
from ..calls.call import is_plain
from ..calls.plan import runner
from ..calls.step_list import ARENA, ARGUMENTS, NOWHERE, WORD, At, Base, NativeCall, NativeStep, StepList, Written, in_arena
from ..compiler import compile
from ..compiler.ir_cache import Text
from ..loops import copies
from ..memory import alloc
from ..memory.arenas import Arenas

RELEASE_AT = 1 << 14      # elements of work from which other Python threads may run
_CALL_WORK = 16           # elements of a fused kernel that take as long as one of another operator
_CALLS_KEPT = 1024


class _Concrete:
    value = node = lowered = staticmethod(lambda x: x)


AS_THEY_ARE = _Concrete()


class NativeRun:
    """Consecutive steps, as one native call.

    prepared  {step: its `Prepared` call}
    number    {value: its place in the environment}
    copies    gives values and nodes with numbers for sizes, if those of the run are symbolic
    """

    def __init__(self, run: Run, prepared: dict, number: dict, kernel_of, threads: int, copies=AS_THEY_ARE):
        self.threads, self.source, self.prepared, self.kernel_of, self.copies = threads, run, prepared, kernel_of, copies
        self.reads = tuple([number[v] for v in run.reads])
        writes = [copies.value(v) for v in run.writes]
        self._set_results([number[v] for v in run.writes], [v.shape for v in writes], [v.dtype.np for v in writes])
        self.updates = tuple([number[v] for v in run.updates])
        self.operands = (*self.reads, *[i for i, *_ in self.writes], *self.updates)
        self.over_inputs = tuple([(number[v], number[home]) for v, home in run.over_inputs.items()])
        self.dead = tuple([number[v] for v in run.dead])
        self.work = sum([work_of(s, prepared, copies) for s in run.steps])
        self.entry = _entry(run, self.work >= RELEASE_AT)
        self.can_fail = any([prepared[s].call.can_fail for s in run.steps if type(s) is not Fused])  # noqa: C419
        self.arenas = Arenas(run.arena_bytes)
        self.list = self._step_list()
        self.take(self.list.finish(), self.work)

    def _set_results(self, numbers, shapes, dtypes):
        """Store the location and the size of each result."""
        self.writes = tuple(zip(numbers, shapes, dtypes))
        self.small = all([math.prod(shape) * dtype.itemsize < alloc.SMALL_BYTES for shape, dtype in zip(shapes, dtypes)])  # noqa: C419

    def resized(self, run: Run, shapes, prepared: dict, copies) -> "NativeRun":
        """Return the same run with results of other shapes, which has yet to `take` its words."""
        made = shallow(self)
        made.source, made.prepared, made.copies = run, prepared, copies
        made._set_results([number for number, *_ in self.writes], shapes, [dtype for *_, dtype in self.writes])
        return made

    def forget(self):
        """Drop the data of error messages if no step can fail."""
        if not self.can_fail:
            self.prepared, self.copies = {}, AS_THEY_ARE

    def take(self, words, work: int):
        """Take the words of its steps, which are so much work; arenas of the right size are those of the original run."""
        self.words, self.address = words, words.ctypes.data
        if self.arenas.size != self.source.arena_bytes:
            self.arenas = Arenas(self.source.arena_bytes)
        if (work >= RELEASE_AT) != (self.work >= RELEASE_AT):
            self.entry = _entry(self.source, work >= RELEASE_AT)
        self.work = work

    def _bases(self) -> dict:
        run = self.source
        found = {v: Base(ARGUMENTS + i) for i, v in enumerate([*run.reads, *run.writes, *run.updates])}
        found |= {v: found[home] for v, home in run.over_inputs.items()}
        return found | {v: in_arena(offset) for v, offset in run.arena.items()}

    def _step_list(self) -> StepList:
        made, scratch, start = StepList(), self.source.scratch, self._bases()
        for step in self.source.steps:
            bases = [NOWHERE if v is None else _after(start[v], offset) for v, offset in self.operands_of(step)]
            made.add(self.written(step, bases.__getitem__), bases, in_arena(scratch[step]) if step in scratch else None, step)
        return made

    def operands_of(self, step) -> list | tuple:
        """Return (value, bytes from its start) of a step's operands; None for the value of an operand that is no array."""
        if type(step) is not Fused:
            return self.prepared[step].operands
        return [(v, offset * v.dtype.itemsize) for v, offset, _ in self.copies.lowered(step.lowered).operands]

    def written(self, step, base_of: Callable) -> Written:
        """Return the words of a step whose operands start at `base_of` their numbers. At most as many threads take part as
        scratch memory was reserved for."""
        if type(step) is Fused:
            return kernel_call(_without_streaming(self.copies.lowered(step.lowered), base_of)).written(0, False)
        made = self.prepared[step].call
        over = any([base_of(result) == base_of(operand) for result, operand in made.over])  # noqa: C419
        return made.written(self.threads, over)

    def run(self, env):
        """Compute; results go into `env`, or into the arrays there."""
        arena = self.arenas.take()          # before the results, so that it gets its memory of the last run again
        args = [env[i] for i in self.reads]
        make = np.empty if self.small else alloc.empty
        for i, shape, dtype in self.writes:
            out = env[i]
            if out is None:
                env[i] = out = make(shape, dtype)
            args.append(out)
        args += [env[i] for i in self.updates]
        self._launch(arena, args)
        for i, home in self.over_inputs:
            env[i] = env[home]
        for i in self.dead:
            env[i] = None

    def run_once(self, env, progress):
        """Compute, and note it in the same instruction: native code may write over inputs, so it must not run twice."""
        arena, make = self.arenas.take(), np.empty if self.small else alloc.empty
        for i, shape, dtype in self.writes:
            if env[i] is None:
                env[i] = make(shape, dtype)
        args = [env[i] for i in self.operands]
        if self.can_fail:
            progress.checked = self, (arena, args)
        try:
            progress.done += starmap(self.entry, ((self.address, arena, *args),))
        except TypeError:
            if all(map(is_plain, args)):        # so the entry took them
                raise
            plain = self._copies(args)
            progress.pending = args[len(self.reads):], plain[len(self.reads):]
            progress.done += starmap(self.entry, ((self.address, arena, *plain),))
        self.settle(env, progress)
        self.arenas.give(arena)

    @property
    def writes_inputs(self) -> bool:
        return bool(self.updates or self.over_inputs)

    def settle(self, env, progress):
        """Hand on what was computed, and drop what no later step reads; the same again after an interrupt. A run that found
        wrong data has written nothing, and is not done."""
        step, call = progress.checked
        if step is self and self._found_fault(call[0]):
            progress.done.pop()
            self._fail(*call)
        if progress.pending is not None:
            self._copy_back(*progress.pending)
            progress.pending = None
        for i, home in self.over_inputs:
            env[i] = env[home] if env[i] is None else env[i]
        for i in self.dead:
            env[i] = None

    def _launch(self, arena, args):
        try:
            self.entry(self.address, arena, *args)
        except TypeError:
            if all(map(is_plain, args)):
                raise
            args = self._run_on_copies(arena, args)
        self.check(arena, args)
        self.arenas.give(arena)

    def check(self, arena, args):
        """Raise the error of a step that found wrong data in the run just made on these."""
        if self.can_fail and self._found_fault(arena):
            self._fail(arena, args)

    @staticmethod
    def _found_fault(arena) -> bool:
        return bool(arena[:WORD].view(np.int64).item())

    def _fail(self, arena, args):
        """Raise the error of the step that stopped the run, as its eager kernel does."""
        step = self.list.sources[ctypes.c_int64.from_address(call.address_of(arena) + WORD).value]
        node, made, start, arrays = self.copies.node(step.node), self.prepared[step], self._bases(), []
        for given, (value, offset) in zip(made.given, made.operands):
            if value is None:
                arrays.append(given)
                continue
            slot, at = _after(start[value], offset)
            memory = arena if slot == ARENA else np.ascontiguousarray(args[slot - ARGUMENTS]).reshape(-1).view(np.uint8)
            arrays.append(np.ndarray(given.shape, given.dtype, memory, at, given.strides))
        call_kernel(node, self.kernel_of(node.op), arrays, node.params)
        raise IngotError(f"{node.op.name} found data that it cannot compute with{where(node)}")

    def _run_on_copies(self, arena, args):
        """Run on copies of arrays that are not in C order, or not writable, and copy back."""
        plain = self._copies(args)
        self.entry(self.address, arena, *plain)
        self._copy_back(args[len(self.reads):], plain[len(self.reads):])
        return plain

    @staticmethod
    def _copies(args) -> list:
        return [a if is_plain(a) else copies.in_rows(np.asarray(a)) for a in args]

    @staticmethod
    def _copy_back(args, plain):
        for a, b in zip(args, plain):
            if a is not b:
                np.copyto(a, b)

    def alone(self, inputs, outputs):
        """Return a function from the graph's inputs to its outputs, for a graph that is this run alone. None if it writes over
        inputs, or returns one of them or something twice."""
        at = [i for i, *_ in self.writes]
        if self.updates or sorted(at) != sorted(outputs):
            return None
        entry, address, make = self.entry, self.address, np.empty if self.small else alloc.empty
        shapes = tuple([(shape, dtype) for _, shape, dtype in self.writes])
        arenas, in_order = self.arenas, self.reads == tuple(range(inputs)) and tuple(at) == outputs
        if self.can_fail or not in_order:
            return self._alone_checked(shapes, tuple(map(at.index, outputs)))

        def run(arrays):
            arena = arenas.take()
            made = [make(shape, dtype) for shape, dtype in shapes]
            try:
                entry(address, arena, *arrays, *made)
            except TypeError:
                if all(map(is_plain, arrays)):
                    raise
                self._run_on_copies(arena, [*arrays, *made])
            arenas.give(arena)
            return made

        run.parts = entry, address, arenas, make, shapes        # type: ignore[attr-defined]  # for who writes such a function
        return run

    def _alone_checked(self, shapes, positions):
        """Return the same where arrays need copies, or steps may find wrong data."""
        entry, address, make, arenas = self.entry, self.address, np.empty if self.small else alloc.empty, self.arenas
        reads, can_fail, in_order = self.reads, self.can_fail, positions == tuple(range(len(shapes)))

        def run(arrays):
            arena = arenas.take()
            made = [make(shape, dtype) for shape, dtype in shapes]
            args = [*[arrays[i] for i in reads], *made]
            try:
                entry(address, arena, *args)
            except TypeError:
                if all(map(is_plain, args)):
                    raise
                args = self._run_on_copies(arena, args)
            if can_fail and arena[:WORD].view(np.int64).item():
                self._fail(arena, args)
            arenas.give(arena)
            return made if in_order else [made[i] for i in positions]

        return run


def work_of(step, prepared: dict, copies) -> int:
    """Return about how many elements of a fused kernel take as long as a step."""
    if type(step) is Fused:
        return max([copies.value(v).aval.size for v, _, _ in step.lowered.operands], default=0)
    made = prepared[step]
    return made.call.work or _CALL_WORK * max([copies.value(v).aval.size for v, _ in made.operands if v is not None])


def _after(base, offset) -> Base:
    return Base(base.slot, base.offset + offset)


def where(node) -> str:
    """Return the user's line of a node, for messages."""
    return f" at {format_line(node.line, full_paths=True)}" if node.line else ""


def call_kernel(node, kernel, arguments, params):
    """Return the results of one operator, by its eager kernel."""
    try:
        return kernel(*arguments, **params)
    except IngotError:
        raise
    except Exception as e:
        e.add_note(f"in {node.op.name}{where(node)}, in traced code")
        raise


def _without_streaming(lowered, base_of):
    """Return a kernel with normal instead of streaming stores, if it writes where it reads."""
    if lowered.strategy is not STREAMING:
        return lowered
    read = {base_of(i) for i, (*_, written) in enumerate(lowered.operands) if not written}
    over = any(base_of(i) in read for i, (*_, written) in enumerate(lowered.operands) if written)
    return replace(lowered, strategy=None) if over else lowered


def kernel_call(lowered) -> NativeCall:
    """Return a fused kernel as a step: it takes the addresses of its buffers, then the values of its symbols."""
    return _kernel_call(kernel_address(lowered), len(lowered.operands),
                        tuple([int(lowered.symbols[s]) for s in lowered.kernel.symbols]))


@functools.lru_cache(_CALLS_KEPT)
def _kernel_call(address, buffers, symbols):
    return NativeCall((NativeStep(address, (*map(At, range(buffers)), *symbols, 0, 0)),))


_addresses: dict = {}       # (kernel's name, strategy) -> where its code is, which stays for the life of the process


def kernel_text(lowered) -> str | Text:
    """Return the LLVM IR of a fused kernel for this machine."""
    return kernel_entry.kernel_text(lowered.kernel, lowered.strategy)


def kernel_address(lowered) -> int:
    """Return the address of the compiled kernel."""
    name = lowered.kernel.name
    found = _addresses.get((name, lowered.strategy))
    if found is None:
        found = _addresses[name, lowered.strategy] = compile.compile_module(kernel_text(lowered), [name])[name]
    return found


def _entry(run, releases):
    """Return the callable (address of the words, arena, arrays...)."""
    parameters = [call.INTEGER, call.array(np.uint8, -1), *[call.array(v.dtype.np, -1, contiguous=True) for v in run.reads],
                  *[call.array(v.dtype.np, -1, writable=True, contiguous=True) for v in (*run.writes, *run.updates)]]
    return call.entry("graph", runner(host()), parameters, 0 if releases else -1)
