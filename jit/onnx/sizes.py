"""Sizes that differ between recordings of one function, and how they follow from sizes that are there at run time.

A function is recorded at several sizes of its free dimensions. A number that came out the same every time is fixed; one that
did not is `Varying`: it holds what it was in each recording, and arithmetic on it works on all of them at once. When such
a number has to be written into a model, `express` finds how it follows from sizes of values that exist there.
"""

from fractions import Fraction
from itertools import combinations_with_replacement

from ..errors import ExportError


def varying(values):
    """A number that was `values` in the recordings: itself if it was always the same."""
    values = tuple(values)
    return values[0] if all(v == values[0] and type(v) is type(values[0]) for v in values) else Varying(values)


def _both(a, b, fn):
    other = b.values if type(b) is Varying else (b,) * len(a.values)
    return varying([fn(x, y) for x, y in zip(a.values, other)])


class Varying:
    """A number that was different between recordings."""

    __slots__ = ("values",)

    def __init__(self, values):
        self.values = values

    def __add__(self, b):
        return _both(self, b, lambda x, y: x + y)

    def __sub__(self, b):
        return _both(self, b, lambda x, y: x - y)

    def __mul__(self, b):
        return _both(self, b, lambda x, y: x * y)

    def __floordiv__(self, b):
        return _both(self, b, lambda x, y: x // y)

    def __mod__(self, b):
        return _both(self, b, lambda x, y: x % y)

    def __rsub__(self, b):
        return _both(self, b, lambda x, y: y - x)

    def __neg__(self):
        return Varying(tuple([-v for v in self.values]))

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, b):
        return type(b) is Varying and b.values == self.values

    def __hash__(self):
        return hash(self.values)

    def _always(self, b, fn):
        other = b.values if type(b) is Varying else (b,) * len(self.values)
        found = {fn(x, y) for x, y in zip(self.values, other)}
        if len(found) > 1:
            raise FixedSize(self)
        return found.pop()

    def __lt__(self, b):
        return self._always(b, lambda x, y: x < y)

    def __le__(self, b):
        return self._always(b, lambda x, y: x <= y)

    def __gt__(self, b):
        return self._always(b, lambda x, y: x > y)

    def __ge__(self, b):
        return self._always(b, lambda x, y: x >= y)

    def __index__(self):
        raise FixedSize(self)

    __int__ = __float__ = __bool__ = __index__

    def __repr__(self):
        return "/".join(map(str, self.values))


class FixedSize(ExportError):
    """Something needs a size that is fixed."""

    def __init__(self, size):
        super().__init__(f"a size that was {size!r} would have to be fixed")


def product(sizes):
    """The product of numbers of which some may vary."""
    total = 1
    for n in sizes:
        total = total * n
    return total


def always(size, at_most: int) -> bool:
    """Whether a number was at most so much in every recording."""
    return all(n <= at_most for n in (size.values if type(size) is Varying else (size,)))


def is_fixed(sizes) -> bool:
    """Whether none of the numbers varies."""
    return all(type(n) is not Varying for n in sizes)


def _line(v, atom):
    """(slope, offset) if v = slope * atom + offset in every recording."""
    first = v[0], atom[0]
    other = next(((y, x) for y, x in zip(v, atom) if x != atom[0]), None)
    if other is None:
        return None
    slope = Fraction(other[0] - first[0]) / (other[1] - first[1])
    offset = first[0] - slope * first[1]
    return (slope, offset) if all(slope * x + offset == y for y, x in zip(v, atom)) else None


def _ratio(v, atom):
    """The constant v / atom, if it is one."""
    if any(x == 0 for x in atom):
        return None
    found = {Fraction(y) / x for y, x in zip(v, atom)}
    return found.pop() if len(found) == 1 else None


def express(size: Varying, atoms: list):
    """How a number follows from atoms, which are tuples of what sizes were in the recordings: (scale, positions of the atoms to
    multiply, offset, whether the product divides), or None. Sizes that exist as they are come first, then lines, then
    products, then numbers divided by a product."""
    v = tuple([Fraction(x) for x in size.values])
    for i, atom in enumerate(atoms):
        if v == atom:
            return Fraction(1), (i,), Fraction(0), False
    for i, atom in enumerate(atoms):
        line = _line(v, atom)
        if line is not None and line[0] != 0:
            return line[0], (i,), line[1], False
    distinct = list(dict.fromkeys(atoms))[:24]
    for divides in (False, True):
        for count in (1, 2, 3, 4) if divides else (2, 3, 4):
            for chosen in combinations_with_replacement(range(len(distinct)), count):
                whole = tuple([product([distinct[c][k] for c in chosen]) for k in range(len(v))])
                if divides:
                    whole = tuple([Fraction(1, x) if x else Fraction(0) for x in whole])
                scale = _ratio(v, whole)
                if scale is not None:
                    return scale, tuple([atoms.index(distinct[c]) for c in chosen]), Fraction(0), divides
    return None
