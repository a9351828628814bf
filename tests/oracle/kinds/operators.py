"""Rows of ingot's operators: the record in ingot, the formula of its name in PyTorch."""

from .. import formulas, invariants
from ..row import fill, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind


@kind("operator")
def run(library, row, wrap):
    """Call the operator; gradients for every leaf.

    Options: `more` (arguments and parameters of further calls), `turned` (slots of tensors whose dims are reversed, so that
    their elements do not lie in a row), `only` (the numbers of the results that are compared). Operators in `invariants.TABLE`
    are compared by what their meaning determines.
    """
    function = record(row) if library.__name__ == "ingot" else formulas.named(row.target)
    calls, given = prepare(library, [(row.args, row.kwargs), *row.options.get("more", ())])
    transposed = row.options.get("turned", ())

    def body(*tensors):
        passed = [t.permute(*range(t.ndim)[::-1]) if i in transposed else t for i, t in enumerate(tensors)]
        found = [called(library, function, row, *fill(call, passed)) for call in calls]
        results = found if len(found) > 1 else found[0]
        out = flatten(library, results)
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        return out | gradients(library, out, leaves)

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])


def called(library, function, row, args, kwargs):
    """Return what is compared of one call's results."""
    results = function(*args, **kwargs)
    if row.target in invariants.TABLE:
        results = invariants.TABLE[row.target](library, results, args, kwargs)
    only = row.options.get("only")
    return results if only is None else tuple([results[i] for i in only])


def record(row):
    """Return what calls ingot's operator: its record, or for packed operands what packs them first."""
    from ingot.ir.opdef.op import OPS
    from ingot.ir.ops import load_all

    from .. import packed

    load_all()
    return packed.CALLS.get(row.target) or OPS[row.target]
