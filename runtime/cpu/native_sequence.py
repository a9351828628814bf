"""Attention as steps of a native call."""

import numpy as np

from ...ir.ops import attention as ops
from ...ir.ops import attention_bounds as bounds
from ...passes.codegen.llvm.attention_softmax import ADDED_MASK, BOOL_MASK, NO_MASK
from ...passes.plain_operands import ROWS
from . import attention, pool
from .native import native

_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


def _mask_layout(mask, q, k):
    """(layout of the mask over (..., heads, rows, keys), its kind)."""
    shape = (*q.shape[:-1], k.shape[-2])
    if mask is None:
        return attention.Layout(shape, (0,) * len(shape)), NO_MASK
    lead = len(shape) - len(mask.shape)
    strides = [0 if n == 1 else s for n, s in zip(mask.shape, mask.strides)]
    kind = BOOL_MASK if mask.dtype == np.bool_ else ADDED_MASK
    return attention.Layout(shape, (*[0] * lead, *strides)), kind


def _layout(x):
    return attention.Layout(x.shape, x.strides)


def _fits(*operands):
    return operands[0].dtype in _KINDS and all(len(x.shape) >= 3 and x.dtype == operands[0].dtype for x in operands)


@native(ops.attention, reads=ROWS)
def attend(node, operands, results):
    """Softmax of scores times values, without the scores' matrix."""
    (q, k, v, mask), (out, _) = operands, results
    if not _fits(q, k, v):
        return None
    wide, kind = _mask_layout(mask, q, k)
    plan = attention.forward_plan((*map(_layout, (q, k, v)), wide, _layout(out), attention.no_bounds(q)),
                                  attention.Looks(kind, node.params["causal"]), float(node.params["scale"]), q.dtype,
                                  pool.get_num_threads())
    return plan.native([0, 1, 2, None if mask is None else 3, 4, 5, None])


@native(ops.attention_grad, reads=ROWS)
def attend_grad(node, operands, results):
    """Its gradients, but for the mask's."""
    (g, q, k, v, mask, lse, delta), (dq, dk, dv, _) = operands, results
    if not _fits(g, q, k, v) or node.params["mask_grad"] or not (_is_plain(lse) and _is_plain(delta)):
        return None
    wide, kind = _mask_layout(mask, q, k)
    plan = attention.grad_plan((*map(_layout, (g, q, k, v)), wide, *map(_layout, (dq, dk, dv)), attention.no_bounds(q)),
                               attention.Looks(kind, node.params["causal"]), float(node.params["scale"]), q.dtype, False,
                               pool.get_num_threads())
    return plan.native([0, 1, 2, 3, None if mask is None else 4, 5, 6, 7, 8, 9, None, None])


@native(bounds.bounded_attention, reads=ROWS)
def attend_within(node, operands, results):
    """Attention over each query's own keys."""
    (q, k, v, edges, table), (out, _) = operands, results
    if not _fits(q, k, v):
        return None
    layouts = attention.bounded_layouts(*[None if x is None else _layout(x) for x in (q, k, v, out, table, edges)])
    looks = attention.looks_of(table, edges, node.params["squash"])
    plan = attention.forward_plan(layouts, looks, float(node.params["scale"]), q.dtype, pool.get_num_threads())
    return plan.native([0, 1, 2, None if table is None else 4, 5, 6, None if edges is None else 3])


@native(bounds.bounded_attention_grad, reads=ROWS)
def attend_within_grad(node, operands, results):
    """Its gradients, but for the table's."""
    (g, q, k, v, edges, table, lse, delta), (dq, dk, dv, *_) = operands, results
    if not _fits(g, q, k, v) or node.params["table_grad"] or not (_is_plain(lse) and _is_plain(delta)):
        return None
    layouts = attention.bounded_grad_layouts(*[None if x is None else _layout(x)
                                               for x in (g, q, k, v, dq, dk, dv, table, edges)])
    looks = attention.looks_of(table, edges, node.params["squash"])
    plan = attention.grad_plan(layouts, looks, float(node.params["scale"]), q.dtype, False, pool.get_num_threads())
    return plan.native([0, 1, 2, 3, None if table is None else 5, 6, 7, 8, 9, 10, None, None if edges is None else 4])


def _is_plain(x):
    step = x.dtype.itemsize
    for n, s in zip(reversed(x.shape), reversed(x.strides)):
        if n != 1 and s != step:
            return False
        step *= n
    return True
