"""Running graphs on a device: plans (`passes/codegen/triton/plan.py`) prepared once, then run step by step.

Eager operators come here as graphs of one node, traced code as graphs of many.
"""

from typing import Any

from ...ir.errors import IngotError
from ...ir.graph import Graph, Value
from ...ir.op import View
from ...ir.ops.complexes import pairs
from ...ir.ops.conv import conv, conv_input_grad
from ...ir.ops.conv_last import conv_last, conv_last_input_grad
from ...ir.printer import format_line
from ...passes.codegen.triton.plan import CallStep, KernelStep, ProductStep, Steps, plan
from ...passes.codegen.triton.together import EndStep, ManyStep, reads_first
from ...passes.kernel_body import is_free
from ..device_array import DeviceArray
from . import conv_rows, streams
from .arrays import KIND, as_pairs, empty, fill, filled, used, window
from .kernels import Prepared, as_number
from .products import Beside, Computed, multiply
from .together import Grouped, are_alike
from .windows import convolve, transpose

__all__ = ["KIND", "DeviceGraph", "empty", "fill", "filled", "used"]


OBSERVERS: list = []        # told (step, its run) instead of the run, the last one
_SEEN = {pairs: as_pairs}   # where an array that nobody reads as it is any more is only looked at in another way
_CONVOLUTIONS = {conv: convolve, conv_input_grad: transpose, conv_last: conv_rows.convolve,
                 conv_last_input_grad: conv_rows.transpose}


class DeviceGraph:
    """A graph, ready to run on arrays of one device.

    graph    what is computed, after all graph passes; or its steps
    call     runs one operator on arrays: call(op, inputs, params, device, into=arrays for its results, where they have a place)
    owned    positions of results that get memory of their own
    numbers  inputs that are no device arrays, but one number each
    targets  {position of a result: number of the input that it replaces}; `in_place` are those that the run writes there
    """

    is_native = False

    def __init__(self, graph: Graph | Steps, call, owned=frozenset(), numbers=frozenset(), targets=None):
        self.plan = graph if isinstance(graph, Steps) else plan(graph, owned, targets)
        graph = self.graph = self.plan.graph
        self.in_place = frozenset([i for i, v in enumerate(graph.outputs) if v in self.plan.in_place])
        self.call = call
        self.numbers = frozenset([graph.inputs[i] for i in numbers])
        self.launched: dict = {}        # by steps whose end is apart
        self.steps = [self._step(s) for step in self.plan.steps for s in self._apart(step)]

    def _apart(self, step) -> tuple:
        """The steps of one; kernels that take numbers are launched by themselves."""
        return step.steps if type(step) is ManyStep and not self.numbers.isdisjoint(step.reads) else (step,)

    def _step(self, step):
        if type(step) in (ManyStep, EndStep):
            return LaunchedTogether(step, self)
        if type(step) is CallStep:
            return Called(step, self)
        if type(step) is ProductStep:
            return Multiplied(step, self)
        made = Launched(step, self)
        if step.ends_apart:
            self.launched[step] = made
        return made

    def run(self, inputs, places=None) -> list:
        """The results, as arrays, in order. `places` are arrays that some results of kernels are written into, by value."""
        device = next(a.memory.device for a in inputs if a.__class__ is DeviceArray)
        env = {}
        for v, a in zip(self.graph.inputs, inputs):
            env[v] = a if a.__class__ is not DeviceArray or a.is_contiguous else a.backend.contiguous(a)
        for step in self.steps:
            if OBSERVERS:
                OBSERVERS[-1](step, lambda step=step: step.run(env, device, places))
            else:
                step.run(env, device, places)
        return [self.value(v, env, device) for v in self.graph.outputs]

    def place(self, v: Value, env: dict, device: int):
        """The array that a value is written into, if it is a part of a join, which gets its memory with the first of them."""
        part = self.plan.parts.get(v)
        if part is None:
            return None
        join = part.join
        if join not in env:
            env[join] = empty(device, join.shape, join.dtype.np, streams.current(device).handle)
        found = window(env[join], part.cuts)
        for op, params in part.operators:
            found = found.viewed(op, params)
        return found

    def value(self, v: Value, env: dict, device: int):
        """The array of a value; views and fills are made when they are asked for."""
        found = env.get(v)
        if found is not None:
            return found
        node = v.node
        if type(node.op.lower) is View:
            return self.value(node.inputs[0], env, device).viewed(node.op, node.params)
        if is_free(v):
            return filled(device, v.shape, v.dtype.np, node.params["value"])
        raise IngotError(f"{v!r} is not there when it is needed")


class Launched:
    """A fused kernel with its arrays; `among` others in one launch."""

    def __init__(self, step: KernelStep, graph: DeviceGraph, among=False):
        lowered, numbers, in_place = step.lowered, graph.numbers, graph.plan.in_place
        self.graph, self.step, made = graph, step, dict.fromkeys([v for v, _, written in step.lowered.operands if written])
        self.parts = [v for v in made if v in graph.plan.parts]
        self.operands = [(v, v in numbers) for v, _, _ in lowered.operands]
        there = {*in_place, *self.parts}
        self.writes = [(v, v.shape, v.dtype.np) for v in made if v not in there]
        self.over = [(v, in_place[v]) for v in made if v in in_place]
        self.dead = step.dead
        offsets = [offset * v.dtype.itemsize for v, offset, _ in lowered.operands]
        by_value = frozenset([b.name for b, (v, _, _) in zip(lowered.kernel.buffers, lowered.operands) if v in numbers])
        apart = reads_first(lowered, in_place)
        self.kernel = Prepared(lowered.kernel, lowered.symbols, offsets, by_value, apart, among)

    def run(self, env, device, places=None):
        """Computes; results go into `env`."""
        stream = streams.current(device).handle
        given, kernel = self.given(env, device, stream, places), self.kernel
        if self.step.ends_apart and kernel.end is not None:
            env[self.step] = given, kernel.run(device, stream, given, kernel.launches[:-1])
        else:
            kernel(device, stream, given)
        for v in self.dead:
            env.pop(v, None)

    def given(self, env, device, stream, places) -> list:
        """The address (or the number) of each buffer, with results in `env`."""
        for v, shape, dtype in self.writes:
            env[v] = places[v] if places and v in places else empty(device, shape, dtype, stream)
        for v, target in self.over:
            env[v] = env[target]
        for v in self.parts:
            env[v] = self.graph.place(v, env, device)
        return [as_number(v.dtype, env[v]) if number else used(env[v], stream) for v, number in self.operands]


class LaunchedTogether:
    """Fused kernels alike with their arrays in one launch, or the ends of such; or one end."""

    def __init__(self, step: ManyStep | EndStep, graph: DeviceGraph):
        self.steps, self.dead = step.steps if type(step) is ManyStep else (step,), step.dead
        self.are_ends = type(self.steps[0]) is EndStep
        self.members = [graph.launched[s.step] if self.are_ends else Launched(s, graph, True) for s in self.steps]
        kernels = [m.kernel for m in self.members]
        launches = [k.end for k in kernels] if self.are_ends else [one for k in kernels for one in k.launches]
        self.kernel = None
        if type(step) is ManyStep and len(launches) == len(kernels) and are_alike(launches):
            self.kernel = Grouped(kernels[0].kernel, launches, step.shared, step.over, step.slots)

    def run(self, env, device, places=None):
        """Computes; results go into `env`."""
        stream = streams.current(device).handle
        if self.are_ends:
            rows = [None if m.kernel.end is None else env.pop(s.step) for s, m in zip(self.steps, self.members)]
        else:
            rows = [(m.given(env, device, stream, places), {}) for m in self.members]
        if self.kernel is not None:
            self.kernel(device, stream, rows)
        else:
            self._one_by_one(device, stream, rows)
        for v in self.dead:
            env.pop(v, None)

    def _one_by_one(self, device, stream, rows):
        """What sizes have made different, or have done before the end."""
        for m, row in zip(self.members, rows):
            if not self.are_ends:
                m.kernel(device, stream, row[0])
            elif row is not None:
                m.kernel.end(device, stream, *row)


class Multiplied:
    """A product or a convolution, and what follows it, in one launch."""

    def __init__(self, step: ProductStep, graph: "DeviceGraph"):
        made = step.epilogue
        self.graph, self.node, self.dead, self.source = graph, step.node, step.dead, step
        self.beside = None if made.fused is None else _beside(made)
        self.computed = [None if p is None else (Computed(_beside(p), p.turned), _places(p)) for p in made.before]
        self.operands = _places(made)
        self.writes = [(v, v.shape, v.dtype.np, graph.plan.in_place.get(v)) for v in (made.result, *made.others)]

    def run(self, env, device, places=None):
        """Computes; results go into `env`."""
        stream = streams.current(device).handle
        inputs = [self.factor(i, x, env, device) for i, x in enumerate(self.node.inputs)]
        for v, shape, dtype, target in self.writes:
            if target is not None:
                env[v] = env[target]
            else:
                env[v] = places[v] if places and v in places else empty(device, shape, dtype, stream)
        for v, _ in self.operands:
            self.in_memory(v, env, device)
        out = env[self.writes[0][0]]
        run = _CONVOLUTIONS.get(self.node.op)
        if run is not None:
            shape = self.node.output.shape
            given = [_from(env[v], more) for v, more in self.operands]
            run(inputs, self.node.params, out.reshape(*shape), device, self.beside, given)
        else:
            x, y = inputs
            multiply(x, y, out, device, self.beside, [used(env[v], stream) + more for v, more in self.operands],
                     self.node.params.get("fast", False))
        for v in self.dead:
            env.pop(v, None)

    def factor(self, position, x, env, device):
        """An operand: its array, or (how it is computed, from which arrays, shape)."""
        computed = self.computed[position] if position < len(self.computed) else None
        if computed is None:
            return self.graph.value(x, env, device) if type(x) is Value else x
        how, places = computed
        for v, _ in places:
            self.in_memory(v, env, device)
        return how, [_from(env[v], more) for v, more in places], x.shape

    def in_memory(self, v, env, device):
        """Sees to it that a value has memory, which numbers have not."""
        if v in self.graph.numbers and env[v].__class__ is not DeviceArray:
            env[v] = filled(device, v.shape, v.dtype.np, env[v])


def _beside(made) -> Beside:
    return Beside(made.fused, [(row, batch) for _, _, row, batch in made.operands])


def _places(made) -> list:
    """(value, bytes from its beginning on) of each operand."""
    return [(v, offset * v.dtype.itemsize) for v, offset, _, _ in made.operands]


def _from(array: DeviceArray, more: int) -> DeviceArray:
    """The elements of an array from a byte on."""
    return array if not more else array.look(((array.nbytes - more) // array.itemsize,), (array.itemsize,), more)


class Called:
    """One operator, called as eager mode calls it."""

    def __init__(self, step, graph: DeviceGraph):
        self.node, self.dead, self.graph = step.node, step.dead, graph
        self.seen: Any = _SEEN.get(step.node.op) if set(step.reads) <= set(step.dead) else None

    def run(self, env, device, places=None):
        """Computes; results go into `env`."""
        node, graph = self.node, self.graph
        inputs = [graph.value(x, env, device) if type(x) is Value else x for x in node.inputs]
        into = tuple([env[v] if v in env else graph.place(v, env, device) for v in node.outputs])
        more = {"into": into} if any(a is not None for a in into) else {}
        try:
            alike = self.seen is not None and not more and inputs[0].is_contiguous
            result = self.seen(inputs[0]) if alike else graph.call(node.op, inputs, node.params, device, **more)
        except IngotError:
            raise
        except Exception as e:
            where = f" at {format_line(node.line, full_paths=True)}" if node.line else ""
            raise IngotError(f"{node.op.name}{where} failed on cuda:{device}: {e}") from e
        env.update(zip(node.outputs, result if node.multi else (result,)))
        for v in self.dead:
            env.pop(v, None)
