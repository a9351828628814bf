"""Rows of ingot's operators: the record in ingot, the formula of its name in PyTorch."""

from .. import formulas, invariants
from ..row import fill, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind


@kind("operator")
def run(library, row, wrap):
    """Call the operator; gradients for every leaf.

    Options: `turned` (slots of tensors whose dims are reversed, so that their elements do not lie in a row), `only` (the results that are
    compared, by number). Operators in `invariants.TABLE` are compared by what their meaning determines.
    """
    function = record(row) if library.__name__ == "ingot" else formulas.named(row.target)
    (args, kwargs), given = prepare(library, (row.args, row.kwargs))
    turned, only = row.options.get("turned", ()), row.options.get("only")
    invariant = invariants.TABLE.get(row.target)

    def body(*tensors):
        passed = [t.permute(*range(t.ndim)[::-1]) if i in turned else t for i, t in enumerate(tensors)]
        filled = fill(args, passed)
        results = function(*filled, **fill(kwargs, passed))
        if invariant is not None:
            results = invariant(library, results, filled, row.kwargs)
        if only is not None:
            results = tuple([results[i] for i in only])
        out = flatten(library, results)
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        return out | gradients(library, out, leaves)

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])


def record(row):
    """Return what calls ingot's operator: its record, or for packed operands what packs them first."""
    from ingot.ir.op import OPS
    from ingot.ir.ops import load_all

    from .. import packed

    load_all()
    return packed.CALLS.get(row.target) or OPS[row.target]
