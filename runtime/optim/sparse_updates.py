"""Updates of the rows of a parameter that a sparse gradient names.

Eagerly, rows are arrays. Under a recorder they are tensors with one row per entry of the gradient, so that no size depends on
data; duplicate indices repeat the last index and its values.
"""

from typing import Any

import numpy as np

from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.shape import cat
from ..api.register.register import FUNCTIONS
from ..api.sparse import GAP, GappedRows
from ..core.tensor import Tensor, numel_of
from ..core.writes import check_writable
from ..state.mode import tls


def rows_of(g) -> Any:
    """Return the unique indices of a sparse gradient with their values; by numpy without a recorder."""
    is_plain = tls.m.recorder is None and g._values()._a.__class__ is np.ndarray
    return Rows(g.coalesce()) if is_plain else RecordedRows(g)


def group_number(option, values):
    """Return an option of a group as a number of the dtype that it meets."""
    if isinstance(option, Tensor) and tls.m.recorder is not None:
        return ew.cast(option, dtype=values.dtype)
    plain = values.dtype.np if isinstance(values, Tensor) else values.dtype
    return np.asarray(float(option), plain)[()]


class Rows:
    """Indices for numpy (a tuple), and the values there."""

    def __init__(self, g):
        self.at, self.values = tuple(g.indices()._a), g.values()._a

    def of(self, t: Tensor):
        """Return the rows of a parameter or state."""
        return t._a[self.at]

    def put(self, dst: Tensor, values):
        """Write values into the rows of a parameter or state."""
        check_writable(dst, tls.m, "step")
        dst._a[self.at] = values
        dst._storage.wrote("step")

    sqrt = staticmethod(np.sqrt)


class RecordedRows:
    """Rows as operators. For a padded gradient, `some` tells whether there is an entry at all."""

    def __init__(self, g):
        self.some = None
        if g.is_coalesced():
            self.at, self.values = g.rows(), g.values()
        elif type(g) is GappedRows:
            numbers, self.values = _unique_sums(g.numbers, g.all_rows)
            self.some = ew.ne(numbers[-1:], GAP) if numel_of(numbers) else None
            self.at = (numbers.clamp(min=0),)
        elif g.sparse_dim() == 1:
            numbers, self.values = _unique_sums(g.rows()[0], g._values())
            self.at = (numbers,)
        else:
            g = g.coalesce()
            self.at, self.values = g.rows(), g.values()

    def of(self, t: Tensor):
        """Return the rows of a parameter or state."""
        return t.detach()[self.at]

    def put(self, dst: Tensor, values):
        """Write values into the rows of a parameter or state."""
        if numel_of(values):
            if self.some is not None:
                values = ew.where(self.some.reshape(-1, *(1,) * (values.ndim - 1)).expand_as(values), values, self.of(dst))
            dst.index_put_(self.at, values)

    @staticmethod
    def sqrt(x):
        return FUNCTIONS["sqrt"](x)


def _unique_sums(numbers, values) -> tuple:
    """Return (unique numbers in order, sums of values in order, like `coalesce`), padded with the last to the same count."""
    count = numel_of(numbers)
    if not count:
        return numbers, values
    in_order, order = FUNCTIONS["sort"](numbers, stable=True)
    is_new = cat(FUNCTIONS["zeros_like"](numbers[:1]), ew.cast(ew.ne(in_order[1:], in_order[:-1]), dtype=numbers.dtype), dim=0)
    group = FUNCTIONS["cumsum"](is_new, 0)              # group of each entry, in order
    own = FUNCTIONS["zeros_like"](numbers).index_put((order,), group)
    sums = FUNCTIONS["zeros_like"](values).index_put((own,), values, accumulate=True)
    found = FUNCTIONS["zeros_like"](numbers).index_put((group,), in_order)
    last = group[-1:]
    place = FUNCTIONS["minimum"](FUNCTIONS["arange"](count, device=numbers.device), last)
    place = ew.where(ew.eq(found[place], GAP), last.expand_as(place), place)
    return found[place], sums[place]
