"""Batch rules: the field `batch` of a record states how vmap runs the operator on a whole batch.

A rule is one of the classes here, or a function (size, op, args, held, params) -> results with the batch in front, written in
records like gradient rules. `held` tells which `args` have the batch in front; the others are shared by all samples. A function
returns NotImplemented for cases it does not cover. Elementwise operators, reductions and composites with a good body need no
rule; anything else without a rule runs sample by sample. `ir/ops/core/batching.py` applies the rules.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .op import Reduce, Scalar


class Pointwise:
    """Elements are independent; operands broadcast."""


class Same:
    """The values of samples do not matter: one result serves all."""


@dataclass(frozen=True)
class Leading:
    """Extra leading dims are allowed. `counted` names parameters that are dims (an int or a tuple), `each` those with one
    number per dim. A parameter `shape` is the shape of the result."""

    counted: tuple = ()
    each: tuple = ()

    def batched_params(self, size, params) -> dict:
        """Return the parameters for the whole batch."""
        p = dict(params)
        for name in self.counted:
            p[name] = tuple([d + 1 for d in p[name]]) if isinstance(p[name], tuple) else p[name] + 1
        for name in self.each:
            p[name] = (0, *p[name])
        if "shape" in p:
            p["shape"] = (size, *p["shape"])
        return p


@dataclass(frozen=True)
class Images:
    """The first dim of some operands (default: all) counts independent images, so samples are concatenated along it. The other
    operands must be shared by all samples; otherwise the rule `otherwise` is used."""

    which: tuple | None = None
    otherwise: Callable | None = None


@dataclass(frozen=True)
class Chain:
    """A view. `links(size, op, shape of a sample, params)` returns the views, with parameters, that do it to a whole batch."""

    links: Callable


POINTWISE, SAME, LEADING, ALONG, IMAGES = Pointwise(), Same(), Leading(), Leading(("dim",)), Images()


def way_of(op):
    """Return the batch rule of a record: declared, or implied by its lowering; None if there is none."""
    if op.batch is not None:
        return op.batch
    return POINTWISE if type(op.lower) is Scalar else ALONG if type(op.lower) is Reduce else None


def view_links(size, op, shape, params):
    """Return the views, with parameters, that apply a view operator to each sample of a batch."""
    way = way_of(op)
    return way.links(size, op, shape, params) if type(way) is Chain else [(op, way.batched_params(size, params))]
