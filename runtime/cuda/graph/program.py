"""Execution of graphs on a device: plans (`passes/schedule/device_plan.py`) prepared once, then run step by step.

Eager operators are graphs of one node, traced code graphs of many. A graph with symbolic sizes is first bound to numbers
(`DeviceGraph.at`): each step lists its numbers that may be symbols (`unbound`), and is copied with others.
"""

from typing import Any

from ....ir import dtype as dt
from ....ir.errors import IngotError
from ....ir.graph.graph import Graph, Value
from ....ir.graph.printer import format_line
from ....ir.opdef.op import View
from ....ir.ops.core.complex_numbers import pairs
from ....ir.ops.core.host_call import host_call
from ....ir.ops.nn.conv import conv, conv_input_grad
from ....ir.ops.packed.conv_channels_last import conv_last, conv_last_input_grad
from ....ir.symbols.substitute import data_evaluator, has_symbols
from ....ir.symbols.symbolic import is_symbol
from ....passes.rewrite.kernel_body import is_free
from ....passes.schedule.batched_launches import EndStep, ManyStep, reads_first
from ....passes.schedule.device_plan import CallStep, KernelStep, ProductStep, Steps, plan
from ....passes.simplify.lift_numbers import lift_numbers, number_array
from ...core.device_array import DeviceArray
from ...core.journal import resume
from ..compiler import kernels
from ..compiler.kernels import Prepared, as_number
from ..driver import streams
from ..memory.arrays import KIND, as_pairs, empty, fill, filled, used, window
from ..ops.conv import conv_nhwc
from ..ops.conv.implicit_gemm import convolve, transpose
from ..ops.products.batched_launch import Grouped, are_alike
from ..ops.products.factors import Computed, SideProgram
from ..ops.products.products import multiply
from ..replay.static_steps import Segment, StaticSteps
from ..replay.steps import DeviceProgress, Observed, Step

__all__ = ["KIND", "DeviceGraph", "empty", "fill", "filled", "used"]


_REINTERPRETED = {pairs: as_pairs}   # operators that only reinterpret an array that nothing else reads
_CONVOLUTIONS = {conv: convolve, conv_input_grad: transpose, conv_last: conv_nhwc.convolve,
                 conv_last_input_grad: conv_nhwc.transpose}


class DeviceGraph:
    """A graph, ready to run on arrays of one device.

    graph    the graph after all passes, or its steps
    call     runs one operator: call(op, inputs, params, device, into=arrays for its results, if they have a place)
    owned    positions of results that get memory of their own
    numbers  inputs that are no device arrays, but one number each
    names    names of sizes to bind (`at`); sizes that are operands become inputs behind its own, `more`
    targets  {position of a result: number of the input that it replaces}; the run itself writes those in `in_place`
    static   static steps, shared with graphs for other sizes
    """

    is_native = False

    def __init__(self, graph: Graph | Steps, call, owned=frozenset(), numbers=frozenset(), targets=None, names=(),
                 static: StaticSteps | None = None):
        lifted: tuple = ()
        if names and not isinstance(graph, Steps):
            made = lift_numbers(graph)
            graph, lifted = made.graph, made.numbers
        self.plan = graph if isinstance(graph, Steps) else plan(graph, owned, targets)
        graph = self.graph = self.plan.graph
        self.in_place = frozenset([i for i, v in enumerate(graph.outputs) if v in self.plan.in_place])
        self.call = call
        self.more: tuple = ()                           # numbers behind the inputs of a run
        self.kinds = [kind for _, kind in lifted]
        own = len(graph.inputs) - len(self.kinds)
        self.numbers = frozenset([*[graph.inputs[i] for i in numbers], *graph.inputs[own:]])
        steps = [s for step in self.plan.steps for s in self._apart(step)]
        self.launched: dict = {}                        # launched steps whose end is a separate step
        self.parts = {v: (p.concat, p.concat.shape, tuple(p.cuts), tuple(p.operators)) for v, p in self.plan.parts.items()}
        self.bound_views: dict = {}                     # views and fills with symbols: (parameters, shape) in numbers
        self.names, self.last = names, (None, self)     # the numbers of the last binding, and its result
        if names:
            self.steps = [self._step(s) for s in steps]
            self._bind_to(names, lifted)
        else:
            self.steps = [self._run_of(s, static.runs if static else {}) for s in steps]
            self.steps = static.joined(self, steps, self.steps) if static else self.steps

    def _bind_to(self, names, numbers):
        self.evaluate = data_evaluator((tuple([s.unbound for s in self.steps]), tuple([x for x, _ in numbers])), names)
        self.symbolic = [n for n in self.graph.nodes if is_free(n.output) and has_symbols((*n.params.values(), n.output.shape))]
        self.evaluate_views = data_evaluator(tuple([(tuple(n.params.values()), n.output.shape) for n in self.symbolic]), names)
        self.evaluate_parts = data_evaluator(tuple([_plain(p) for p in self.parts.values()]), names)

    def at(self, values) -> "DeviceGraph":
        if not self.names:
            return self
        last, plain = self.last, not any(map(is_symbol, values))
        if plain and last[0] == values:
            return last[1]
        made = _copy(self)
        made.launched = {}
        steps, numbers = self.evaluate(*values)
        made.steps = [s.at(unbound, made) for s, unbound in zip(self.steps, steps)]
        made.more = tuple([_as_kind(n, kind) for n, kind in zip(numbers, self.kinds)])
        if self.symbolic:
            found = self.evaluate_views(*values)
            made.bound_views = {n: (dict(zip(n.params, values)), shape) for n, (values, shape) in zip(self.symbolic, found)}
        if self.parts:
            made.parts = {v: _as_part(p, found) for (v, p), found in zip(self.parts.items(), self.evaluate_parts(*values))}
        if plain:
            self.last = values, made
        return made

    def _apart(self, step) -> tuple:
        """Return a step, or its members if they take numbers and are launched alone."""
        return step.steps if type(step) is ManyStep and not self.numbers.isdisjoint(step.reads) else (step,)

    def _run_of(self, step, runs):
        found = runs.get(step)
        if found is None:
            made = self._step(step)
            found = made.at(made.unbound, self)
            if step in runs and not (type(made) is LaunchedTogether or (type(made) is Launched and step.ends_apart)):
                runs[step] = found          # (the others refer to those of their own graph)
            return found
        made = _copy(found)
        made.graph = self
        return made

    def _step(self, step):
        if type(step) in (ManyStep, EndStep):
            return LaunchedTogether(step, self)
        if type(step) is CallStep:
            return Called(step, self)
        if type(step) is ProductStep:
            return Multiplied(step, self)
        return Launched(step, self)

    def run(self, inputs, destinations=None, journal: dict | None = None) -> list:
        """Return the results. With a journal, a run that an interrupt stopped goes on from there, and writes nothing twice."""
        device = next(a.memory.device for a in inputs if a.__class__ is DeviceArray)
        steps = self.steps if not kernels.OBSERVERS else [
            Observed(one) for step in self.steps for one in (step.runs if type(step) is Segment else (step,))]
        if journal is None:
            env = self._environment(inputs)
            for step in steps:
                step.run(env, device, destinations)
        else:
            progress = journal.get(self)
            if progress is None:
                progress = journal[self] = DeviceProgress(self._environment(inputs), steps, device)
            resume(progress)
            env = progress.env
        return [self.value(v, env, device) for v in self.graph.outputs]

    def _environment(self, inputs) -> dict:
        env = {}
        for v, a in zip(self.graph.inputs, (*inputs, *self.more)):
            env[v] = a if a.__class__ is not DeviceArray or a.is_contiguous else a.backend.contiguous(a)
        return env

    def place(self, v: Value, env: dict, device: int):
        """Return the array to write a value into, if it is a part of a join; the first part allocates the join."""
        part = self.parts.get(v)
        if part is None:
            return None
        join, shape, cuts, operators = part
        if join not in env:
            env[join] = empty(device, shape, join.dtype.np, streams.current(device).handle)
        found = window(env[join], cuts)
        for op, params in operators:
            found = found.viewed(op, params)
        return found

    def value(self, v: Value, env: dict, device: int):
        """Return the array of a value; views and fills are made on demand."""
        found = env.get(v)
        if found is not None:
            return found
        node = v.node
        params, shape = self.bound_views.get(node) or (node.params, v.shape)
        if type(node.op.lower) is View:
            return self.value(node.inputs[0], env, device).viewed(node.op, params)
        if is_free(v):
            return filled(device, shape, v.dtype.np, params["value"])
        raise IngotError(f"{v!r} is not there when it is needed")


def _as_kind(n, kind):
    """Return a number as a dtype has it; symbols stay if the launch rounds them equally."""
    return n if is_symbol(n) and kind in (dt.float32, dt.float64) else number_array(n, kind).item()


def _copy(step):
    made = object.__new__(step.__class__)
    made.__dict__.update(step.__dict__)
    return made


def _plain(part) -> tuple:
    """Return the sizes of a part of a join that may be symbols, as plain data."""
    _, shape, cuts, operators = part
    return shape, cuts, tuple([tuple(params.values()) for _, params in operators])


def _as_part(part, numbers) -> tuple:
    shape, cuts, values_of_each = numbers
    operators = [(op, dict(zip(params, values))) for (op, params), values in zip(part[3], values_of_each)]
    return part[0], shape, cuts, tuple(operators)


class Launched(Step):
    """Step of a fused kernel, `among` others in one launch. `unbound` are its numbers that may be symbols; `at` sets them."""

    graph: DeviceGraph
    writes: list
    kernel: Prepared

    def __init__(self, step: KernelStep, graph: DeviceGraph, among=False):
        lowered, numbers, in_place = step.lowered, graph.numbers, graph.plan.in_place
        self.step, written = step, dict.fromkeys([v for v, _, written in lowered.operands if written])
        self.parts = [v for v in written if v in graph.plan.parts]
        self.operands = [(v, v in numbers) for v, _, _ in lowered.operands]
        there = {*in_place, *self.parts}
        self.allocated = [(v, v.dtype.np) for v in written if v not in there]
        self.over = [(v, in_place[v]) for v in written if v in in_place]
        self.dead, self.writes_inputs = step.dead, bool(self.over)
        self.code, self.symbols = lowered.kernel, tuple(lowered.symbols)
        self.by_value = frozenset([b.name for b, (v, _, _) in zip(lowered.kernel.buffers, lowered.operands) if v in numbers])
        self.apart, self.among = reads_first(lowered, in_place), among
        offsets = tuple([offset * v.dtype.itemsize for v, offset, _ in lowered.operands])
        self.unbound = tuple([v.shape for v, _ in self.allocated]), tuple(lowered.symbols.values()), offsets

    def at(self, unbound, graph: DeviceGraph) -> "Launched":
        made = _copy(self)
        shapes, sizes, offsets = unbound
        made.graph = graph
        made.writes = [(v, shape, dtype) for (v, dtype), shape in zip(self.allocated, shapes)]
        made.kernel = Prepared(self.code, dict(zip(self.symbols, sizes)), offsets, self.by_value, self.apart, self.among)
        if self.step.ends_apart:
            graph.launched[self.step] = made
        return made

    def compute(self, env, device, destinations=None):
        stream = streams.current(device).handle
        arguments, kernel = self.arguments(env, device, stream, destinations), self.kernel
        if self.step.ends_apart and kernel.end is not None:
            env[self.step] = arguments, kernel.run(device, stream, arguments, kernel.launches[:-1])
        else:
            kernel(device, stream, arguments)

    def arguments(self, env, device, stream, destinations) -> list:
        """Return the address (or the number) of each buffer, with results in `env`."""
        for v, shape, dtype in self.writes:
            env[v] = destinations[v] if destinations and v in destinations else empty(device, shape, dtype, stream)
        for v, target in self.over:
            env[v] = env[target]
        for v in self.parts:
            env[v] = self.graph.place(v, env, device)
        return [as_number(v.dtype, env[v]) if number else used(env[v], stream) for v, number in self.operands]


class LaunchedTogether(Step):
    """Step of similar fused kernels in one launch, or of their final parts. `unbound` and `at` as in `Launched`."""

    graph: DeviceGraph
    members: list
    kernel: Grouped | None

    def __init__(self, step: ManyStep | EndStep, graph: DeviceGraph):
        self.step = step
        self.steps = step.steps if type(step) is ManyStep else (step,)
        self.are_ends = type(self.steps[0]) is EndStep
        self.dead = (*step.dead, *[s.step for s in self.steps]) if self.are_ends else step.dead
        self.each = [] if self.are_ends else [Launched(s, graph, True) for s in self.steps]
        self.unbound = tuple([one.unbound for one in self.each])

    def at(self, unbound, graph: DeviceGraph) -> "LaunchedTogether":
        made, step = _copy(self), self.step
        made.graph, made.kernel = graph, None
        made.members = [graph.launched[s.step] for s in self.steps] if self.are_ends else [
            one.at(numbers, graph) for one, numbers in zip(self.each, unbound)]
        made.writes_inputs = any([m.writes_inputs for m in made.members])       # noqa: C419  (quicker)
        kernels = [m.kernel for m in made.members]
        launches = [k.end for k in kernels] if self.are_ends else [one for k in kernels for one in k.launches]
        if type(step) is ManyStep and len(launches) == len(kernels) and are_alike(launches):
            made.kernel = Grouped(kernels[0].kernel, launches, step.shared, step.over, step.slots)
        return made

    def compute(self, env, device, destinations=None):
        stream = streams.current(device).handle
        if self.are_ends:
            rows = [None if m.kernel.end is None else env[s.step] for s, m in zip(self.steps, self.members)]
        else:
            rows = [(m.arguments(env, device, stream, destinations), {}) for m in self.members]
        if self.kernel is not None:
            self.kernel(device, stream, rows)
        else:
            self._one_by_one(device, stream, rows)

    def _one_by_one(self, device, stream, rows):
        """Launch one by one the kernels that sizes made different."""
        for m, row in zip(self.members, rows):
            if not self.are_ends:
                m.kernel(device, stream, row[0])
            elif row is not None:
                m.kernel.end(device, stream, *row)


class Multiplied(Step):
    """Step of a product or convolution with its epilogue, in one launch. `unbound` and `at` as in `Launched`."""

    graph: "DeviceGraph"
    params: dict
    shape: tuple
    factors: dict

    def __init__(self, step: ProductStep, graph: "DeviceGraph"):
        made = step.epilogue
        self.node, self.dead, self.source = step.node, step.dead, step
        self.side = None if made.fused is None else _side_program(made)
        self.computed = [p and (Computed(_side_program(p), p.transposed), _byte_offsets(p)) for p in made.before]
        self.operands = _byte_offsets(made)
        self.writes = [(v, v.shape, v.dtype.np, graph.plan.in_place.get(v)) for v in (made.result, *made.others)]
        self.writes_inputs = any([target is not None for *_, target in self.writes])        # noqa: C419  (quicker)
        sides = [self.side, *[c and c[0].side for c in self.computed]]
        operands = [self.operands, *[c[1] if c else [] for c in self.computed]]
        self.unbound = (tuple([b and b.strides for b in sides]), tuple([tuple([more for _, more in p]) for p in operands]),
                     tuple([shape for _, shape, *_ in self.writes]), tuple(step.node.params.values()), step.node.output.shape,
                     tuple([x.shape for x in step.node.inputs if type(x) is Value]))

    def at(self, unbound, graph: "DeviceGraph") -> "Multiplied":
        made = _copy(self)
        (strides, *more_strides), (offsets, *more_offsets), shapes, params, made.shape, factors = unbound
        made.graph, made.params = graph, dict(zip(self.node.params, params))
        made.factors = dict(zip([x for x in self.node.inputs if type(x) is Value], factors))
        made.side = self.side and self.side.at(strides)
        made.operands = _with_offsets(self.operands, offsets)
        made.computed = [c and (c[0]._replace(side=c[0].side.at(s)), _with_offsets(c[1], offsets))
                         for c, s, offsets in zip(self.computed, more_strides, more_offsets)]
        made.writes = [(v, shape, *rest) for (v, _, *rest), shape in zip(self.writes, shapes)]
        return made

    def compute(self, env, device, destinations=None):
        stream = streams.current(device).handle
        inputs = [self.factor(i, x, env, device) for i, x in enumerate(self.node.inputs)]
        for v, shape, dtype, target in self.writes:
            if target is not None:
                env[v] = env[target]
            else:
                env[v] = destinations[v] if destinations and v in destinations else empty(device, shape, dtype, stream)
        for v, _ in self.operands:
            self.in_memory(v, env, device)
        out = env[self.writes[0][0]]
        run = _CONVOLUTIONS.get(self.node.op)
        if run is not None:
            arguments = [_from(env[v], more) for v, more in self.operands]
            run(inputs, self.params, out.reshape(*self.shape), device, self.side, arguments)
        else:
            x, y = inputs
            multiply(x, y, out, device, self.side, [used(env[v], stream) + more for v, more in self.operands],
                     self.params.get("fast", False))

    def factor(self, position, x, env, device):
        """Return an operand: its array, or (how to compute it, its arrays, shape)."""
        computed = self.computed[position] if position < len(self.computed) else None
        if computed is None:
            return self.graph.value(x, env, device) if type(x) is Value else x
        how, operands = computed
        for v, _ in operands:
            self.in_memory(v, env, device)
        return how, [_from(env[v], more) for v, more in operands], self.factors[x]

    def in_memory(self, v, env, device):
        if v in self.graph.numbers and env[v].__class__ is not DeviceArray:
            env[v] = filled(device, (), v.dtype.np, env[v])


def _side_program(program) -> SideProgram:
    return SideProgram(program.fused, [(row, batch) for _, _, row, batch in program.operands])


def _byte_offsets(program) -> list:
    return [(v, offset * v.dtype.itemsize) for v, offset, _, _ in program.operands]


def _with_offsets(operands, offsets) -> list:
    return [(v, more) for (v, _), more in zip(operands, offsets)]


def _from(array: DeviceArray, more: int) -> DeviceArray:
    return array if not more else array.look(((array.nbytes - more) // array.itemsize,), (array.itemsize,), more)


class Called(Step):
    """Step that calls one operator as eager mode does. `unbound` and `at` as in `Launched`."""

    graph: DeviceGraph
    params: dict
    numbers: tuple

    def __init__(self, step, graph: DeviceGraph):
        self.node, self.dead = step.node, step.dead
        self.over = {v: graph.plan.in_place[v] for v in step.node.outputs if v in graph.plan.in_place}
        self.writes_inputs = bool(self.over)
        self.unbound = tuple(step.node.params.values()), tuple([None if type(x) is Value else x for x in step.node.inputs])
        self.reinterpret: Any = _REINTERPRETED.get(step.node.op) if set(step.reads) <= set(step.dead) else None

    def at(self, unbound, graph: DeviceGraph) -> "Called":
        made = _copy(self)
        params, made.numbers = unbound
        made.graph, made.params = graph, dict(zip(self.node.params, params))
        return made

    def compute(self, env, device, destinations=None):
        node, graph = self.node, self.graph
        inputs = [graph.value(x, env, device) if type(x) is Value else n for x, n in zip(node.inputs, self.numbers)]
        if node.op is host_call and node.outputs[0] in env:         # which an interrupt came behind
            return
        over = self.over
        into = tuple([env[over[v]] if v in over else env[v] if v in env else graph.place(v, env, device)
                      for v in node.outputs])       # (a join may be there already, with parts in it)
        more = {"into": into} if any(a is not None for a in into) else {}
        try:
            alike = self.reinterpret is not None and not more and inputs[0].is_contiguous
            result = self.reinterpret(inputs[0]) if alike else graph.call(node.op, inputs, self.params, device, **more)
        except IngotError:
            raise
        except Exception as e:
            where = f" at {format_line(node.line, full_paths=True)}" if node.line else ""
            e.add_note(f"in {node.op.name}{where}, in traced code on cuda:{device}")
            raise
        env.update(zip(node.outputs, result if node.multi else (result,)))
