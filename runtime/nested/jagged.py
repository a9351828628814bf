"""Jagged nested tensors: samples of different lengths joined in one tensor of values, with offsets.

A size that differs between samples is a `RaggedSize`. Functions without a handler (`jagged_functions.py`) raise: there is no
array that a function could take by mistake.
"""

import itertools
from typing import Any, NamedTuple

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ..api.register.register import FUNCTIONS
from ..api.tensor_classes import subclasses
from ..api.tensor_classes.value_members import ValueMembers
from ..api.views.tensor_factories import on_arrays
from ..core.composite_tensors import PARTS
from ..core.tensor import Size, Tensor, shape_of
from ..state.mode import tls

_new = object.__new__
HANDLERS: dict = {}         # name of a function or method -> handler of jagged tensors
SAMPLEWISE: dict = {}       # the same for samples one by one, whatever their sizes (layout strided)


def found_in(table, func):
    """Return the handler of a function, or of the function that it is an alias of."""
    return table.get(func.__name__) or table.get(getattr(func, "_asks_for", func).__name__)


def _is_strided(arguments) -> bool:
    """Return whether an argument is a nested tensor of the layout strided."""
    return any(_is_strided(x) if isinstance(x, (list, tuple)) else isinstance(x, NestedTensor) and x._layout == "strided"
               for x in arguments)


class _cached:
    """Property that is computed once; under a recorder at each reading, so that it sees the operators."""

    def __init__(self, fn):
        self.fn, self.name, self.__doc__ = fn, f"_{fn.__name__}", fn.__doc__

    def __get__(self, ragged, owner=None):
        if tls.m.recorder is not None:
            return self.fn(ragged)
        if self.name not in ragged.__dict__:
            ragged.__dict__[self.name] = self.fn(ragged)
        return ragged.__dict__[self.name]


class Ragged:
    """Ragged dim: where samples begin and end."""

    _numbers = itertools.count(1)

    def __init__(self, offsets: Tensor, declared: int | None = None):
        self.offsets = offsets
        self.declared = declared            # declared length of the longest sample, or None
        self.size = RaggedSize(self)
        self.name = f"j{next(self._numbers)}"

    @_cached
    def bounds(self) -> list:
        """Return the offsets as Python numbers."""
        return self.offsets.tolist()

    @_cached
    def lengths(self) -> Tensor:
        """Return the length of each sample."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def count(self) -> int:
        """Number of samples."""
        return self.offsets.shape[0] - 1

    @_cached
    def longest(self) -> int:
        """Return the length of the longest sample, or its declared length."""
        return self._extreme(True) if self.declared is None else self.declared

    @property
    def shortest(self) -> int:
        """Length of the shortest sample."""
        return self._extreme(False)

    def _extreme(self, is_largest) -> int:
        return on_arrays(_extreme_length, self.offsets, is_largest).item() if self.count else 0

    @_cached
    def samples(self) -> Tensor:
        """Return the sample of each row."""
        return FUNCTIONS["repeat_interleave"](FUNCTIONS["arange"](self.count, device=self.offsets.device), self.lengths)

    @_cached
    def positions(self) -> Tensor:
        """Return each row's index in its sample."""
        rows = FUNCTIONS["arange"](self.samples.shape[0], device=self.offsets.device)
        return rows - self.offsets[:-1][self.samples]

    def same(self, other: "Ragged") -> bool:
        """Return whether all samples have the same lengths as another's."""
        return self is other or (self.offsets is other.offsets) or self.bounds == other.bounds


def _extreme_length(count, offsets, is_largest):
    lengths = offsets[1:] - offsets[:-1]
    return lengths.max() if is_largest else lengths.min()


class RaggedSize:
    """Size of the ragged dim; equal if all lengths are."""

    def __init__(self, ragged: Ragged):
        self.ragged = ragged

    def __eq__(self, other):
        return isinstance(other, RaggedSize) and self.ragged.same(other.ragged)

    def __hash__(self):
        return hash(RaggedSize)

    def __repr__(self):
        return self.ragged.name


class NestedTensor(ValueMembers, Tensor):  # type: ignore[misc]    # members that differ
    """Batch of samples that differ in one dim. `_values` joins them along that dim, without the batch dim."""

    _ragged: Ragged
    _at: int
    _layout: Any

    def __new__(cls, values: Tensor, ragged: Ragged, at: int = 1, layout=None):
        t = _new(cls)
        t._values, t._ragged, t._at, t._layout = values, ragged, at, layout or FUNCTIONS["jagged"]
        return t

    def _refuse(self):
        raise DTypeError("this function does not take nested tensors; give it t.values(), the samples t.unbind(), or "
                         "t.to_padded_tensor(padding)")

    _a = _node = _shared = property(_refuse)        # functions without dispatch find no array

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
        return by_samples(func, *args, **(kwargs or {}))        # functions that cannot run on all values at once

    # Properties.

    is_nested = True

    @property
    def shape(self) -> Size:
        sizes: list = list(self._values.shape)
        sizes[self._at - 1] = self._ragged.size
        return Size((self._ragged.count, *sizes))

    @property
    def ndim(self) -> int:
        return self._values.ndim + 1

    layout = property(lambda self: self._layout)

    def _take(self, other):
        """Take over the values and samples of another nested tensor, for `t.data = other`."""
        if not isinstance(other, NestedTensor) or "_windows" in vars(self).keys() ^ vars(other).keys():
            raise DTypeError(f"the data of a nested tensor are one of the same kind, got {type(other).__name__}")
        self._values.data = other._values
        for name in vars(self).keys() & vars(other).keys() - {"_values"}:
            setattr(self, name, getattr(other, name))

    def is_contiguous(self, memory_format=None) -> bool:
        """Return whether the joined samples are contiguous. `memory_format` is ignored: samples have no dims of images."""
        return self._values.is_contiguous()

    def __len__(self) -> int:
        return self._ragged.count

    def __repr__(self):
        if self.layout == "strided":
            parts = ",\n".join(["  " + repr(x).replace("\n", "\n  ") for x in self.unbind()])
            return f"nested_tensor([\n{parts}\n])"
        history = f"grad_fn={self.grad_fn}, " if self.grad_fn is not None else "requires_grad=True, " * self.requires_grad
        return f"NestedTensor(size={tuple(self.shape)}, offsets={self.offsets()}, {history}contiguous={self.is_contiguous()})"

    def __deepcopy__(self, memo):
        return self.like(self._values.detach().clone().requires_grad_(self.requires_grad))

    def __reduce_ex__(self, protocol):
        return made_again, (self._values, self._ragged.offsets, self._ragged.declared, self._at, self._layout[:])

    # Parts.

    def values(self) -> Tensor:
        """Return the joined samples."""
        return self._values

    def offsets(self) -> Tensor:
        """Return where samples begin in the values, and the end of the last one."""
        return self._ragged.offsets

    def lengths(self) -> Tensor | None:
        """Return None: samples have no gaps."""
        return None

    _max_seqlen = property(lambda self: self._ragged.longest)
    _min_seqlen = property(lambda self: self._ragged.shortest)

    def parts(self) -> tuple:
        """Return the parts, and the function that rebuilds the tensor."""
        return (self._ragged.offsets, self._values), Making(self._ragged.declared, self._at, self._layout)

    def values_of(self, gradient) -> Any:
        return None if gradient is None else gradient._values

    def unbind(self, dim=0) -> tuple:
        """Return the samples, as views of the values."""
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
                             f"into the nested {list(part.shape)}")
        for x, v in pairs:
            x[...] = v

    def like(self, values: Tensor, at: int | None = None) -> "NestedTensor":
        """Return other values for samples of the same lengths."""
        return NestedTensor(values, self._ragged, self._at if at is None else at, self._layout)

    def to_padded_tensor(self, padding, output_size=None) -> Tensor:
        """Return one tensor of all samples, padded to the longest one, or to `output_size`."""
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
        """Return the samples of a padded tensor."""
        rows = padded.movedim(self._at, 1)
        index = self._ragged.samples * rows.shape[1] + self._ragged.positions
        return self.like(rows.flatten(0, 1).index_select(0, index).movedim(0, self._at - 1))


def _filled_up(padded, sizes, padding):
    if len(sizes) != padded.ndim or any(n < have for n, have in zip(sizes, padded.shape)):
        raise ShapeError(f"to_padded_tensor: output_size {list(sizes)} does not hold samples up to {list(padded.shape)}")
    room = padded.new_full(tuple(sizes), padding)
    room[tuple([slice(n) for n in padded.shape])] = padded
    return room


class Making(NamedTuple):
    """Rebuild function of a nested tensor: declared longest length, ragged dim, and layout."""

    declared: int | None
    at: int
    layout: Any

    def __call__(self, offsets, values):
        return NestedTensor(values, Ragged(offsets, self.declared), self.at, self.layout)


def check_offsets(values, offsets, at):
    """Raise unless offsets fit the values."""
    if not 1 <= at <= values.ndim:
        raise ArgumentError(f"nested_tensor_from_jagged: jagged_dim is within 1..{values.ndim}, got {at}")
    rows = shape_of(values)[at - 1]
    if offsets.ndim != 1 or not shape_of(offsets)[0] or not on_arrays(_rise_to, offsets, rows).item():
        raise ArgumentError(f"nested_tensor_from_jagged: offsets rise from 0 to the {rows} rows of the values, "
                            f"got {offsets.tolist()}")


def _rise_to(count, offsets, rows):
    return (offsets[0] == 0) & (offsets[1:] >= offsets[:-1]).all() & (offsets[-1] == rows)


def made_again(values, offsets, declared, at, layout) -> NestedTensor:
    """Return a nested tensor from a file or pickle, checked."""
    check_offsets(values, offsets, at)
    if layout not in ("jagged", "strided") or not (declared is None or (type(declared) is int and declared >= 0)):
        raise ArgumentError(f"a nested tensor of the layout {layout!r} whose longest sample counts as {declared!r} is none")
    return NestedTensor(values, Ragged(offsets, declared), at, FUNCTIONS[layout])


def as_offsets(lengths, device=None) -> Tensor:
    """Return the offsets of samples of some lengths, and the end of the last one."""
    lengths = FUNCTIONS["as_tensor"](lengths, device=device).to(dt.int64)
    return FUNCTIONS["cat"]([lengths.new_zeros(1), lengths.cumsum(0)])


PARTS[NestedTensor] = NestedTensor.parts
subclasses.ask_class(NestedTensor)
