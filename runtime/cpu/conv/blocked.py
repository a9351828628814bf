"""Operators of blocked channels (`ir/ops/packed/blocked.py`): the choice of their kernels, eager calls, and steps of graphs.

`choose` answers the layout pass. All plans are cached by shapes.
"""

import dataclasses
import functools
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from ....ir import config
from ....ir.dtype import float32, float64
from ....ir.errors import ShapeError
from ....ir.opdef.aval import Aval
from ....ir.opdef.op import Op
from ....ir.ops.nn import conv as conv_ops
from ....ir.ops.packed import blocked as ops
from ....ir.ops.packed import blocked_grad as grad_ops
from ....ir.symbols.substitute import choice
from ....ir.target import host
from ....passes.codegen.llvm.conv import batch_norm_blocked as norm_code
from ....passes.codegen.llvm.conv.batch_norm import OPERANDS as NORM_OPERANDS
from ....passes.codegen.llvm.conv.conv_epilogue import Lines
from ....passes.layout.layout import PRODUCT, ConvKernel, ConvQuery
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel, by_step
from ..calls.plan import EXTRA, FACTORS, OPERANDS, SlotPlan, W, X, Y
from ..calls.step_list import At
from . import (
    batch_norm,
    conv,
    conv_algorithm,
    conv_chain,
    conv_chain_schedule,
    conv_depthwise,
    conv_depthwise_planar,
    conv_fused,
    conv_gradients,
    conv_plan,
    pooling,
)
from .conv_algorithm import ALGORITHMS, NAMES
from .conv_layout import FusedPlan

PLANES = "planes"                   # the kernel that reads and writes plain arrays
_ELEMENTS = {4: "float", 8: "double"}
_WINDOW = ("stride", "padding", "dilation", "groups")


def choose(query: ConvQuery):
    """Return the kernel of a convolution or its gradient (`ConvKernel`, or PRODUCT), or None if no kernel takes it. A graph
    with symbolic sizes is valid for all sizes with the same answer: its sums are those of eager code. A kernel is (algorithm,
    groups, whether x is in blocks, lanes): all that the order of a packed weight depends on."""
    x, w, params = query[:3]
    lists = x.shape, w.shape, params["stride"], tuple(chain(*params["padding"])), params["dilation"], params.get("size", ())
    facts = query.in_blocks, query.wanted, query.fixed_weights, _CONVS.index(query.what), x.dtype.itemsize, params["groups"]
    found = _answer(*map(int, facts), *map(len, lists), *chain(*lists))
    return ConvKernel(*found) if type(found) is tuple else found


def _answer_now(*numbers):
    return _known_answer(config.current().numerics, *numbers)


_answer = choice("kernel_of_convolution", _answer_now, always=True)
_CONVS = (conv_ops.conv, conv_ops.conv_input_grad, conv_ops.conv_weight_grad)
_DTYPES = {dtype.itemsize: dtype for dtype in (float32, float64)}


@functools.lru_cache(4096)
def _known_answer(numerics, in_blocks, wanted, prepared, what, item, groups, *rest):
    """Return the answer for numbers: lengths of the lists of sizes, then these."""
    counts, sizes = rest[:6], iter(rest[6:])
    x, w, stride, padding, dilation, size = [tuple(islice(sizes, n)) for n in counts]
    params = {"stride": stride, "padding": tuple(zip(padding[::2], padding[1::2])), "dilation": dilation, "groups": groups,
              "size": size}
    found = _kernel_of(ConvQuery(Aval(x, _DTYPES[item]), Aval(w, _DTYPES[item]), params, bool(in_blocks), bool(wanted),
                                 bool(prepared), _CONVS[what]))
    return tuple(found) if type(found) is ConvKernel else found


def _kernel_of(query):
    if query.what is not conv_ops.conv:
        return _choose_gradient(query)
    x, w, params, in_blocks = query[:4]
    if not 3 <= len(x.shape) <= 2 + conv_plan.MAX_DIMS or not x.size or not w.size:
        return None
    stride, padding, dilation, groups = (params[name] for name in _WINDOW)
    made = conv_plan.geometry_of(x.shape, w.shape, stride, padding, dilation, groups, x.dtype.itemsize)
    if not in_blocks and not query.wanted and conv.is_pointwise(made):
        return PRODUCT if made.groups == 1 else None
    if not in_blocks and not query.wanted and conv_depthwise_planar.takes(made):
        return ConvKernel((PLANES, made.groups, False, 1), w.size, 1)
    g = dataclasses.replace(made, x_full=in_blocks)
    if not conv_fused.runs_in_lanes(g) and (conv_depthwise.takes(g) or (
            g.groups > 1 and (g.inputs % g.lanes or g.outputs % g.lanes))):
        return None
    algorithm = None if conv_fused.runs_in_lanes(g) else conv_algorithm.choose(g, prepared=query.fixed_weights)
    size = conv_fused.weight_bytes(conv_fused.read_as(g, in_blocks, algorithm), algorithm)
    return ConvKernel((NAMES[algorithm], g.groups, in_blocks, g.lanes), -(-size // g.item), g.lanes, algorithm is not None)


def _choose_gradient(query):
    x, w, params = query[:3]
    if not 3 <= len(w.shape) <= 2 + conv_plan.MAX_DIMS or not x.size or not w.size:
        return None
    of_input, item = query.what is conv_ops.conv_input_grad, x.dtype.itemsize
    convolution = convolution_of(w.shape, params["size"] if of_input else x.shape[2:], params, item)
    g = conv_gradients.forward_geometry(convolution, x.shape[0])
    if not conv_gradients.takes(convolution) or (not query.in_blocks and not query.wanted and conv.is_pointwise(g)):
        return None
    algorithm = conv_gradients.algorithm(convolution, x.shape[0], query.fixed_weights) if of_input else None
    size = conv_gradients.flipped_weight(convolution, x.shape[0], algorithm).size if of_input else 0
    return ConvKernel((NAMES[algorithm], g.groups, True, g.lanes), -(-size // item), g.lanes, algorithm is not None)


def convolution_of(filters, size, params, item):
    """Return a convolution in the form of `conv_gradients`."""
    return (tuple(filters), tuple(size), *[params[name] for name in _WINDOW], item)


def fits(lanes: int, item: int) -> bool:
    """Whether this machine's kernels have blocks of so many lanes; the reference runs graphs made for another machine."""
    return lanes in (1, host().lanes(item))


def lanes_of(op: Op, x, params: dict) -> int:
    """Return the lanes of a node."""
    if "layers" in params:
        return params["layers"][0][ops.LAYER.index("lanes")]
    if "kernel" in params and type(params["kernel"][0]) is str:
        return params["kernel"][3]
    return params.get("lanes") or x.shape[-1]


def operands_of(operands, params) -> tuple:
    """Return (arrays of the epilogue, plain operands of a transformed weight) of a convolution or of an input's gradient."""
    end = 2 + params.get("taps", 0)
    if ALGORITHMS.get(params["kernel"][0]) and end == 2:
        raise ShapeError(f"{params['kernel'][0]} takes the plain weight, too; say taps=1")
    return operands[end:], operands[2:end]


def planned(x, arrays, params) -> FusedPlan:
    """Return the convolution of a node for an input like `x` and epilogue `arrays`."""
    filters, groups, in_blocks, item = params["filters"], params["groups"], params["in_blocks"], x.dtype.itemsize
    kinds = tuple(["channel" if v[0] == 1 and all(n == 1 for n in v[2:len(filters)]) else "full" for v in arrays])
    sizes = x.shape[2:-1] if in_blocks else x.shape[2:]
    window = (params["stride"], params["padding"], params["dilation"], groups)
    lines, shape = Lines(params["epilogue"], kinds, _ELEMENTS[item]), (x.shape[0], filters[1] * groups, *sizes)
    if params["kernel"][0] == PLANES:
        return _planes(shape, filters, x.dtype, window, lines, pool.get_num_threads())
    return _planned(shape, filters, x.dtype, window, in_blocks, ALGORITHMS[params["kernel"][0]], lines, pool.get_num_threads())


@functools.lru_cache(512)
def _planned(x_shape, filters, dtype, window, in_blocks, algorithm, lines, threads):
    stride, padding, dilation, groups = window
    return conv_fused.FusedConv(x_shape, filters, dtype, stride=stride, padding=padding, dilation=dilation, groups=groups,
                                lines=lines, x_blocked=in_blocks, algorithm=algorithm)


@functools.lru_cache(512)
def _planes(x_shape, filters, dtype, window, lines, threads):
    stride, padding, dilation, groups = window
    g = conv_plan.geometry_of(x_shape, filters, stride, padding, dilation, groups, dtype.itemsize)
    sizes = tuple([d.out for d in g.dims[2 + conv_plan.MAX_DIMS - len(filters):]])
    return conv_depthwise_planar.fused_planes(g, dtype, (x_shape[0], filters[0], *sizes), lines)


def epilogue_shapes(operands, params) -> list:
    """Return the shapes of the epilogue's arrays."""
    return [v.shape for v in operands_of(operands, params)[0]]


def chain_pieces(nodes) -> list:
    """Return the runs of consecutive convolutions that become one (`passes/networks/chain_convs.py`)."""
    layers = []
    for n in nodes:
        x = Array(n.inputs[0].shape, n.inputs[0].dtype.np)
        fits_here = fits(n.params["lanes"], x.dtype.itemsize) and n.params["kernel"][0] == NAMES[None]
        layers.append(conv_chain_schedule.layer_of(planned(x, [v.shape for v in n.inputs[2:]],
                                                           n.params)) if fits_here else None)
    ranges = conv_chain_schedule.pieces(layers, nodes[0].inputs[0].shape[0], pool.get_num_threads())
    return [nodes[first:end] for first, end in ranges]


class Array(NamedTuple):
    """Shape and dtype of an array, for plans."""

    shape: tuple
    dtype: np.dtype


def planned_chain(x, operands, params) -> list:
    """Return the convolutions of a chain for an input like `x` and epilogue operands like these."""
    found = []
    for layer, (_, *arrays) in ops.chain_layers(x, operands, **params):
        made = planned(x, [v.shape for v in arrays], layer)
        found.append(made)
        x = Array(made.shape, made.dtype)
    return found


def flipped_plan(w, params):
    """Return the (convolution, algorithm) that the gradient of a convolution's input reads a weight by. It is the same for all
    sizes of which no phase of the strides is empty."""
    window = zip(params["size"], w.shape[2:], params["stride"], params["dilation"])
    size = [n if n < stride else stride + (taps - 1) * gap for n, taps, stride, gap in window]
    return convolution_of(w.shape, size, params, w.dtype.itemsize), ALGORITHMS[params["kernel"][0]]


def planned_input_grad(g, arrays, params) -> FusedPlan:
    """Return the gradient of the input of a node for a gradient like `g` and epilogue `arrays`."""
    item = g.dtype.itemsize
    kinds = tuple(["channel" if v[0] == 1 and all(n == 1 for n in v[2:-1]) else "full" for v in arrays])
    lines = Lines(params["epilogue"], kinds, _ELEMENTS[item])
    return conv_gradients.input_grad(convolution_of(params["filters"], params["size"], params, item), g.shape[0],
                                        ALGORITHMS[params["kernel"][0]], lines, pool.get_num_threads())


def planned_weight_grad(x, params) -> SlotPlan:
    """Return the gradient of the weight of a node for an input like `x`."""
    sizes = x.shape[2:-1] if params["in_blocks"] else x.shape[2:]
    convolution = convolution_of(params["filters"], sizes, params, x.dtype.itemsize)
    return conv_gradients.weight_grad(convolution, x.shape[0], params["in_blocks"], conv.state())


# Steps of graphs. Eager calls are rare, and run them too.


def _for_lanes(step) -> OperatorKernel:
    """Return the kernel of an operator of blocks. The reference runs other dtypes, and graphs made for a machine with other
    lanes. Steps return None, too, for packed weights of another size than kernels here read and write."""

    def checked_step(node, operands, results):
        x = operands[0]
        is_ours = x.dtype in conv.DTYPES and fits(lanes_of(node.op, x, node.params), x.dtype.itemsize)
        return step(node, operands, results) if is_ours else None

    return OperatorKernel(make=by_step(checked_step), step=checked_step)


def _conv(node, operands, results):
    made = planned(operands[0], epilogue_shapes(operands, node.params), node.params)
    return made.native(len(operands), *_locations(operands, node.params)) if made.reads(operands[1]) else None


def _locations(operands, params):
    return operands_of([At(i) for i in range(len(operands))], params)


def _conv_chain(node, operands, results):
    layers = planned_chain(operands[0], operands[1:], node.params)
    weights = [given[0] for _, given in ops.chain_layers(operands[0], operands[1:], **node.params)]
    if not all(made.reads(w) for made, w in zip(layers, weights)):
        return None
    return conv_chain.native(tuple(layers), node.params["beside"], operands[0].shape[0], pool.get_num_threads())


def _pack_filters(node, operands, results):
    algorithm, groups, in_blocks, _ = node.params["kernel"]
    item = operands[0].dtype.itemsize
    plan, size = conv_fused.weight_plan(operands[0].shape, item, groups, in_blocks, ALGORITHMS[algorithm],
                                        pool.get_num_threads(), len(operands) > 1)
    if node.params["size"] != -(-size // item):
        return None
    return plan.native({W: At(0), FACTORS: At(1), Y: At(2)} if len(operands) > 1 else {W: At(0), Y: At(1)})


def _pack_flipped(node, operands, results):
    how = flipped_plan(operands[0], node.params)
    size = conv_gradients.flipped_weight(how[0], 1, how[1]).size
    if node.params["elements"] != -(-size // operands[0].dtype.itemsize):
        return None
    return conv_gradients.pack_plan(*how, pool.get_num_threads()).native({W: At(0), Y: At(1)})


def _copy(back):
    """Return the step of `to_blocked`, or of `from_blocked`."""

    def step(node, operands, results):
        shape, item = (results if back else operands)[0].shape, operands[0].dtype.itemsize
        plan = conv_fused.block_plan(*shape[:2], _pixels(shape[2:]), item, back, pool.get_num_threads())
        return plan.native({X: At(0), Y: At(1)})

    return step


def _pixels(sizes) -> int:
    return int(np.prod(sizes, dtype=np.int64))


def _input_grad(node, operands, results):
    made = planned_input_grad(operands[0], epilogue_shapes(operands, node.params), node.params)
    return made.native(len(operands), *_locations(operands, node.params)) if made.reads(operands[1]) else None


def _weight_grad(node, operands, results):
    return planned_weight_grad(operands[0], node.params).native({X: At(0), W: At(1), Y: At(2)})


def _batch_norm(kind, names, results_of, x, y):
    """Return the step of a batch norm. `names` are its operands, `results_of` its results after y; x and y are the numbers of
    the arrays that it normalises: x, and the gradient."""

    def step(node, operands, results):
        params, count = node.params, len(operands)
        locations = {name: At(i) for i, name in enumerate(names) if name and operands[i] is not None}
        locations |= {name: At(count + 1 + i) for i, name in enumerate(results_of)}
        plan = batch_norm.blocked_plan(kind, operands[0].shape[0], params["channels"], _pixels(operands[0].shape[2:-1]),
                                       float(params["eps"]), operands[0].dtype.itemsize, params["relu"], pool.get_num_threads())
        slots = {X: At(x), W: At(y), Y: At(count)} | ({EXTRA: At(1)} if x != y and params["relu"] else {})
        return plan.native(slots, [locations.get(name, 0) for name in NORM_OPERANDS])

    return step


def _pool(plan_of) -> OperatorKernel:
    """Return the kernel of a pool, or its gradient; positions of maxima are its second operand or result."""

    def step(node, operands, results):
        plan, _ = plan_of(operands[0].shape, operands[0].dtype, **node.params)
        positions = {OPERANDS: At(1 if len(operands) > 1 else 2)} if len(operands) + len(results) > 2 else {}
        return plan.native({X: At(0), Y: At(len(operands))} | positions)

    return _for_lanes(step)


_train = _batch_norm(norm_code.TRAIN, ("", "weight", "bias"), ("mean", "var"), 0, 0)
_train_grad = _batch_norm(norm_code.GRAD, ("", "", "g_mean", "g_var", "", "weight", "mean", "var"), ("g_weight", "g_bias"),
                          4, 0)
OPERATORS = {
    ops.pack_filters: _for_lanes(_pack_filters),
    ops.conv_blocked: _for_lanes(_conv),
    ops.conv_chain_blocked: _for_lanes(_conv_chain),
    ops.to_blocked: _for_lanes(_copy(False)),
    ops.from_blocked: _for_lanes(_copy(True)),
    ops.max_pool_blocked: _pool(pooling.max_pool_blocked_plan),
    ops.avg_pool_blocked: _pool(pooling.avg_pool_blocked_plan),
    grad_ops.pack_turned: _for_lanes(_pack_flipped),
    grad_ops.conv_input_grad_blocked: _for_lanes(_input_grad),
    grad_ops.conv_weight_grad_blocked: _for_lanes(_weight_grad),
    grad_ops.batch_norm_train_blocked: _for_lanes(_train),
    grad_ops.batch_norm_grad_blocked: _for_lanes(_train_grad),
    grad_ops.max_pool_places_blocked: _pool(pooling.max_pool_positions_plan),
    grad_ops.max_pool_grad_blocked: _pool(pooling.max_pool_grad_plan),
    grad_ops.avg_pool_grad_blocked: _pool(pooling.avg_pool_grad_blocked_plan),
}
