"""What optimizers need to update only those rows of a parameter that a sparse gradient names.

Eagerly these are arrays. While a recorder watches they are tensors, as many as the gradient has entries, so that their number
does not depend on data: where entries meet at one place, the last place and its values stand there several times.
"""

from typing import Any

import numpy as np

from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.shape import cat
from ..api.register.register import FUNCTIONS
from ..api.sparse import GAP, GappedRows
from ..core.state import tls
from ..core.tensor import Tensor, numel_of
from ..core.writes import check_writable


def rows_of(g) -> Any:
    """The places of a sparse gradient, each once, with the values there: by numpy where no recorder watches and it can."""
    is_plain = tls.m.recorder is None and g._values()._a.__class__ is np.ndarray
    return Rows(g.coalesce()) if is_plain else RecordedRows(g)


def group_number(option, values):
    """An option of a parameter group (a number, or a tensor of one) as a number of the dtype that it will meet."""
    if isinstance(option, Tensor) and tls.m.recorder is not None:
        return ew.cast(option, dtype=values.dtype)
    plain = values.dtype.np if isinstance(values, Tensor) else values.dtype
    return np.asarray(float(option), plain)[()]


class Rows:
    """Places as numpy takes them (a tuple), and the values there."""

    def __init__(self, g):
        self.at, self.values = tuple(g.indices()._a), g.values()._a

    def of(self, t: Tensor):
        """What a parameter or a state holds at the places."""
        return t._a[self.at]

    def put(self, dst: Tensor, values):
        """Writes values at the places of a parameter or a state."""
        check_writable(dst, tls.m, "step")
        dst._a[self.at] = values
        dst._storage.wrote("step")

    sqrt = staticmethod(np.sqrt)


class RecordedRows:
    """The same in operators. Of a gradient with gaps, which may have no entry at all, `some` says whether there is one."""

    def __init__(self, g):
        self.some = None
        if g.is_coalesced():
            self.at, self.values = g.rows(), g.values()
        elif type(g) is GappedRows:
            numbers, self.values = _once(g.numbers, g.all_rows)
            self.some = ew.ne(numbers[-1:], GAP) if numel_of(numbers) else None
            self.at = (numbers.clamp(min=0),)
        elif g.sparse_dim() == 1:
            numbers, self.values = _once(g.rows()[0], g._values())
            self.at = (numbers,)
        else:
            g = g.coalesce()
            self.at, self.values = g.rows(), g.values()

    def of(self, t: Tensor):
        """What a parameter or a state holds at the places."""
        return t.detach()[self.at]

    def put(self, dst: Tensor, values):
        """Writes values at the places of a parameter or a state."""
        if numel_of(values):
            if self.some is not None:
                values = ew.where(self.some.reshape(-1, *(1,) * (values.ndim - 1)).expand_as(values), values, self.of(dst))
            dst.index_put_(self.at, values)

    @staticmethod
    def sqrt(x):
        """Square roots."""
        return FUNCTIONS["sqrt"](x)


def _once(numbers, values) -> tuple:
    """(each number once, in order, the sum of its values); as many as there are entries, the last one filling up, in the place
    of gaps, too. The values of a number are added up in their order, as `coalesce` does it."""
    count = numel_of(numbers)
    if not count:
        return numbers, values
    in_order, order = FUNCTIONS["sort"](numbers, stable=True)
    is_new = cat(FUNCTIONS["zeros_like"](numbers[:1]), ew.cast(ew.ne(in_order[1:], in_order[:-1]), dtype=numbers.dtype), dim=0)
    group = FUNCTIONS["cumsum"](is_new, 0)              # of each entry in order
    own = FUNCTIONS["zeros_like"](numbers).index_put((order,), group)
    sums = FUNCTIONS["zeros_like"](values).index_put((own,), values, accumulate=True)
    found = FUNCTIONS["zeros_like"](numbers).index_put((group,), in_order)
    last = group[-1:]
    place = FUNCTIONS["minimum"](FUNCTIONS["arange"](count, device=numbers.device), last)
    place = ew.where(ew.eq(found[place], GAP), last.expand_as(place), place)
    return found[place], sums[place]
