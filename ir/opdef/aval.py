"""Abstract values: dtype and shape, without data."""

import operator

from ..dtype import DType
from ..errors import DimError, DTypeError, ShapeError
from ..interrupts import raise_interrupt
from ..symbols.substitute import has_symbols
from ..symbols.symbolic import SymInt


class Aval:
    """Type of a value. Equal avals are interchangeable.

    `repr` is the type in IR text: ``f32[8,64]``, or ``f32[b,64]`` with a symbolic size. `str`, for messages, is
    ``float32[8, 64]`` with the sizes as they are now. No condition on these arises, since rules describe operands before they
    check them. `named_type` is for messages about graphs.
    """

    __slots__ = ("_hash", "dtype", "shape")

    def __init__(self, shape: tuple, dtype: DType):
        self.shape = tuple(shape)
        self.dtype = dtype
        self._hash = 0

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def with_shape(self, shape) -> "Aval":
        return Aval(shape, self.dtype)

    def with_dtype(self, dtype) -> "Aval":
        return Aval(self.shape, dtype)

    def __eq__(self, other):
        return isinstance(other, Aval) and self.dtype is other.dtype and self.shape == other.shape

    def __hash__(self):
        if not self._hash:
            self._hash = hash(self.key)
        return self._hash

    def __repr__(self):
        return f"{self.dtype.short}[{','.join([d.text if type(d) is SymInt else str(d) for d in self.shape])}]"

    def __str__(self):
        return f"{self.dtype.name}{shape_text(self.shape)}"

    @property
    def key(self) -> tuple:
        """Hashable description. Equal sizes are the same number or the same expression."""
        return tuple([d.key if type(d) is SymInt else d for d in self.shape]), self.dtype.name

    @property
    def is_symbolic(self) -> bool:
        return has_symbols(self.shape)


def named_type(aval) -> str:
    """Return a type for messages about graphs: ``float32[b, 64]``, with names of symbolic sizes.

    `str` would show b and 8 alike, where these are the two types that differ.
    """
    return f"{aval.dtype.name}[{', '.join([d.text if type(d) is SymInt else str(d) for d in aval.shape])}]"


def shape_text(shape) -> str:
    """Return a shape for messages: ``[8, 64]``, with the sizes as they are now."""
    return f"[{', '.join([str(hinted(d)) for d in shape])}]"


def hinted(size):
    """Return a size for messages: a symbolic one as it is now, without a condition."""
    return size.hint if type(size) is SymInt and not size.scope.is_inner else size


def same_shape(a: tuple, b: tuple) -> bool:
    """Return whether two shapes are equal; sizes are compared only if the numbers of dims are equal."""
    return a is b or (len(a) == len(b) and a == b)


def broadcast_shapes(*shapes) -> tuple:
    """Return the shape that all `shapes` broadcast to, by NumPy's rule."""
    ndim = max((len(s) for s in shapes), default=0)
    out = [1] * ndim
    for s in shapes:
        for i, d in enumerate(s, ndim - len(s)):
            known = out[i]
            if known is d or (type(d) is int and d == 1):
                continue
            if type(known) is int and known == 1:      # no question to a symbolic size: it is the answer whatever it is
                out[i] = d
            elif d != known and d != 1:
                if known != 1:
                    raise ShapeError(f"shapes {' and '.join(map(shape_text, shapes))} do not broadcast: "
                                     f"at dimension {i - ndim} the sizes {known} and {d} differ and neither is 1")
                out[i] = d
    return tuple(out)


def _index(dim, what: str) -> int:
    """Convert a dim to int; refuse bool, which was meant for another parameter."""
    if isinstance(dim, bool):
        raise DTypeError(f"{what} must be an integer, got {dim}; options like keepdim are given by name")
    try:
        return operator.index(dim)
    except TypeError as error:
        raise_interrupt(error, operator.index, dim)
        raise DTypeError(f"{what} must be an integer, got {dim!r}") from None


def canonical_dim(dim: int, ndim: int, *, what: str = "dim") -> int:
    """Count `dim` from the front. A 0-d value is treated as having one dim."""
    n = ndim or 1
    if dim.__class__ is not int:
        dim = _index(dim, what)
    if not -n <= dim < n:
        raise DimError(f"{what} {dim} is out of range for a value of {ndim} dimension{'s' * (ndim != 1)}: "
                       f"expected {-n} to {n - 1}")
    return dim + n if dim < 0 else dim


def integers(numbers, what: str) -> tuple:
    """Return one integer, or a sequence of integers of any kind (NumPy scalars, 0-d tensors), as a tuple of ints."""
    if isinstance(numbers, int):
        return (numbers,)
    if not isinstance(numbers, (tuple, list)):
        try:
            return (operator.index(numbers),)
        except TypeError as error:
            raise_interrupt(error, operator.index, numbers)
    try:
        return _indices(numbers)
    except TypeError as error:
        raise_interrupt(error, _indices, numbers)
        raise DTypeError(f"{what} must be an integer or a sequence of them, got {numbers!r}") from None


def _indices(numbers) -> tuple:
    return tuple([n if isinstance(n, int) else operator.index(n) for n in numbers])


def one_integer(number, what: str) -> int:
    """Return an integer of any kind as an int."""
    found = integers(number, what)
    if len(found) != 1:         # an empty tensor is an empty sequence
        raise DTypeError(f"{what} must be one integer, got {len(found)}: {number!r}")
    return found[0]


def canonical_dims(dims, ndim: int) -> tuple:
    """Return `dims` (an int, a sequence, or None for all) as a sorted tuple without repeats."""
    if dims is None:
        return tuple(range(ndim))
    if dims.__class__ is int:
        d = canonical_dim(dims, ndim)
        return (d,) if ndim else ()
    dims = integers(dims, "dim")
    out = [canonical_dim(d, ndim) for d in dims]
    if len(set(out)) != len(out):
        raise ShapeError(f"dim {dims} names a dimension twice")
    return tuple(sorted(out)) if ndim else ()
