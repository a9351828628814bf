"""Which kernels run the operators of blocked channels (`ir/ops/packed/blocked.py`) in compiled graphs.

`choose` is what the layout pass asks; `kernel_for` gives, for a node of a compiled graph, what runs it. Such a kernel is bound
to the shapes that it met last, so that a call finds everything planned.
"""

import dataclasses
import functools
from itertools import chain, islice
from typing import Any, NamedTuple

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
from ....passes.codegen.llvm.conv.conv_epilogue import Lines
from ....passes.layout.layout import PRODUCT, Asked, Chosen
from ..calls import pool
from ..calls.conv_steps import plain
from . import (
    batch_norm_blocked,
    conv,
    conv_algorithm,
    conv_blocked_grad,
    conv_chain_schedule,
    conv_depthwise,
    conv_depthwise_planar,
    conv_fused,
    pooling,
)
from .conv_algorithm import ALGORITHMS, NAMES

PLANES = "planes"                   # the kernel that reads and writes plain arrays
_ELEMENTS = {4: "float", 8: "double"}
_WINDOW = ("stride", "padding", "dilation", "groups")


def choose(asked: Asked):
    """What runs a convolution or a gradient of one (`Chosen`, or PRODUCT), or None where no kernel takes it. A graph with
    symbolic sizes is good for all for which the answer is the same: its sums are those of eager code.

    A kernel is (algorithm, groups, whether x lies in blocks, lanes): all that the order of a packed weight depends on.
    """
    x, w, params = asked[:3]
    lists = x.shape, w.shape, params["stride"], tuple(chain(*params["padding"])), params["dilation"], params.get("size", ())
    facts = asked.in_blocks, asked.wanted, asked.kept, _ASKED.index(asked.what), x.dtype.itemsize, params["groups"]
    found = _answer(*map(int, facts), *map(len, lists), *chain(*lists))
    return Chosen(*found) if type(found) is tuple else found


def _answered(*numbers):
    return _known_answer(config.current().numerics, *numbers)


_answer = choice("kernel_of_convolution", _answered, noted=True)
_ASKED = (conv_ops.conv, conv_ops.conv_input_grad, conv_ops.conv_weight_grad)
_DTYPES = {dtype.itemsize: dtype for dtype in (float32, float64)}


@functools.lru_cache(4096)
def _known_answer(numerics, in_blocks, wanted, kept, what, item, groups, *rest):
    """The answer for numbers: lengths of the lists of sizes, then these."""
    counts, sizes = rest[:6], iter(rest[6:])
    x, w, stride, padding, dilation, size = [tuple(islice(sizes, n)) for n in counts]
    params = {"stride": stride, "padding": tuple(zip(padding[::2], padding[1::2])), "dilation": dilation, "groups": groups,
              "size": size}
    found = _chosen(Asked(Aval(x, _DTYPES[item]), Aval(w, _DTYPES[item]), params, bool(in_blocks), bool(wanted), bool(kept),
                          _ASKED[what]))
    return tuple(found) if type(found) is Chosen else found


def _chosen(asked):
    if asked.what is not conv_ops.conv:
        return _choose_gradient(asked)
    x, w, params, in_blocks = asked[:4]
    if not 3 <= len(x.shape) <= 2 + conv.MAX_DIMS or not x.size or not w.size:
        return None
    stride, padding, dilation, groups = (params[name] for name in _WINDOW)
    made = conv.geometry(x.shape, w.shape, stride, padding, dilation, groups, x.dtype.itemsize)
    if not in_blocks and not asked.wanted and conv.is_pointwise(made):
        return PRODUCT if made.groups == 1 else None
    if not in_blocks and not asked.wanted and conv_depthwise_planar.takes(made):
        return Chosen((PLANES, made.groups, False, 1), w.size, 1)
    g = dataclasses.replace(made, x_full=in_blocks)
    if not conv_fused.runs_in_lanes(g) and (conv_depthwise.takes(g) or (
            g.groups > 1 and (g.inputs % g.lanes or g.outputs % g.lanes))):
        return None
    algorithm = None if conv_fused.runs_in_lanes(g) else conv_algorithm.choose(g, prepared=asked.kept)
    size = conv_fused.weight_bytes(conv_fused.read_as(g, in_blocks, algorithm), algorithm)
    return Chosen((NAMES[algorithm], g.groups, in_blocks, g.lanes), -(-size // g.item), g.lanes, algorithm is not None)


def _choose_gradient(asked):
    x, w, params = asked[:3]
    if not 3 <= len(w.shape) <= 2 + conv.MAX_DIMS or not x.size or not w.size:
        return None
    of_input, item = asked.what is conv_ops.conv_input_grad, x.dtype.itemsize
    convolution = convolution_of(w.shape, params["size"] if of_input else x.shape[2:], params, item)
    g = conv_blocked_grad.forward_geometry(convolution, x.shape[0])
    if not conv_blocked_grad.takes(convolution) or (not asked.in_blocks and not asked.wanted and conv.is_pointwise(g)):
        return None
    algorithm = conv_blocked_grad.algorithm(convolution, x.shape[0], asked.kept) if of_input else None
    size = conv_blocked_grad.turned_weight(convolution, x.shape[0], algorithm).size if of_input else 0
    return Chosen((NAMES[algorithm], g.groups, True, g.lanes), -(-size // item), g.lanes, algorithm is not None)


def convolution_of(filters, size, params, item):
    """A convolution as `conv_blocked_grad` takes it."""
    return (tuple(filters), tuple(size), *[params[name] for name in _WINDOW], item)


def kernel_for(op: Op):
    """The kernel of one node, or None for operators that have nothing to do with blocks."""
    made = _KERNELS.get(op)
    return None if made is None else Bound(op, made)


def fits(lanes: int, item: int) -> bool:
    """Whether this machine's kernels have blocks of so many lanes. A graph may have been made for another machine; then the
    references run it."""
    return lanes in (1, host().lanes(item))


def lanes_of(op: Op, x, params: dict) -> int:
    """The lanes that a node speaks of."""
    if "layers" in params:
        return params["layers"][0][ops.LAYER.index("lanes")]
    if "kernel" in params and type(params["kernel"][0]) is str:
        return params["kernel"][3]
    return params.get("lanes") or x.shape[-1]


class Bound:
    """A kernel for the shapes that it met last: `plan(*arrays, **params)` gives the function of arrays of their shapes."""

    def __init__(self, op: Op, plan):
        self.op, self.plan = op, plan
        self.met: tuple = ()
        self.run: Any = None

    def __call__(self, *arrays, **params):
        met = (*[None if a is None else a.shape for a in arrays], pool.get_num_threads())
        if met != self.met:
            there = fits(lanes_of(self.op, arrays[0], params), arrays[0].itemsize)
            self.run = self.plan(*arrays, **params) if there else functools.partial(self.op.ref, **params)
            self.met = met
        return self.run(*arrays)


def _pack(*arrays, kernel, size):
    algorithm, groups, in_blocks, _ = kernel
    return lambda w, *factors: conv_fused.pack_weight(plain(w), groups, in_blocks, ALGORITHMS[algorithm], *map(plain, factors))


def operands_of(operands, params) -> tuple:
    """(arrays beside, what a transformed weight was made of) of the operands of a convolution or of an input's gradient."""
    end = 2 + params.get("taps", 0)
    if ALGORITHMS.get(params["kernel"][0]) and end == 2:
        raise ShapeError(f"{params['kernel'][0]} takes the plain weight, too; say taps=1")
    return operands[end:], operands[2:end]


def planned(x, beside, params) -> "conv_fused.FusedConv | conv_depthwise_planar.FusedPlanes":
    """The convolution of a node for an input like `x` and arrays of the shapes `beside`."""
    filters, groups, in_blocks, item = params["filters"], params["groups"], params["in_blocks"], x.dtype.itemsize
    kinds = tuple(["channel" if v[0] == 1 and all(n == 1 for n in v[2:len(filters)]) else "full" for v in beside])
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
    g = conv.geometry(x_shape, filters, stride, padding, dilation, groups, dtype.itemsize)
    sizes = tuple([d.out for d in g.dims[2 + conv.MAX_DIMS - len(filters):]])
    return conv_depthwise_planar.FusedPlanes(g, dtype, (x_shape[0], filters[0], *sizes), lines)


def _conv(*arrays, **params):
    return _run_on_operands(planned(arrays[0], shapes_beside(arrays, params), params), params)


def _run_on_operands(made, params):
    def run(*arrays):
        return made.run(*arrays[:2], *operands_of(arrays, params))
    return run


def shapes_beside(operands, params) -> list:
    """The shapes of the arrays beside."""
    return [v.shape for v in operands_of(operands, params)[0]]


def chain_pieces(nodes) -> list:
    """Which convolutions in a row are to be one (`passes/networks/chain_convs.py`)."""
    layers = []
    for n in nodes:
        x = Array(n.inputs[0].shape, n.inputs[0].dtype.np)
        fits_here = fits(n.params["lanes"], x.dtype.itemsize) and n.params["kernel"][0] == NAMES[None]
        layers.append(conv_chain_schedule.layer_of(planned(x, [v.shape for v in n.inputs[2:]],
                                                           n.params)) if fits_here else None)
    ranges = conv_chain_schedule.pieces(layers, nodes[0].inputs[0].shape[0], pool.get_num_threads())
    return [nodes[first:end] for first, end in ranges]


class Array(NamedTuple):
    """What plans ask of an array."""

    shape: tuple
    dtype: np.dtype


def planned_chain(x, operands, params) -> list:
    """The convolutions of a chain for an input like `x`, beside operands like these."""
    found = []
    for layer, (_, *beside) in ops.chain_layers(x, operands, **params):
        made = planned(x, [v.shape for v in beside], layer)
        found.append(made)
        x = Array(made.shape, made.dtype)
    return found


def _conv_chain(x, *operands, **params):
    layers = planned_chain(x, operands, params)

    def run(x, *operands):
        for layer, (_, given) in zip(layers, ops.chain_layers(x, operands, **params)):
            x = layer.run(x, given[0], given[1:])
        return x

    return run


def _to(x, *, lanes):
    return conv_fused.block


def _from(x, *, channels):
    return lambda x: conv_fused.unblock(plain(x), channels)


def _max_pool(x, **params):
    return lambda x: pooling.max_pool_blocked(plain(x), **params)


def _avg_pool(x, **params):
    return lambda x: pooling.avg_pool_blocked(plain(x), **params)


def turned_plan(w, params):
    """What the gradient of a convolution's input asks of a weight: (convolution, algorithm). All sizes of which no phase of the
    strides is empty ask for the same."""
    window = zip(params["size"], w.shape[2:], params["stride"], params["dilation"])
    size = [n if n < stride else stride + (taps - 1) * gap for n, taps, stride, gap in window]
    return convolution_of(w.shape, size, params, w.dtype.itemsize), ALGORITHMS[params["kernel"][0]]


def _pack_turned(w, **params):
    convolution, algorithm = turned_plan(w, params)
    return lambda w: conv_blocked_grad.pack(w, convolution, algorithm, params["elements"])


def planned_input_grad(g, beside, params) -> conv_blocked_grad.InputGrad:
    """The gradient of the input of a node for a gradient like `g` and arrays of the shapes `beside`."""
    item = g.dtype.itemsize
    kinds = tuple(["channel" if v[0] == 1 and all(n == 1 for n in v[2:-1]) else "full" for v in beside])
    lines = Lines(params["epilogue"], kinds, _ELEMENTS[item])
    return conv_blocked_grad.input_grad(convolution_of(params["filters"], params["size"], params, item), g.shape[0],
                                        ALGORITHMS[params["kernel"][0]], lines, pool.get_num_threads())


def planned_weight_grad(x, params) -> conv_blocked_grad.WeightGrad:
    """The gradient of the weight of a node for an input like `x`."""
    sizes = x.shape[2:-1] if params["in_blocks"] else x.shape[2:]
    convolution = convolution_of(params["filters"], sizes, params, x.dtype.itemsize)
    return conv_blocked_grad.weight_grad(convolution, x.shape[0], params["in_blocks"], conv.state())


def _input_grad(*arrays, **params):
    return _run_on_operands(planned_input_grad(arrays[0], shapes_beside(arrays, params), params), params)


def _weight_grad(x, g, **params):
    return planned_weight_grad(x, params).run


def _called(function):
    """A kernel that plans for itself."""
    return lambda *arrays, **params: lambda *given: function(*[v if v is None else plain(v) for v in given], **params)


_KERNELS = {ops.pack_filters: _pack, ops.conv_blocked: _conv, ops.conv_chain_blocked: _conv_chain,
            ops.to_blocked: _to, ops.from_blocked: _from,
            ops.max_pool_blocked: _max_pool, ops.avg_pool_blocked: _avg_pool, grad_ops.pack_turned: _pack_turned,
            grad_ops.conv_input_grad_blocked: _input_grad, grad_ops.conv_weight_grad_blocked: _weight_grad,
            grad_ops.batch_norm_train_blocked: _called(batch_norm_blocked.train),
            grad_ops.batch_norm_grad_blocked: _called(batch_norm_blocked.gradient),
            grad_ops.max_pool_places_blocked: _called(pooling.max_pool_places_blocked),
            grad_ops.max_pool_grad_blocked: _called(pooling.max_pool_grad_blocked),
            grad_ops.avg_pool_grad_blocked: _called(pooling.avg_pool_grad_blocked)}
