"""Rows of functions and methods: results and gradients for every leaf."""

from ..row import FUNCTIONS, fill, lookup, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind


@kind("function")
def run(library, row, wrap):
    """Call `target(*args, **kwargs)`; a target that ends in one underscore writes to a copy of its first tensor.

    Options:
    before   path of a function of (first argument, dimension -1), applied first
    after    name of a Python function of (result, first argument) whose result is compared, free of signs and orders
    written  positions of the tensors that the call writes to, which are results too
    """
    before = lookup(library, row.options["before"]) if "before" in row.options else None
    after = FUNCTIONS[row.options["after"]](library) if "after" in row.options else None
    (args, kwargs), given = prepare(library, (row.args, row.kwargs))
    target = lookup(library, row.target)
    in_place = row.target.endswith("_") and not row.target.endswith("__")
    written = row.options.get("written", (0,) if in_place else ())

    def body(*tensors):
        passed = [t.clone() if i in written else t for i, t in enumerate(tensors)]
        given_args = list(fill(args, passed))
        if before is not None:
            given_args[0] = before(given_args[0], -1)
        result = target(*given_args, **fill(kwargs, passed))
        out = flatten(library, result if after is None else after(result, given_args[0]))
        if "written" in row.options:
            out |= {f"written.{i}": passed[i] for i in written}
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        return out | gradients(library, out, leaves)

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])
