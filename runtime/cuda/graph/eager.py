"""Operators on device arrays: each is a graph of one node, compiled and cached for all sizes with the same steps.

Gradient rules of an operator are one graph too, so those of elementwise functions are one kernel.

Operators without a kernel run on the host, with the CPU's kernel and equal results, only slower. A warning names each of them
once; `INGOT_DEBUG=1` reports every case.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

from ....ir import config
from ....ir import dtype as dt
from ....ir.dim_order import agreed, inverse
from ....ir.errors import DeviceError, IngotError
from ....ir.graph.graph import Builder, Graph
from ....ir.opdef.aval import Aval, broadcast_shapes
from ....ir.opdef.op import Op
from ....ir.ops.core.complex_numbers import complex_
from ....ir.ops.core.elementwise import cast, copy, ne, where
from ....ir.ops.core.elementwise_rules import NUMBERS
from ....ir.ops.core.host_call import host_call, named
from ....ir.ops.core.reduce import all_, amax, amin, any_, argmax, argmin, prod, sum_
from ....ir.ops.core.shape import as_strided, full, iota, place
from ....ir.process_state import float_errors
from ....ir.symbols.substitute import data_evaluator
from ....passes import pipelines
from ....passes.rewrite import pass_manager
from ....passes.rewrite.kernel_body import LOW, can_fuse
from ....passes.schedule.device_plan import CallStep
from ....passes.simplify.decompose import decompose
from ...autograd.gradient_rules import write_joint_rule, write_rules
from ...core.device_array import DeviceArray
from ...core.warn_once import warn_once
from ...cpu.graph import eager as host_kernels
from ..compiler import copies
from ..memory import pools, transfer
from ..memory.arrays import empty, filled
from ..replay import launch_cache, shape_families
from ..replay.layout_keys import viewed
from .program import DeviceGraph


def decompose_bodies(graph: Graph) -> Graph:
    """Decompose composites, except those with device code of their own."""
    return decompose(graph, frozenset([n.op for n in graph.nodes if n.op in OWN]))


PASSES = pipelines.cuda_eager(decompose_bodies)
_plain_rules: set = set()       # (operator, goals) whose rules are only single operators
_ON_HOST, _IN_ORDER = object(), object()     # plans: run on the host; run on contiguous copies
INTO: dict = {}         # operators that can write into arrays: (inputs, params, device, into) -> the same
OWN: dict = {}          # operators with launches of their own: (inputs, params, device) -> result, or NotImplemented


def run(op: Op, inputs, params, device=None):
    """Run an operator on inputs with at least one device array (or on a given device)."""
    if op.is_view:
        return viewed(inputs[0], op, params)
    if device is None:
        for x in inputs:
            if x.__class__ is DeviceArray:
                device = x.memory.device
                break
    if op is full:              # which asks for a fill and no more
        return filled(device, params["shape"], params["dtype"].np, params["value"])
    if "one_by_one" in op.traits:
        return tuple([run(copy, (x,), {}, device) for x in inputs])
    if op.keeps_order:
        for x in inputs:
            if x.__class__ is DeviceArray and not x.is_contiguous:
                return _in_order(op, inputs, params, device)
    return launch_cache.run(op, inputs, params, device, _run_uncached)


def _in_order(op, inputs, params, device):
    """Run an elementwise operator in the memory order on which its inputs agree (`ir/dim_order.py`)."""
    arrays = [x for x in inputs if x.__class__ is DeviceArray]
    shape = broadcast_shapes(*[x.shape for x in arrays])
    spread = [_spread(x, len(shape)) for x in arrays]
    order = agreed(shape, [[s if n > 1 else 0 for n, s in zip(x.shape, x.strides)] for x in spread])
    if order is not None:
        inputs = [_spread(x, len(shape)).transpose(order) if x.__class__ is DeviceArray else x for x in inputs]
    found = launch_cache.run(op, inputs, params, device, _run_uncached)
    return found if order is None else found.transpose(inverse(order))


def _spread(x, rank):
    more = rank - x.ndim
    return x.look((1,) * more + x.shape, (0,) * more + x.strides) if more else x


def _run_uncached(op: Op, inputs, params, device):
    common_device(op, inputs)
    own = OWN.get(op)
    if own is not None:
        result = own(inputs, params, device)
        if result is not NotImplemented:
            return result
    if op is not iota and any([isinstance(x, DeviceArray) and 0 in x.shape for x in inputs]):  # noqa: C419  (quicker)
        result = _of_nothing(op, inputs, params, device)
        if result is not NotImplemented:
            return result
    kind = shape_families.kind_of(op, inputs, params)
    if not kind.is_key:
        return on_host(op, inputs, params, device)
    plan = shape_families.cached_plan(kind, lambda sizes: planned(op, inputs, params, sizes))
    if plan is _ON_HOST:
        return on_host(op, inputs, params, device)
    if plan is _IN_ORDER:
        return run(op, [contiguous(x) if isinstance(x, DeviceArray) else x for x in inputs], params, device)
    graph, taken, several = plan
    if graph is None:
        results = [empty(device, shape, dtype) for shape, dtype in taken(*kind.numbers)]
        return tuple(results) if several else results[0]
    results = graph.at(kind.numbers).run(plan_inputs(inputs, taken))
    return tuple(results) if several else results[0]


def run_into(op: Op, inputs, params, device, into=None):
    """Run an operator; results with an array in `into` are written there, by the operator's own kernels if they can."""
    if into is None:
        return run(op, inputs, params, device)
    own = INTO.get(op)
    result = own(inputs, params, device, into) if own is not None else NotImplemented
    if result is NotImplemented:
        result = run(op, inputs, params, device)
    found = result if type(result) is tuple else (result,)
    for made, target in zip(found, into):
        if target is not None and made is not target:
            copies.write(target, made)
    found = tuple([made if target is None else target for made, target in zip(found, into)])
    return found if type(result) is tuple else found[0]


def common_device(op, inputs) -> int:
    """Return the device of all arrays. Host arrays without dims count as numbers, and random keys may be on the host."""
    found: Any = None
    for x in inputs:
        if x.__class__ is DeviceArray:
            here = x.memory.device
            if found is not None and here != found:
                raise DeviceError(f"{op.name} got tensors on cuda:{found} and cuda:{here}; move one with .to()")
            found = here
        elif isinstance(x, np.ndarray) and x.ndim and "random" not in op.traits:
            where = next((a.device for a in inputs if isinstance(a, DeviceArray)), None)
            if where is None:
                continue
            raise DeviceError(f"{op.name} got tensors on cpu and cuda:{where}; move one with .to()")
    return found


def planned(op, inputs, params, sizes, over=None):
    """Return the plan of an operator: (graph, inputs that it takes, whether it has several results), _ON_HOST or _IN_ORDER.

    For empty results it is (None, function to [(shape, dtype)], whether they are several). The result may replace the input
    `over`.
    """
    b = Builder(f"eager_{op.name}")
    like = _like(inputs)
    wide = like in LOW and "exact" in op.traits and any(isinstance(x, NUMBERS) for x in inputs)
    operands: list[Any] = []
    taken: list[Any] = []           # inputs by number, parts of complex ones as (number, name)
    numbers: list[int] = []
    for i, x in enumerate(inputs):
        if x is None or type(x) is bool:
            operands.append(x)
            continue
        taken.append(i)
        if isinstance(x, DeviceArray):
            v = stored(b, f"x{i}", x, sizes)
            operands.append(b.append(cast, (v,), {"dtype": dt.float32}) if wide and v.dtype in LOW else v)
        elif (isinstance(x, np.ndarray) and x.ndim) or (isinstance(x, complex) and not like.is_complex):
            return _ON_HOST
        else:
            kind = dt.from_numpy(x.dtype) if isinstance(x, np.ndarray) else dt.float32 if wide else like
            if kind.is_complex:
                taken[-1:] = [(i, "real"), (i, "imag")]
                numbers += range(len(taken) - 2, len(taken))
                operands.append(b.append(complex_, [b.input(f"x{i}{n}", Aval((), dt.PARTS[kind])) for _, n in taken[-2:]], {}))
                continue
            numbers.append(len(taken) - 1)
            number = b.input(f"x{i}", Aval((), kind))
            if wide and kind is dt.float32:         # the number that the lower precision has
                number = b.append(cast, (b.append(cast, (number,), {"dtype": like}),), {"dtype": kind})
            operands.append(number)
    out = b.append(op, operands, sizes.of_params(params))
    several = type(out) is tuple
    if all(0 in v.shape for v in (out if several else (out,))):
        return None, data_evaluator(tuple([(v.shape, v.dtype.np) for v in (out if several else (out,))]), sizes.names), several
    if wide and not several and out.dtype is dt.float32:
        out = b.append(cast, (out,), {"dtype": like})
    outs = out if several else (out,)
    graph = pass_manager.run(b.finish(outs), PASSES)
    if any(n.op is op and not can_fuse(n) for n in graph.nodes):
        return _ON_HOST
    targets = {} if over is None else {0: taken.index(over)}
    made = DeviceGraph(graph, run_into, frozenset(range(len(outs))), frozenset(numbers), targets, sizes.symbols)
    if any(type(s) is CallStep and s.node.op is op for s in made.plan.steps):       # which would come here again
        strided = any(isinstance(x, DeviceArray) and not x.is_contiguous for x in inputs)
        return _IN_ORDER if strided else _ON_HOST
    return made, tuple(taken), several


def composed(body, inputs, params, device) -> tuple:
    """Run a function of operators as a graph of its own; some results may be None."""
    kind = shape_families.kind_of(body, inputs, params)
    graph, there = shape_families.cached_plan(kind, lambda sizes: _composed(body, inputs, params, sizes))
    results = iter(graph.at(kind.numbers).run([as_stored(x) for x in inputs if x is not None]))
    return tuple([next(results) if is_there else None for is_there in there])


def _composed(body, inputs, params, sizes):
    """Return (the graph of a function of operators, whether each result is there)."""
    b = Builder(body.__name__)
    operands = [None if x is None else stored(b, f"x{i}", x, sizes) for i, x in enumerate(inputs)]
    outs = body(*operands, **sizes.of_params(params))
    graph = pass_manager.run(b.finish([v for v in outs if v is not None]), PASSES)
    made = DeviceGraph(graph, run_into, frozenset(range(len(graph.outputs))), names=sizes.symbols)
    return made, tuple([v is not None for v in outs])


def _like(inputs):
    """Return the dtype of numbers among these inputs: the last array's that is not bool, else the last one's."""
    kinds = [dt.from_numpy(x.dtype) for x in inputs if isinstance(x, (DeviceArray, np.ndarray))]
    floats = [k for k in kinds if k is not dt.bool_]
    return (floats or kinds or [dt.float32])[-1]


def stored(b: Builder, name: str, x: DeviceArray, sizes: shape_families.Sizes):
    """Return an array as an input of a graph, read through its strides."""
    kind, shape = dt.from_numpy(x.dtype), sizes.of(x.shape)
    if shape_families.has_plain_layout(x):
        return b.input(name, Aval(shape, kind))
    strides = sizes.of([s // x.itemsize for s in x.strides])
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    flat = b.input(name, Aval((reach,), kind))
    return b.append(as_strided, (flat,), {"shape": shape, "strides": strides, "offset": 0})


def as_stored(x):
    """Return the array in the form that `stored` describes; numbers unchanged."""
    if isinstance(x, np.ndarray):
        return x.item()
    if not isinstance(x, DeviceArray) or x.is_contiguous or 0 in x.shape:
        return x
    if any(s % x.itemsize for s in x.strides):
        return contiguous(x)
    reach = 1 + sum((n - 1) * (s // x.itemsize) for n, s in zip(x.shape, x.strides))
    return x.look((reach,), (x.itemsize,))


def plan_inputs(inputs, taken) -> list:
    """Return the inputs of a plan: whole ones, and parts of complex numbers."""
    return [as_stored(inputs[i]) if type(i) is int else _part(inputs[i[0]], i[1]) for i in taken]


def _part(x, name) -> float:
    """Return a part of a number, from a host array without dims or from Python."""
    return getattr(x.item() if isinstance(x, np.ndarray) else x, name)


def _of_nothing(op, inputs, params, device):
    """Return the results of an operator on empty arrays and numbers, if they are empty or constant."""
    if any(isinstance(x, DeviceArray) and x.size for x in inputs):
        return NotImplemented
    arrays = [np.empty(x.shape, x.dtype) if isinstance(x, DeviceArray) else x for x in inputs]
    with float_errors(all="ignore"):
        found = host_kernels.kernel_for(op)(*arrays, **params)
    several = type(found) is tuple
    results = [np.asarray(r) for r in (found if several else (found,))]
    if any(r.tobytes() != r.flat[0].tobytes() * r.size for r in results if r.size):
        return NotImplemented
    made = [filled(device, r.shape, r.dtype, r.flat[0].item()) if r.size else empty(device, r.shape, r.dtype) for r in results]
    return tuple(made) if several else made[0]


class Host:
    """Counter of operators that ran on the host, and the last of them."""

    calls = 0
    last: Op | None = None


def on_host(op: Op, inputs, params, device):
    """Run an operator with the CPU's kernel on copies, and copy the results back."""
    if pools.is_capturing():
        raise DeviceError(f"{op.name} is computed on the host, for which a graph that is captured cannot wait (docs/gpu.md)")
    Host.calls, Host.last = Host.calls + 1, op
    if config.current().debug >= 1:
        print(f"cuda: {op.name} runs on the host", file=sys.stderr)
    if any(isinstance(x, DeviceArray) and x.size for x in inputs):
        warn_once(f"{op.name} has no kernel for these arguments on a GPU: it is computed on the host, which is slower. Move "
                  "them to the CPU before, or see the table of such operators in docs/gpu.md")
    arrays = [transfer.to_host(x) if isinstance(x, DeviceArray) else x for x in inputs]
    with float_errors(all="ignore"):
        result = host_kernels.kernel_for(op)(*arrays, **params)
    if type(result) is tuple:
        return tuple([transfer.to_device(np.asarray(r), device) for r in result])
    return transfer.to_device(np.asarray(result), device)


def _called(inputs, params, device):
    """Call a user's function on arrays in place, in the current stream. A capture of the program takes those of ingot's that
    only enter work into streams."""
    if pools.is_capturing() and not getattr(named(params["function"]), "enters_streams", False):
        raise DeviceError(f"{params['function']} is Python that is called each time, which a captured graph cannot do")
    found = host_call.ref(*inputs, **params)            # (kernels read results in rows)
    return tuple([contiguous(a) if a.__class__ is DeviceArray else a for a in found])


def _place(inputs, params, device):
    kind, _, index = params["device"].partition(":")
    x = inputs[0]
    if kind == "cpu":
        return transfer.to_host(x, params["wait"]) if isinstance(x, DeviceArray) else x
    there = int(index or 0)
    return transfer.relocated(x, there) if isinstance(x, DeviceArray) else transfer.to_device(x, there, params["wait"])


def _where(inputs, params, device):
    """Select one of two values by a number as condition."""
    condition, a, b = inputs
    if isinstance(condition, (DeviceArray, np.ndarray)):
        return NotImplemented
    arrays = [x for x in (a, b) if isinstance(x, DeviceArray)]
    out = empty(device, broadcast_shapes(*[x.shape for x in arrays]), arrays[0].dtype)
    copies.write(out, a if condition else b)
    return out


def _over_nothing(inputs, params, device):
    """Reduce over no dims: return each element itself."""
    x, = inputs
    return NotImplemented if params["dim"] or x.dtype.kind == "b" else x.copy()


def _judged_alone(inputs, params, device):
    """Compute all or any over no dims: whether each element is not zero."""
    x, = inputs
    return NotImplemented if params["dim"] or x.dtype.kind == "c" else run(ne, (x, 0), {}, device)


def _alone(inputs, params, device):
    """Return the position of the extreme of one element."""
    return NotImplemented if params["dim"] else filled(device, inputs[0].shape, np.int64, 0)


OWN.update({host_call: _called, place: _place, where: _where, all_: _judged_alone, any_: _judged_alone, argmax: _alone,
            argmin: _alone, sum_: _over_nothing, prod: _over_nothing, amax: _over_nothing, amin: _over_nothing})


def contiguous(x: DeviceArray) -> DeviceArray:
    """Return a contiguous array unchanged, else a contiguous copy."""
    return x if x.is_contiguous else copied(x)


def copied(x: DeviceArray) -> DeviceArray:
    """Copy an array to new memory, in row-major order."""
    return launch_cache.run(copied, (x,), {}, x.device, _copied)


def _copied(call, inputs, params, device):
    x, = inputs
    if x.is_contiguous:
        return transfer.copy_of(x)
    made = empty(device, x.shape, x.dtype)
    copies.write(made, x)
    return made


def converted(x: DeviceArray, dtype) -> DeviceArray:
    """Cast an array."""
    return run(cast, (x,), {"dtype": dt.from_numpy(np.dtype(dtype))})


class RulesCall(NamedTuple):
    """Rules of an operator that run together."""

    op: Op
    goals: tuple


def gradients(op: Op, goals: tuple, args, params) -> tuple | None:
    """Return the wanted gradients from the gradient, the result and the arguments; None if rules run one by one.

    `goals` are those of `write_rules`, or for a joint rule flags of needed gradients.
    """
    if (op, goals) in _plain_rules:
        return None
    low = dt.from_numpy(args[0].dtype) in LOW
    for a in args:
        if a.__class__ is DeviceArray:
            if a.dtype.kind == "c" or 0 in a.shape:
                return None
        elif a.__class__ in (float, int):
            if low:                 # which numbers are rounded to at each operator
                return None
        elif not (a is None or a.__class__ is bool or a.__class__ is Aval):
            return None
    device = common_device(op, args)
    found = launch_cache.run(RulesCall(op, goals), args, params, device, _run_rules)
    return None if found is NotImplemented else found


def _run_rules(call: RulesCall, args, params, device):
    kind = shape_families.kind_of(call, args, params)
    graph = shape_families.cached_plan(kind, lambda sizes: _rules_graph(call, args, params, sizes))
    if graph is None:
        return NotImplemented
    return tuple(graph.at(kind.numbers).run([as_stored(x) for x in args if _is_read(x)]))


def _is_read(x) -> bool:
    """Return whether a rule reads the values of an argument; otherwise its aval is enough."""
    return x.__class__ is DeviceArray or x.__class__ in (float, int)


def _rules_graph(call, args, params, sizes) -> DeviceGraph | None:
    """Return the graph of the rules; None if there can be none, or it is not worth it."""
    b, kind = Builder(f"eager_{call.op.name}_rules"), dt.from_numpy(args[0].dtype)
    operands = [sizes.of_aval(x) if not _is_read(x) else stored(b, f"x{i}", x, sizes) if x.__class__ is DeviceArray
                else b.input(f"x{i}", Aval((), kind)) for i, x in enumerate(args)]
    write = write_rules if type(call.op.vjp) is tuple else write_joint_rule
    try:
        outs = write(b, call.op, call.goals, operands, sizes.of_params(params))
    except IngotError:
        _plain_rules.add((call.op, call.goals))
        return None
    graph = pass_manager.run(b.finish(outs), PASSES)
    numbers = frozenset([n for n, x in enumerate(filter(_is_read, args)) if x.__class__ in (float, int)])
    return DeviceGraph(graph, run_into, frozenset(range(len(outs))), numbers, names=sizes.symbols)
