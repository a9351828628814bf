"""Strided patterns of views over row-major values: an offset and one stride per dim, in elements.

Views compose as long as strides find every element; a reshape that would need a copy gives None.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.opdef.params import param_key
from ...ir.ops.core.shape import as_strided, diagonal, expand, later, permute, reshape, select, slice_, unfold
from ...ir.symbols.symbolic import SymInt


class Pattern(NamedTuple):
    """The element at point i of `shape` is number `offset + sum(i * strides)` of the value behind."""

    shape: tuple
    strides: tuple
    offset: int = 0

    def __hash__(self):
        if SymInt in map(type, (*self.shape, *self.strides, self.offset)):
            return hash(param_key(tuple(self)))
        return tuple.__hash__(self)

    @property
    def plain(self) -> "Pattern":
        """Return the same pattern with stride 0 in dims of size 1."""
        return self._replace(strides=tuple([0 if n == 1 else s for n, s in zip(self.shape, self.strides)]))


def row_major(shape) -> Pattern:
    """Return the pattern of a value in memory."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return Pattern(tuple(shape), tuple(reversed(strides)))


def through(pattern: Pattern, op, params: dict) -> Pattern | None:
    """Return a pattern after a view operator; None if strides cannot say it."""
    rule = _RULES.get(op)
    return None if rule is None else rule(pattern, **params)


def _reshape(p, *, shape):
    if 0 in shape:
        return row_major(shape)
    sizes, strides = merged(p)
    found, left = [], list(zip(sizes, strides))
    room, step = left.pop() if left else (1, 0)
    for n in reversed(shape):
        if n == 1:
            found.append(0)
            continue
        if room == 1:
            if not left:
                return None
            room, step = left.pop()
        if room % n:
            return None
        found.append(step)
        room, step = room // n, step * n
    return Pattern(tuple(shape), tuple(reversed(found)), p.offset)


def merged(p: Pattern):
    """Return (sizes, strides) of a pattern without dims of size 1, with contiguous neighbours joined."""
    sizes: list[int] = []
    strides: list[int] = []
    for n, s in zip(p.shape, p.strides):
        if n == 1:
            continue
        if sizes and strides[-1] == s * n:
            sizes[-1] *= n
            strides[-1] = s
        else:
            sizes.append(n)
            strides.append(s)
    return sizes, strides


def _permute(p, *, dims):
    return Pattern(tuple([p.shape[d] for d in dims]), tuple([p.strides[d] for d in dims]), p.offset)


def _expand(p, *, shape):
    lead = len(shape) - len(p.shape)
    inner = tuple([s if n == m else 0 for s, n, m in zip(p.strides, p.shape, shape[lead:])])
    return Pattern(tuple(shape), (0,) * lead + inner, p.offset)


def _select(p, *, dim, index):
    if index < 0:
        index += p.shape[dim]
    return Pattern(p.shape[:dim] + p.shape[dim + 1:], p.strides[:dim] + p.strides[dim + 1:], p.offset + index * p.strides[dim])


def _slice(p, *, dim, start, stop, step):
    n = p.shape[dim]
    if start < 0 or stop < 0 or step < 1:
        return None
    count = max(0, -(-(min(stop, n) - start) // step))
    shape, strides = list(p.shape), list(p.strides)
    shape[dim], strides[dim] = count, strides[dim] * step
    return Pattern(tuple(shape), tuple(strides), p.offset + (start * p.strides[dim] if count else 0))


def _diagonal(p, *, offset, dim1, dim2):
    rows, columns = p.shape[dim1], p.shape[dim2]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = offset * p.strides[dim2] if offset >= 0 else -offset * p.strides[dim1]
    rest = [d for d in range(len(p.shape)) if d not in (dim1, dim2)]
    return Pattern((*[p.shape[d] for d in rest], count), (*[p.strides[d] for d in rest], p.strides[dim1] + p.strides[dim2]),
                   p.offset + (start if count else 0))


def _unfold(p, *, dim, size, step):
    count = (p.shape[dim] - size) // step + 1
    s = p.strides
    return Pattern((*p.shape[:dim], count, *p.shape[dim + 1:], size), (*s[:dim], s[dim] * step, *s[dim + 1:], s[dim]), p.offset)


def _as_strided(p, *, shape, strides, offset):
    if p.plain != row_major(p.shape).plain:
        return None
    return Pattern(tuple(shape), tuple(strides), offset)


_RULES: dict[Any, Callable] = {reshape: _reshape, permute: _permute, expand: _expand, select: _select, slice_: _slice,
                               diagonal: _diagonal, unfold: _unfold, as_strided: _as_strided, later: lambda p: p}
