"""Orders and running sums as steps of a native call."""

from ....ir.ops.core import scan
from ....ir.ops.index import sort
from ....passes.codegen.llvm.index import scans as codegen
from ..calls import pool
from ..calls.lowering_rules import native
from ..calls.native_scratch import Steps, rows_of
from ..calls.step_list import At
from ..loops.native_moves import turned
from . import ordering, scans, search


def _order(node, x, out, keep, descending):
    """Along another dim than the last one, between copies with that dim behind the others."""
    if x.dtype not in ordering.KINDS:
        return None
    dim, last, threads = node.params["dim"] % len(x.shape), len(x.shape) - 1, pool.get_num_threads()
    size = x.shape[dim]
    plan = ordering.plan(x.dtype, x.size // size, size, keep, descending, threads)
    if dim == last:
        return plan.native([0, 1])
    order, made = [*[d for d in range(last + 1) if d != dim], dim], Steps()
    (sizes, kept), items = [tuple([a.shape[d] for d in order]) for a in (x, out)], (x.dtype.itemsize, out.dtype.itemsize)
    (lies, goes) = [tuple([a.strides[d] for d in order]) for a in (x, out)]
    rows, found = made.room(x.size, x.dtype), made.room(out.size, out.dtype)
    ordered = plan.native([rows, found], made.scratch_bytes)
    made.scratch_bytes = ordered.scratch_bytes
    return made.call([*turned(sizes, items[0], At(0), lies, rows, rows_of(sizes, items[0])), *ordered.steps,
                      *turned(kept, items[1], found, rows_of(kept, items[1]), At(1), goes)])


@native(sort.argsort)
def argsort(node, operands, results):
    """Along a dim."""
    (x,) = operands
    return _order(node, x, results[0], x.shape[node.params["dim"]], node.params["descending"])


@native(sort.arg_topk)
def arg_topk(node, operands, results):
    """Along a dim."""
    (x,) = operands
    return _order(node, x, results[0], node.params["k"], node.params["largest"])


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
