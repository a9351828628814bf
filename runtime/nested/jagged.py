"""Nested tensors: samples of different lengths behind each other in one tensor of values, and where each begins.

A size that differs from sample to sample is a `RaggedSize`. What has no handler (`jagged_functions.py`) is refused: there is no
array that a function could take by mistake.
"""

import itertools
from typing import Any, NamedTuple

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ...ir.opdef.aval import Aval
from ..api.register.register import FUNCTIONS
from ..api.tensor_classes import subclasses
from ..core.composite_tensors import PARTS
from ..core.state import tls
from ..core.tensor import Size, Tensor

_new = object.__new__
HANDLERS: dict = {}         # name of a function or method -> what does it for nested tensors
SAMPLEWISE: dict = {}       # the same for samples one by one, whatever their sizes (layout strided)


def found_in(table, func):
    """What a table has for a function, or for the one that it is another name of."""
    return table.get(func.__name__) or table.get(getattr(func, "_asks_for", func).__name__)


def _is_strided(given) -> bool:
    """Return whether there is a nested tensor of the layout strided among arguments."""
    return any(_is_strided(x) if isinstance(x, (list, tuple)) else isinstance(x, NestedTensor) and x._layout == "strided"
               for x in given)


class _kept:
    """A property that is computed once; at each reading while a recorder listens, which is to see what it comes from."""

    def __init__(self, fn):
        self.fn, self.name, self.__doc__ = fn, f"_{fn.__name__}", fn.__doc__

    def __get__(self, ragged, owner=None):
        if tls.m.recorder is not None:
            return self.fn(ragged)
        if self.name not in ragged.__dict__:
            ragged.__dict__[self.name] = self.fn(ragged)
        return ragged.__dict__[self.name]


class Ragged:
    """Where samples begin and end along their common dim."""

    _numbers = itertools.count(1)

    def __init__(self, offsets: Tensor, said: int | None = None):
        self.offsets = offsets
        self.said = said            # how long the longest sample is to count as, if somebody said so
        self.size = RaggedSize(self)
        self.name = f"j{next(self._numbers)}"

    @_kept
    def bounds(self) -> list:
        """Return the offsets as Python numbers."""
        return self.offsets.tolist()

    @_kept
    def lengths(self) -> Tensor:
        """Return the length of each sample."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def count(self) -> int:
        """The number of samples."""
        return self.offsets.shape[0] - 1

    @_kept
    def longest(self) -> int:
        """Return the length of the longest sample, or what was said of it."""
        return max((b - a for a, b in itertools.pairwise(self.bounds)), default=0) if self.said is None else self.said

    @property
    def shortest(self) -> int:
        """The length of the shortest sample."""
        return min((b - a for a, b in itertools.pairwise(self.bounds)), default=0)

    @_kept
    def samples(self) -> Tensor:
        """Of each row the sample that it belongs to."""
        return FUNCTIONS["repeat_interleave"](FUNCTIONS["arange"](self.count, device=self.offsets.device), self.lengths)

    @_kept
    def places(self) -> Tensor:
        """Of each row its place in its sample."""
        rows = FUNCTIONS["arange"](self.samples.shape[0], device=self.offsets.device)
        return rows - self.offsets[:-1][self.samples]

    def same(self, other: "Ragged") -> bool:
        """Return whether all samples are of the lengths that they have in another one."""
        return self is other or (self.offsets is other.offsets) or self.bounds == other.bounds


class RaggedSize:
    """The size of the dim whose size differs between samples; equal where all lengths are."""

    def __init__(self, ragged: Ragged):
        self.ragged = ragged

    def __eq__(self, other):
        return isinstance(other, RaggedSize) and self.ragged.same(other.ragged)

    def __hash__(self):
        return hash(RaggedSize)

    def __repr__(self):
        return self.ragged.name


class NestedTensor(Tensor):
    """A batch of samples that differ in one dim. `_values` has them behind each other along that dim, without the batch."""

    _values: Tensor
    _ragged: Ragged
    _at: int
    _layout: Any

    def __new__(cls, values: Tensor, ragged: Ragged, at: int = 1, layout=None):
        """`at` is the dim of the nested tensor that differs."""
        t = _new(cls)
        t._values, t._ragged, t._at, t._layout = values, ragged, at, layout or FUNCTIONS["jagged"]
        return t

    def __init__(self, *args, **kwargs):
        pass

    def _refuse(self):
        raise DTypeError("this function does not take nested tensors; give it t.values(), the samples t.unbind(), or "
                         "t.to_padded_tensor(padding)")

    _a = _node = _shared = property(_refuse)        # whoever does not ask what it is given finds no array

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handler, by_samples = found_in(HANDLERS, func), found_in(SAMPLEWISE, func)
        if by_samples is not None and not _is_strided((*args, *(kwargs or {}).values())):
            by_samples = None
        if handler is None and by_samples is None:
            raise DTypeError(f"{func.__name__} does not take nested tensors; give it t.values(), the samples t.unbind(), or "
                             f"t.to_padded_tensor(padding)")
        if handler is None:
            return by_samples(func, *args, **(kwargs or {}))
        try:
            return handler(func, *args, **(kwargs or {}))
        except (DimError, ShapeError):
            if by_samples is None:
                raise
        return by_samples(func, *args, **(kwargs or {}))        # what cannot be done to all values at once

    # What it is.

    is_nested = True

    @property
    def shape(self) -> Size:
        sizes: list = list(self._values.shape)
        sizes[self._at - 1] = self._ragged.size
        return Size((self._ragged.count, *sizes))

    def size(self, dim=None) -> Any:
        """Return the sizes, or one of them."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def ndim(self) -> int:
        return self._values.ndim + 1

    def dim(self) -> int:
        """Return the number of dims, that of samples included."""
        return self.ndim

    aval = property(lambda self: Aval(tuple(self.shape), self.dtype))
    dtype = property(lambda self: self._values.dtype)
    device = property(lambda self: self._values.device)
    layout = property(lambda self: self._layout)
    requires_grad = property(lambda self: self._values.requires_grad, lambda self, value: self.requires_grad_(value))
    is_leaf = property(lambda self: self._values.is_leaf)
    grad_fn = property(lambda self: self._values.grad_fn)
    data = property(lambda self: self.like(self._values.data), lambda self, value: self._take(value))

    def _take(self, other):
        """Has the values of another nested tensor, and its samples, as `t.data = other` says."""
        if not isinstance(other, NestedTensor) or "_places" in vars(self).keys() ^ vars(other).keys():
            raise DTypeError(f"the data of a nested tensor are one of the same kind, got {type(other).__name__}")
        self._values.data = other._values
        for name in vars(self).keys() & vars(other).keys() - {"_values"}:
            setattr(self, name, getattr(other, name))

    @property
    def grad(self):
        """The gradient of the values, as a nested tensor."""
        return None if self._values.grad is None else self.like(self._values.grad)

    @grad.setter
    def grad(self, value):
        self._values.grad = None if value is None else value._values

    def requires_grad_(self, requires_grad=True):
        """Starts or stops collecting a gradient for the values."""
        self._values.requires_grad_(requires_grad)
        return self

    def numel(self) -> int:
        """Return the number of elements of all samples."""
        return self._values.numel()

    def is_contiguous(self, memory_format=None) -> bool:
        """Return whether the values are contiguous."""
        return self._values.is_contiguous()

    def __len__(self) -> int:
        return self._ragged.count

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self):
        if self.layout == "strided":
            parts = ",\n".join(["  " + repr(x).replace("\n", "\n  ") for x in self.unbind()])
            return f"nested_tensor([\n{parts}\n])"
        history = f"grad_fn={self.grad_fn}, " if self.grad_fn is not None else "requires_grad=True, " * self.requires_grad
        return f"NestedTensor(size={tuple(self.shape)}, offsets={self.offsets()}, {history}contiguous={self.is_contiguous()})"

    def __format__(self, spec):
        return repr(self)

    def __copy__(self):
        return self.like(self._values)

    def __deepcopy__(self, memo):
        return self.like(self._values.detach().clone().requires_grad_(self.requires_grad))

    def __reduce_ex__(self, protocol):
        return made_again, (self._values, self._ragged.offsets, self._ragged.said, self._at, self._layout[:])

    # What it is made of.

    def values(self) -> Tensor:
        """Return the samples behind each other."""
        return self._values

    def offsets(self) -> Tensor:
        """Where samples begin in the values, and where the last one ends."""
        return self._ragged.offsets

    def lengths(self) -> Tensor | None:
        """None: samples follow each other without gaps."""
        return None

    _max_seqlen = property(lambda self: self._ragged.longest)
    _min_seqlen = property(lambda self: self._ragged.shortest)

    def parts(self) -> tuple:
        """Return the tensors it is made of, and what makes it of them."""
        return (self._ragged.offsets, self._values), Making(self._ragged.said, self._at, self._layout)

    def values_of(self, gradient) -> Any:
        """Return the values of a gradient, or None for None."""
        return None if gradient is None else gradient._values

    def unbind(self, dim=0) -> tuple:
        """Return the samples, views of the values."""
        if dim not in (0, -self.ndim):
            raise DimError(f"a nested tensor is unbound along dim 0, not {dim}")
        bounds = self._ragged.bounds
        return tuple([self._values.narrow(self._at - 1, a, b - a) for a, b in itertools.pairwise(bounds)])

    def __iter__(self):
        return iter(self.unbind())

    def __getitem__(self, key):
        first, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(first, int):
            found = self.unbind()[first]
            return found[tuple(rest)] if rest else found
        key = (first, *rest)
        whole = key[:2] == (slice(None), slice(None)) and self._at == 1
        if not whole and not (key[0] is Ellipsis and len(key) <= self.ndim - self._at):
            raise DTypeError("a nested tensor is indexed by the number of a sample first, or along the dims behind the one "
                             "that differs: t[i], t[i, ...], t[:, :, ...]")
        return self.like(self._values[key[1:] if whole else key])

    def __setitem__(self, key, value):
        first, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(first, int):
            self.unbind()[first][tuple(rest) if rest else ...] = value
            return
        part = self[key]
        if not isinstance(value, NestedTensor):
            part._values[...] = value
            return
        pairs = list(zip(part.unbind(), value.unbind()))
        if len(value) != len(part) or any(x.shape != v.shape for x, v in pairs):
            raise ShapeError(f"samples of shapes {', '.join([str(tuple(v.shape)) for v in value.unbind()])} are not written "
                             f"into the nested {tuple(part.shape)}")
        for x, v in pairs:
            x[...] = v

    def like(self, values: Tensor, at: int | None = None) -> "NestedTensor":
        """Other values of samples of the same lengths."""
        return NestedTensor(values, self._ragged, self._at if at is None else at, self._layout)

    def to_padded_tensor(self, padding, output_size=None) -> Tensor:
        """Return one tensor of all samples, filled up to the longest one, or to `output_size`."""
        ragged, at = self._ragged, self._at
        rows = self._values.movedim(at - 1, 0)
        long = ragged.longest
        if not rows.shape[0]:
            padded = rows.new_full((ragged.count, long, *rows.shape[1:]), padding)
        else:
            steps = FUNCTIONS["arange"](long, device=rows.device)
            index = (ragged.offsets[:-1].unsqueeze(1) + steps).clamp(max=rows.shape[0] - 1)
            there = (steps < ragged.lengths.unsqueeze(1)).reshape(ragged.count, long, *[1] * (rows.ndim - 1))
            padded = FUNCTIONS["where"](there, rows[index], rows.new_full((), padding))
        padded = padded.movedim(1, at)
        return padded if output_size is None else _filled_up(padded, output_size, padding)

    def unpadded(self, padded: Tensor) -> "NestedTensor":
        """What of a padded tensor belongs to samples."""
        rows = padded.movedim(self._at, 1)
        index = self._ragged.samples * rows.shape[1] + self._ragged.places
        return self.like(rows.flatten(0, 1).index_select(0, index).movedim(0, self._at - 1))


def _filled_up(padded, sizes, padding):
    if len(sizes) != padded.ndim or any(n < have for n, have in zip(sizes, padded.shape)):
        raise ShapeError(f"to_padded_tensor: output_size {tuple(sizes)} does not hold samples up to {tuple(padded.shape)}")
    room = padded.new_full(tuple(sizes), padding)
    room[tuple([slice(n) for n in padded.shape])] = padded
    return room


class Making(NamedTuple):
    """What makes a nested tensor of its parts: how long the longest sample counts as, which dim differs, and the layout."""

    said: int | None
    at: int
    layout: Any

    def __call__(self, offsets, values):
        return NestedTensor(values, Ragged(offsets, self.said), self.at, self.layout)


def check_offsets(values, offsets, at):
    """Refuse places of samples that values do not have."""
    if not 1 <= at <= values.ndim:
        raise ArgumentError(f"nested_tensor_from_jagged: jagged_dim is within 1..{values.ndim}, got {at}")
    bounds = offsets.tolist()
    if offsets.ndim != 1 or not bounds or bounds[0] != 0 or bounds != sorted(bounds) or bounds[-1] != values.shape[at - 1]:
        raise ArgumentError(f"nested_tensor_from_jagged: offsets rise from 0 to the {values.shape[at - 1]} rows of the values, "
                            f"got {bounds}")


def made_again(values, offsets, said, at, layout) -> NestedTensor:
    """Return a nested tensor out of a file or a pickle, checked."""
    check_offsets(values, offsets, at)
    if layout not in ("jagged", "strided") or not (said is None or (type(said) is int and said >= 0)):
        raise ArgumentError(f"a nested tensor of the layout {layout!r} whose longest sample counts as {said!r} is none")
    return NestedTensor(values, Ragged(offsets, said), at, FUNCTIONS[layout])


def as_offsets(lengths, device=None) -> Tensor:
    """Where samples of some lengths begin, and where the last one ends."""
    lengths = FUNCTIONS["as_tensor"](lengths, device=device).to(dt.int64)
    return FUNCTIONS["cat"]([lengths.new_zeros(1), lengths.cumsum(0)])


PARTS[NestedTensor] = NestedTensor.parts
subclasses.ask_class(NestedTensor)
