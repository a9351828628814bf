"""Attention as steps of a native call."""

import numpy as np

from ....ir.ops.nn import attention as ops
from ....passes.layout.plain_operands import ROWS
from ..calls import pool
from ..calls.lowering_rules import native
from . import attention

_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


def _fits(*operands):
    return operands[0].dtype in _KINDS and all(len(x.shape) >= 3 and x.dtype == operands[0].dtype for x in operands)


@native(ops.attention, reads=ROWS)
def attend(node, operands, results):
    """Softmax of scores times values, without the scores' matrix."""
    (q, k, v, mask), (out, _) = operands, results
    if not _fits(q, k, v):
        return None
    plan = attention.forward_plan(tuple(map(attention.layout_of, (q, k, v, mask, out, None))),
                                  attention.Looks(attention.mask_kind(mask), node.params["causal"]),
                                  float(node.params["scale"]), q.dtype, pool.get_num_threads())
    return plan.native([0, 1, 2, None if mask is None else 3, 4, 5, None])


@native(ops.attention_grad, reads=ROWS)
def attend_grad(node, operands, results):
    """Its gradients, but for the mask's."""
    (g, q, k, v, mask, lse, delta), (dq, dk, dv, _) = operands, results
    if not _fits(g, q, k, v) or node.params["mask_grad"] or not (_is_plain(lse) and _is_plain(delta)):
        return None
    plan = attention.grad_plan(tuple(map(attention.layout_of, (g, q, k, v, mask, dq, dk, dv, None))),
                               attention.Looks(attention.mask_kind(mask), node.params["causal"]), float(node.params["scale"]),
                               q.dtype, False, pool.get_num_threads())
    return plan.native([0, 1, 2, 3, None if mask is None else 4, 5, 6, 7, 8, 9, None, None])


@native(ops.bounded_attention, reads=ROWS)
def attend_within(node, operands, results):
    """Attention over each query's own keys."""
    (q, k, v, edges, table), (out, _) = operands, results
    if not _fits(q, k, v):
        return None
    layouts = attention.bounded_layouts(q, k, v, out, table, edges)
    looks = attention.looks_of(table, edges, node.params["squash"])
    plan = attention.forward_plan(layouts, looks, float(node.params["scale"]), q.dtype, pool.get_num_threads())
    return plan.native([0, 1, 2, None if table is None else 4, 5, 6, None if edges is None else 3])


@native(ops.bounded_attention_grad, reads=ROWS)
def attend_within_grad(node, operands, results):
    """Its gradients, but for the table's."""
    (g, q, k, v, edges, table, lse, delta), (dq, dk, dv, *_) = operands, results
    if not _fits(g, q, k, v) or node.params["table_grad"] or not (_is_plain(lse) and _is_plain(delta)):
        return None
    layouts = attention.bounded_grad_layouts(g, q, k, v, dq, dk, dv, table, edges)
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
