"""Expands softmax, norms, linear layers and large average pools in the order in which their own kernels compute.

So traced code, where they fuse with their neighbours, gives the bits of eager code, where each is one kernel. Their general
bodies, which `decompose` would take, round differently.
"""

import math
from collections.abc import Callable

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import Op
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.reduce import amax, sum_
from ...ir.ops.core.shape import expand, reshape
from ...ir.ops.linalg.products import linear
from ...ir.ops.nn.activations import gelu, gelu_slope, gelu_slope_parts
from ...ir.ops.nn.attention import attention, attention_grad, bounded_attention, bounded_attention_grad
from ...ir.ops.nn.norm import layer_norm, layer_norm_grad, rms_norm, rms_norm_grad
from ...ir.ops.nn.pool import are_bins, avg_pool, is_whole
from ...ir.ops.nn.softmax import log_softmax, softmax
from ...ir.symbols.substitute import as_float
from ..codegen.scalars.constants import SQRT_HALF
from ..rewrite.rewrite import rebuild


def expand_row_composites(graph: Graph) -> Graph:
    """Replace the operators of BODIES."""
    return rebuild(graph, _visit) if any(n.op in BODIES for n in graph.nodes) else graph


def _visit(b: Builder, node: Node, operands):
    body = BODIES.get(node.op)
    values = [x for x in operands if type(x) is Value]
    if body is None or not values:
        return None
    first = values[0]
    if not all(v.dtype is first.dtype and v.dtype.is_floating_point and v.aval.size for v in values):
        return None
    is_low = first.dtype in (dt.float16, dt.bfloat16)
    if is_low and body is _linear:      # its bias is added before the sum is rounded
        return None
    work = dt.float32 if is_low else first.dtype
    given = body(*[ew.in_dtype(x, work) if type(x) is Value else x for x in operands], **node.params)
    if given is None:
        return None
    results = tuple([ew.in_dtype(r, first.dtype) for r in (given if node.multi else (given,))])
    return results if node.multi else results[0]


class _Rows:
    """Values over trailing dims, or along one."""

    def __init__(self, x, dims):
        self.shape, self.dims = x.shape, dims
        self.count = as_float(math.prod([x.shape[d] for d in dims]))

    def over(self, v):
        return expand(v, shape=self.shape)

    def fold(self, op, x):
        return op(x, dim=self.dims, keepdim=True)

    def sum(self, x):
        return self.fold(sum_, x)


def _trailing(x, dims):
    return _Rows(x, tuple(range(x.ndim - dims, x.ndim)))


def _exponentials(x, dim):
    rows = _Rows(x, (dim,))
    below = ew.sub(x, rows.over(rows.fold(amax, x)))
    e = ew.exp(below)
    return rows, below, e, rows.sum(e)


def _softmax(x, *, dim):
    rows, _, e, total = _exponentials(x, dim)
    return ew.mul(e, rows.over(ew.div(1.0, total)))


def _log_softmax(x, *, dim):
    rows, below, _, total = _exponentials(x, dim)
    return ew.sub(below, rows.over(ew.log(total)))


def _inverse(rows, squares, eps):
    return ew.rsqrt(ew.add(ew.div(squares, rows.count), eps))


def _standard(rows, x, eps):
    centred = ew.sub(x, rows.over(ew.div(rows.sum(x), rows.count)))
    inverse = _inverse(rows, rows.sum(ew.mul(centred, centred)), eps)
    return ew.mul(centred, rows.over(inverse)), inverse


def _layer_norm(x, w, b, *, dims, eps):
    if w is None and b is not None:
        return None
    rows = _trailing(x, dims)
    y, _ = _standard(rows, x, eps)
    if w is not None:
        y = ew.mul(y, rows.over(w))
    return y if b is None else ew.add(y, rows.over(b))


def _scaled(rows, x, eps):
    inverse = _inverse(rows, rows.sum(ew.mul(x, x)), eps)
    return ew.mul(x, rows.over(inverse)), inverse


def _rms_norm(x, w, *, dims, eps):
    rows = _trailing(x, dims)
    y, _ = _scaled(rows, x, eps)
    return y if w is None else ew.mul(y, rows.over(w))


def _layer_norm_grad(g, x, w, *, dims, eps):
    rows = _trailing(x, dims)
    h, inverse = _standard(rows, x, eps)
    gw = g if w is None else ew.mul(g, rows.over(w))
    a, c = ew.div(rows.sum(gw), rows.count), ew.div(rows.sum(ew.mul(gw, h)), rows.count)
    found = _with_weight(g, h, w, dims, _back(rows, ew.sub(gw, rows.over(a)), h, c, inverse))
    return found if w is None else (*found, _sum_of_rows(g, dims) if dims < g.ndim else ew.copy(g))


def _rms_norm_grad(g, x, w, *, dims, eps):
    rows = _trailing(x, dims)
    h, inverse = _scaled(rows, x, eps)
    gw = g if w is None else ew.mul(g, rows.over(w))
    c = ew.div(rows.sum(ew.mul(gw, h)), rows.count)
    return _with_weight(g, h, w, dims, _back(rows, gw, h, c, inverse))


def _back(rows, gw, h, c, inverse):
    """Return the gradient of rows that were scaled to h, without its part along h."""
    return ew.mul(ew.sub(gw, ew.mul(h, rows.over(c))), rows.over(inverse))


def _with_weight(g, h, w, dims, dx):
    """Return the gradient of the input, and that of the weight if there is one."""
    if w is None:
        return dx
    gh = ew.mul(g, h)
    return dx, _sum_of_rows(gh, dims) if dims < g.ndim else gh


def _sum_of_rows(x, dims):
    return sum_(x, dim=tuple(range(x.ndim - dims)), keepdim=False)


def _linear(x, w, b):
    return linear.lower.body(x, w, b)


BODIES: dict[Op, Callable] = {linear: _linear, softmax: _softmax, log_softmax: _log_softmax, layer_norm: _layer_norm,
                              rms_norm: _rms_norm, layer_norm_grad: _layer_norm_grad, rms_norm_grad: _rms_norm_grad}


_SPLIT_KINDS = (dt.float32, dt.float64)


def share_gelu_parts(graph: Graph) -> Graph:
    """Replace slopes of gelu, and gelu of values whose error function is computed anyway."""
    known = {n.inputs[0] if n.op is gelu_slope else _argument(n) for n in graph.nodes if n.op in (ew.erf, gelu_slope)}

    def visit(b: Builder, node: Node, operands):
        x, = operands
        if node.op is gelu_slope:
            return gelu_slope_parts(x)
        return ew.mul(ew.mul(x, 0.5), ew.add(ew.erf(ew.mul(x, SQRT_HALF)), 1.0))

    def is_split(n):
        return n.output.dtype in _SPLIT_KINDS and (n.op is gelu_slope or (n.op is gelu and n.inputs[0] in known))

    return rebuild(graph, visit, is_split)


def _argument(node):
    """Return x of erf(x * sqrt(1/2)), else None."""
    scaled = node.inputs[0].node if type(node.inputs[0]) is Value else None
    if scaled is None or scaled.op is not ew.mul:
        return None
    values = [x for x in scaled.inputs if type(x) is Value]
    return values[0] if len(values) == 1 and SQRT_HALF in scaled.inputs else None


_ATTENTION = frozenset((attention, attention_grad, bounded_attention, bounded_attention_grad))
_LOW = (dt.float16, dt.bfloat16)


def widen_attention(graph: Graph) -> Graph:
    """Cast operands and results of 16-bit attention, as its kernels do."""
    return rebuild(graph, _attention_in_float32, lambda n: n.op in _ATTENTION and n.outputs[0].dtype in _LOW)


def _attention_in_float32(b: Builder, node: Node, operands):
    kind = node.outputs[0].dtype
    wide = [ew.cast(x, dtype=dt.float32) if type(x) is Value and x.dtype is kind else x for x in operands]
    found = node.op(*wide, **node.params)
    return tuple([x if x is None else ew.in_dtype(x, v.dtype)
                  for x, v in zip(found, node.outputs, strict=True)])


def expand_mean_pools(graph: Graph) -> Graph:
    """Replace average pools over large bins of a plane by sums along one dim after the other, and over a whole plane by one.

        %1 = avg_pool(%0, kernel=(8, 8), stride=(8, 8))       %1 = sum(reshape(%0, (n, c, 4, 8, w)), dim=3)
                                                              %2 = sum(reshape(%1, (n, c, 4, 4, 8)), dim=4)
                                                              %3 = div(%2, 64)
    """
    return rebuild(graph, _as_sums, lambda n: n.op is avg_pool and _bins_of(n) is not None)


def _bins_of(node) -> str | None:
    """Return "whole" or "bins" for windows of that kind; None for others, and where sizes are not known."""
    sizes, params = node.inputs[0].shape[2:], node.params
    if not all(type(n) is int for n in sizes) or not node.output.dtype.is_floating_point or 0 in node.inputs[0].shape:
        return None
    if is_whole(sizes, params["kernel"], params["padding"]):
        return "whole"
    return "bins" if are_bins(sizes, params["kernel"], params["stride"], params["padding"]) else None


def _as_sums(b: Builder, node: Node, operands):
    x, = operands
    kernel, divisor, kind = node.params["kernel"], node.params["divisor"], node.output.dtype
    work = dt.accumulator(kind)
    x = x if work is kind else b.call(ew.cast, x, dtype=work)
    if _bins_of(node) == "whole":
        total = b.call(sum_, x, dim=tuple(range(2, len(x.shape))), keepdim=True)
    else:
        total = x
        for axis, k in enumerate(kernel, 2):
            if k > 1:
                shape = total.shape
                split = b.call(reshape, total, shape=(*shape[:axis], shape[axis] // k, k, *shape[axis + 1:]))
                total = b.call(sum_, split, dim=(axis + 1,), keepdim=False)
    mean = b.call(ew.div, total, as_float(math.prod(kernel) if divisor is None else divisor))
    return mean if work is kind else b.call(ew.cast, mean, dtype=kind)
