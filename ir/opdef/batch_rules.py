"""How an operator treats a whole batch of samples at once: what the field `batch` of its record may say. vmap asks it.

A way is one of these, or a function (size, op, args, held, params) -> results with the batch in front, written in records as
gradient rules are. `args` have the batch in front where `held` says so, the others are one for all samples. A function returns
NotImplemented for what it cannot say. Nothing needs to be said of elementwise operators, of reductions, and of composites
whose body is as good as they are; what else says nothing is done sample by sample. Whoever carries ways out is
`ir/ops/core/batching.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .op import Reduce, Scalar


class Pointwise:
    """Each element by itself, operands broadcast."""


class Same:
    """No sample's values count: what it gives for one is what all get."""


@dataclass(frozen=True)
class Leading:
    """Dimensions may stand before those of a sample. `counted` names the parameters that are numbers of dimensions from the
    front (an int or a tuple), `each` those with a number for each dimension. A parameter `shape` is the result's."""

    counted: tuple = ()
    each: tuple = ()

    def moved(self, size, params) -> dict:
        """The parameters for the whole batch."""
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
    """The first dimension of some operands (all of them unless said) counts images that are treated one by one, so those of all
    samples may follow each other. The other operands must be one for all samples; if they are not, `otherwise` is asked."""

    which: tuple | None = None
    otherwise: Callable | None = None


@dataclass(frozen=True)
class Chain:
    """A view: links(size, op, shape of a sample, params) are the views, with parameters, that do it to a whole batch."""

    links: Callable


POINTWISE, SAME, LEADING, ALONG, IMAGES = Pointwise(), Same(), Leading(), Leading(("dim",)), Images()


def way_of(op):
    """How an operator treats a batch: what its record says, or what follows from its way down; None for neither."""
    if op.batch is not None:
        return op.batch
    return POINTWISE if type(op.lower) is Scalar else ALONG if type(op.lower) is Reduce else None


def view_links(size, op, shape, params):
    """The views, with parameters, that do to a batch of samples of a shape what a view operator does to each."""
    way = way_of(op)
    return way.links(size, op, shape, params) if type(way) is Chain else [(op, way.moved(size, params))]
