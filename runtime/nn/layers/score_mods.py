"""Score functions of attention as data, without the score matrix.

The function is called on stand-ins; `Terms` is a level of vmap with these as samples. An index tensor holds its values along
its own axes: batch, head, query, key, or distance, from `q_idx - kv_idx` and comparisons of the two. The score records what is
done to it: a factor, a tanh between two factors, and numbers by batch, head and distance. The operator `bounded_attention`
computes just that. Anything else raises `Unknown`, and operators compute the attention.
"""

from typing import Any, NamedTuple

import numpy as np

from ....ir.errors import IngotError
from ....ir.opdef.aval import broadcast_shapes
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape
from ....ir.ops.index import indexing
from ...api.register.register import FUNCTIONS
from ...core.device_array import SAMPLE, DeviceArray
from ...core.tensor import Tensor, shape_of
from ...func.vmap_level import Level

BATCH, HEAD, QUERY, KEY, DISTANCE = range(5)
_COMPARED = (ew.eq, ew.ne, ew.lt, ew.le, ew.gt, ew.ge)


class Unknown(Exception):
    """The score function has another form."""


class ScoreForm(NamedTuple):
    """The form of a score function on a score s: outer * tanh(inner * s) + table, or factor * s + table."""

    factor: float = 1.0
    squash: tuple | None = None         # (inner, outer)
    table: Tensor | None = None         # over the five axes


class Term:
    """The array of a stand-in: values over the five axes and the axes that they depend on, or the form of the score."""

    __slots__ = ("axes", "device", "form", "full", "level")

    def __init__(self, level, full, axes=frozenset(), form=None):
        self.level, self.full, self.axes, self.form, self.device = level, full, axes, form, None


class Terms(Level):
    """The level in which a score function is called."""

    def __init__(self, query, key):
        super().__init__(1)
        self.visible_sizes = (*query._a.shape[:3], key._a.shape[2])
        lengths = (*shape_of(query)[:3], shape_of(key)[2])
        self.distances = lengths[QUERY] + lengths[KEY] - 1
        self.ranges = [_along(axis, FUNCTIONS["arange"](n, device=query.device)) for axis, n in enumerate(lengths)]
        apart = FUNCTIONS["arange"](lengths[QUERY] - 1, -lengths[KEY], -1, device=query.device)
        self.distance = _along(DISTANCE, apart)
        self.none = FUNCTIONS["zeros"]((), dtype=query.dtype, device=query.device)

    def stand_in(self, term, visible_shape, dtype) -> Tensor:
        """Return the tensor for the function."""
        t = Tensor.__new__(Tensor)
        t._a = DeviceArray(SAMPLE, term, tuple(visible_shape), dtype, (0,) * len(visible_shape), 0, None)
        t._node = t._shared = None
        return t

    def arguments(self, dtype) -> list:
        """Return the score, and the indices of batch, head, query and key."""
        score = self.stand_in(Term(self, self.none, form=ScoreForm()), self.visible_sizes, dtype)
        visible_shape = [[n if i == axis else 1 for i in range(4)] for axis, n in enumerate(self.visible_sizes)]
        return [score, *[self.stand_in(Term(self, r, frozenset((axis,))), visible_shape[axis], r._a.dtype)
                         for axis, r in enumerate(self.ranges)]]

    def size_of(self, t):
        """Return the sizes of a stand-in, which are plain numbers."""
        return t._a.shape if self.holds(t) else self.sizes(t)

    def sample(self, full, base=None):
        """Raise: every stand-in comes from an operator of this file."""
        raise Unknown

    def writes(self, dst, src):
        """Refuse writes into stand-ins."""
        if self.holds(dst) or self.holds(src):
            raise Unknown
        return super().writes(dst, src)

    def detached(self, t):
        """Raise for stand-ins, which have no history to cut."""
        if self.holds(t):
            raise Unknown
        return super().detached(t)

    def call(self, op, args, params):
        """Apply an operator to stand-ins."""
        terms = [a._a.memory if self.holds(a) else None for a in args]
        if not any(terms):
            return NotImplemented if self.outer is None else self.run_outer(self.outer.call, op, args, params)
        visible_shape = self._visible_shape(op, args, terms)
        if any(t is not None and t.form is not None for t in terms):
            form = self.run_outer(self._score_operator, op, args, terms, params)
            return self.stand_in(Term(self, self.none, form=form), visible_shape, self.none._a.dtype)
        full, axes = self.run_outer(self._index_operator, op, args, terms, params)
        return self.stand_in(Term(self, full, axes), visible_shape, full._a.dtype)

    def _visible_shape(self, op, args, terms):
        if op is shape.expand:
            raise Unknown
        which = args[1:] if op is indexing.index else args
        return broadcast_shapes(*[a._a.shape for a in which if isinstance(a, Tensor)])

    def _index_operator(self, op, args, terms, params):
        """Return (values, axes) of an operator on indices alone."""
        distance = self._distance(op, args, terms)
        if distance is not None:
            return distance, frozenset((DISTANCE,))
        axes = frozenset().union(*[t.axes for t in terms if t is not None])
        if len(axes & {QUERY, KEY, DISTANCE}) > 1:
            raise Unknown
        table = op is indexing.index
        if not (op.is_elementwise or (table and terms[0] is None and None not in args and len(args) - 1 == args[0].ndim)):
            raise Unknown
        values = [_values(a, t) for a, t in zip(args[table:], terms[table:])]
        return op(*args[:table], *values, **params), axes

    def _distance(self, op, args, terms):
        """Return an operator of a query's and a key's index as values by distance, if it depends on the distance alone."""
        if len(args) != 2 or None in terms or {id(t.full) for t in terms} != {id(r) for r in self.ranges[QUERY:]}:
            return None
        forward = terms[0].full is self.ranges[QUERY]
        away = self.distance if forward else -self.distance
        return away if op is ew.sub else op(away, 0) if op in _COMPARED else None

    def _score_operator(self, op, args, terms, params):
        """Return the form of the score after one more operator."""
        at = [i for i, t in enumerate(terms) if t is not None and t.form is not None]
        form, others = terms[at[0]].form, [(a, t) for i, (a, t) in enumerate(zip(args, terms)) if i != at[0]]
        if len(at) > 1:
            raise Unknown
        if op is ew.cast and params["dtype"].np == self.none._a.dtype:
            return form
        if op is ew.tanh and form.squash is None and form.table is None:
            return ScoreForm(squash=(form.factor, 1.0))
        if (op is ew.mul or (op is ew.div and at == [0])) and form.table is None and isinstance(others[0][0], (int, float)):
            return _scaled(form, others[0][0] if op is ew.mul else 1 / others[0][0])
        if op is ew.add or (op is ew.sub and at == [0]):
            added = self._bias(*others[0])
            return _shifted(form, added if op is ew.add else -added)
        if op is ew.where and at == [1] and isinstance(args[2], float) and args[2] == -np.inf:
            open_ = self._bias(args[0], terms[0])
            zeros = FUNCTIONS["zeros"](open_.shape, dtype=self.none.dtype, device=self.none.device)
            return _shifted(form, ew.where(open_, zeros, args[2]))
        raise Unknown

    def _bias(self, value, term):
        """Return a number to add by batch, head and distance."""
        if term is None:
            if isinstance(value, (int, float)):
                return self.none + value
            raise Unknown
        if term.axes & {QUERY, KEY}:
            raise Unknown
        return term.full


def _along(axis, values):
    return values.reshape([-1 if i == axis else 1 for i in range(5)])


def _values(a, term):
    if term is not None:
        return term.full
    if isinstance(a, Tensor) and a._a.ndim:
        raise Unknown
    return a


def _scaled(form, number):
    if form.squash is None:
        return form._replace(factor=form.factor * number)
    return form._replace(squash=(form.squash[0], form.squash[1] * number))


def _shifted(form, added):
    return form._replace(table=added if form.table is None else form.table + added)


def score_form(score_mod, query, key) -> Any:
    """Return the form of a score function, with its table as (batch or 1, heads or 1, distances), or None."""
    terms = Terms(query, key)
    try:
        with terms:
            found = score_mod(*terms.arguments(query._a.dtype))
    except (Unknown, IngotError):
        return None
    if not terms.holds(found) or found._a.memory.form is None:
        return None
    form = found._a.memory.form
    if form.table is None:
        return form
    table = form.table.to(query.dtype)
    lead = tuple(table.shape[:2]) if table.ndim == 5 else (1, 1)
    return form._replace(table=table.reshape(*lead, -1).expand(*lead, terms.distances))
