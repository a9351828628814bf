"""Rows of methods that write to their tensor, and of its attributes."""

from ..row import fill, lookup, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind


@kind("in place")
def run_in_place(library, row, wrap):
    """Call a method of a copy of the first tensor: what the copy holds then, and whether the method returns it.

    Option `turned`: the method gets a transposed view, and the copy in memory's order is compared.
    """
    (args, kwargs), given = prepare(library, (row.args, row.kwargs))
    target, transposed = lookup(library, row.target), row.options.get("turned", False)

    def body(*tensors):
        base = (tensors[0].transpose(0, -1) if transposed else tensors[0]).clone(memory_format=library.contiguous_format)
        view = base.transpose(0, -1) if transposed else base
        result = target(*fill(args, [view, *tensors[1:]]), **fill(kwargs, [view, *tensors[1:]]))
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        out = {"written": base if transposed else view}
        return out | {"returned": result is view} | gradients(library, out, leaves)

    return dict(wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given]))


@kind("attribute")
def run_attribute(library, row, wrap):
    """Read an attribute of the tensor `args[0]`."""
    (args, _), given = prepare(library, (row.args, {}))
    name = row.target.removeprefix("Tensor.")

    def body(*tensors):
        out = flatten(library, getattr(fill(args, tensors)[0], name))
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        return out | gradients(library, out, leaves)

    return dict(wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given]))
