"""Expands losses over classes into operators that fuse, in the order in which their own kernels compute.

An element is picked by class by comparing each class with the target, so that a loss, its gradient and their neighbours can be
one sweep over the logits. `class_index` checks once that targets are classes. Losses with class weights and those of 16-bit
floats stay whole.
"""

from typing import Any

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Graph, Node
from ...ir.opdef.params import param_key
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.reduce import amax, sum_
from ...ir.ops.core.shape import expand, iota, reshape
from ...ir.ops.nn import loss
from ..rewrite.rewrite import rebuild

_KINDS = (dt.float32, dt.float64)


def expand_class_losses(graph: Graph) -> Graph:
    """Replace the operators of BODIES."""
    if not any(n.op in BODIES for n in graph.nodes):
        return graph
    checked: dict = {}

    def visit(b: Builder, node: Node, operands):
        body: Any = BODIES.get(node.op)
        return None if body is None else body(checked, *operands, **node.params)

    return rebuild(graph, visit)


def _checked(checked, target, classes, ignore_index):
    """Return (targets, number of valid targets)."""
    key = target, param_key(classes), ignore_index
    if key not in checked:
        checked[key] = loss.class_index(target, classes=classes, ignore_index=ignore_index)
        checked[target] = checked[key][0]
    return checked[key]


def _exponentials(x):
    top = amax(x, dim=(1,), keepdim=True)
    return top, ew.exp(ew.sub(x, expand(top, shape=x.shape)))


def _hits(x, target, checked):
    """Return the mask of each row's class, int32 only if `checked`: an invalid target may look like a class there."""
    kind = dt.int32 if checked and x.shape[1] < 2**31 else dt.int64
    return ew.eq(iota(x, shape=x.shape, dim=1, dtype=kind), loss.over_classes(ew.cast(target, dtype=kind), x.shape))


def _class_weight(checked, target, weight, *, ignore_index, classes, dtype):
    if weight is not None or not target.aval.size:
        return None
    target, _ = _checked(checked, target, classes, ignore_index)
    return ew.cast(ew.ne(target, ignore_index), dtype=dtype)


def _cross_entropy(checked, x, target, weight, *, ignore_index, label_smoothing, reduction):
    if weight is not None or not x.aval.size or x.dtype not in _KINDS:
        return None
    target, valid_count = _checked(checked, target, x.shape[1], ignore_index)
    top, e = _exponentials(x)
    total = sum_(e, dim=(1,), keepdim=False)
    lse = ew.add(ew.log(total), reshape(top, shape=target.shape))
    rows = ew.where(ew.eq(target, ignore_index), 0.0, ew.sub(lse, loss.take_class(x, target)))
    if label_smoothing:
        smooth = loss.smooth_part(x, lse, target, None, ignore_index)
        rows = ew.add(ew.mul(rows, 1 - label_smoothing), ew.mul(smooth, label_smoothing / x.shape[1]))
    if reduction == loss.NONE:
        return rows, lse
    whole = sum_(rows, dim=tuple(range(rows.ndim)), keepdim=False)
    if reduction == loss.MEAN:
        whole = ew.div(whole, ew.cast(valid_count, dtype=x.dtype))
    return whole, lse


def _softmax_minus_onehot(checked, x, lse, a, b, target):
    if not x.aval.size or x.dtype not in _KINDS:
        return None
    top, e = _exponentials(x)
    scale = ew.mul(a, ew.exp(ew.sub(reshape(top, shape=lse.shape), lse)))
    p = ew.mul(e, loss.over_classes(scale, x.shape))
    hits = _hits(x, checked.get(target, target), target in checked)     # where rows are ignored, b = 0
    return ew.where(hits, ew.sub(p, loss.over_classes(b, x.shape)), p)


def _class_share(checked, g, target, *, ignore_index, classes, reduction):
    w = _class_weight(checked, target, None, ignore_index=ignore_index, classes=classes, dtype=g.dtype)
    return None if w is None else ew.mul(loss.row_gradient(g, w, reduction), w)


def _cross_entropy_grad(checked, g, x, lse, target, *, ignore_index, reduction):
    if not x.aval.size or x.dtype not in _KINDS:
        return None
    share = _class_share(checked, g, target, ignore_index=ignore_index, classes=x.shape[1], reduction=reduction)
    return _softmax_minus_onehot(checked, x, lse, share, share, target)


BODIES = {loss.class_weight: _class_weight, loss.class_share: _class_share, loss.cross_entropy: _cross_entropy,
          loss.softmax_minus_onehot: _softmax_minus_onehot, loss.cross_entropy_grad: _cross_entropy_grad}
