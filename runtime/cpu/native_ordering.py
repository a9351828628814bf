"""Orders and running sums as steps of a native call."""

from ...ir.ops import scan, sort
from ...passes.codegen.llvm import scans as codegen
from . import ordering, pool, scans, search
from .native import native


def _order(node, x, keep, descending):
    dim = node.params["dim"] % len(x.shape)
    if dim != len(x.shape) - 1 or x.dtype not in ordering.KINDS:
        return None
    size = x.shape[dim]
    return ordering.plan(x.dtype, x.size // size, size, keep, descending, pool.get_num_threads()).native([0, 1])


@native(sort.argsort)
def argsort(node, operands, results):
    """Of the last dim."""
    (x,) = operands
    return _order(node, x, x.shape[-1], node.params["descending"])


@native(sort.arg_topk)
def arg_topk(node, operands, results):
    """Of the last dim."""
    (x,) = operands
    return _order(node, x, node.params["k"], node.params["largest"])


@native(sort.searchsorted)
def searchsorted(node, operands, results):
    """In one sorted row, or in a row for each row of values."""
    rows, values = operands
    if not search.can_search(rows.dtype, rows.shape, values.shape):
        return None
    right = bool(node.params["right"])
    return search.plan(rows.dtype, rows.shape, values.shape, right, pool.get_num_threads()).native([0, 1, 2])


def _running(how, places):
    """A scan along any dim; `places` says which of the node's arrays the kernel's three are."""

    def steps(node, operands, results):
        x = operands[0]
        if not scans.can_scan(x) and not scans.can_scan_parts(x, how, node.params["dim"]):
            return None
        return scans.plan(how, x.dtype, x.shape, node.params["dim"], pool.get_num_threads()).native(places)

    return steps


for _op, _how in scans.STEPS.items():
    native(_op)(_running(_how, [0, 2, 1] if _how in codegen.FINDING else [0, 0, 1]))
native(scan.linear_scan)(_running(codegen.LINEAR, [0, 1, 2]))
