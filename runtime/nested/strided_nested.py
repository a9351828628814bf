"""Nested tensors whose samples may differ in every dim: one flat tensor of elements, and a window for each sample.

Views of samples (`t.transpose(1, 2)`, `t.select(2, 0)`) are nested tensors over the same elements, with other windows.
Functions without a handler (`strided_nested_functions.py`) raise.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from ...ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ..api.nn.convolution import constant_pad_nd
from ..api.register import layouts
from ..api.register.register import FUNCTIONS
from ..api.tensor_classes import subclasses
from ..api.views.conversions import empty_strides
from ..core.composite_tensors import PARTS
from ..core.tensor import Size, Tensor
from .jagged import SAMPLEWISE, NestedTensor, found_in

_new = object.__new__


def in_rows(shapes: Iterable) -> tuple:
    """Return the windows of consecutive samples: sizes, strides, and first element of each."""
    windows, start = [], 0
    for sizes in shapes:
        windows.append((tuple(sizes), empty_strides(tuple(sizes)), start))
        start += math.prod(sizes)
    return tuple(windows)


class SizeOfSamples:
    """Size that differs between samples, in a shape; equal if all sizes are."""

    def __init__(self, sizes: tuple):
        self.sizes = sizes

    def __eq__(self, other):
        return isinstance(other, SizeOfSamples) and self.sizes == other.sizes

    def __hash__(self):
        return hash(self.sizes)

    def __repr__(self):
        return "/".join(map(str, self.sizes))


class NestedSamples(NestedTensor):
    """Batch of samples of equal rank. `_values` has all elements, `_windows` the window of each sample."""

    _windows: tuple
    _dims: int

    def __new__(cls, values: Tensor, windows: tuple, dims: int):     # type: ignore[misc]    # it has other parts
        """Make a nested tensor; `dims` includes the dim of samples."""
        t = _new(cls)
        t._values, t._windows, t._dims, t._layout = values, windows, dims, layouts.strided
        return t

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handler = found_in(SAMPLEWISE, func)
        if handler is None:
            raise DTypeError(f"{func.__name__} does not take nested tensors whose samples differ in more than their first dim; "
                             f"give it the samples t.unbind(), or t.to_padded_tensor(padding)")
        return handler(func, *args, **(kwargs or {}))

    # Properties.

    @property
    def sizes(self) -> list:
        return [sizes for sizes, _, _ in self._windows]

    def size(self, dim=None):
        if dim is None:
            return self.shape
        if not -self._dims <= dim < self._dims:
            raise DimError(f"dim {dim} is out of range for a nested tensor of {self._dims} dims")
        found = {sizes[dim % self._dims - 1] for sizes in self.sizes} if dim % self._dims else {len(self._windows)}
        if len(found) != 1:
            raise ShapeError(f"dim {dim} of a nested tensor differs between its samples and has no size: they are "
                             f"{', '.join(map(str, map(list, self.sizes))) or 'none'}")
        return found.pop()

    @property
    def shape(self) -> Size:
        of_dims = [*zip(*self.sizes)] or [(0,)] * (self._dims - 1)
        found: list = [n[0] if len(set(n)) == 1 else SizeOfSamples(n) for n in of_dims]
        return Size((len(self), *found))

    ndim = property(lambda self: self._dims)

    def numel(self) -> int:
        """Return the number of elements of all samples."""
        return sum(map(math.prod, self.sizes))

    @property
    def is_whole(self) -> bool:
        """Whether each element of the values belongs to a sample."""
        return self.numel() == self._values.shape[0]

    def is_contiguous(self, memory_format=None) -> bool:
        """Return whether samples are row-major and consecutive."""
        return self.is_whole and self._windows == in_rows(self.sizes)

    def __len__(self) -> int:
        return len(self._windows)

    def __reduce_ex__(self, protocol):
        t = self.in_rows()
        return samples_again, (t._values, t.sizes, t._dims)

    # Parts.

    def values(self) -> Tensor:
        """Return all elements, sample by sample, in one dim."""
        return self.in_rows()._values

    def _has_none(self):
        raise DTypeError("a nested tensor whose samples differ in more than their first dim has no offsets; see t.unbind()")

    offsets = lengths = _has_none                           # type: ignore[assignment]
    _max_seqlen = _min_seqlen = property(_has_none)         # type: ignore[assignment]

    def parts(self) -> tuple:
        """Return the part, and the function that rebuilds the tensor."""
        return (self._values,), MakingSamples(self._windows, self._dims)

    def values_of(self, gradient):
        """Return a gradient's elements in this tensor's order."""
        if gradient is None or gradient._windows == self._windows:
            return None if gradient is None else gradient._values
        made = self.like(self._values.detach().new_zeros(self._values.shape))
        for ours, theirs in zip(made.unbind(), gradient.unbind(), strict=True):
            ours.copy_(theirs)
        return made._values

    def sample(self, i: int) -> Tensor:
        """Return one sample, a view of the values."""
        sizes, strides, start = self._windows[i]
        if strides == empty_strides(sizes):
            return self._values.narrow(0, start, math.prod(sizes)).view(sizes)
        return self._values.as_strided(sizes, strides, self._values.storage_offset() + start)

    def unbind(self, dim=0) -> tuple:
        """Return the samples, as views of the values."""
        if dim not in (0, -self._dims):
            raise DimError(f"a nested tensor is unbound along dim 0, not {dim}")
        return tuple([self.sample(i) for i in range(len(self._windows))])

    def __getitem__(self, key):
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis and len(rest) < self._dims:
            return self.as_views([x[(..., *rest)] for x in self.unbind()])
        if isinstance(first, int):
            if not -len(self) <= first < len(self):
                raise DimError(f"a nested tensor of {len(self)} samples has none of the number {first}")
            found = self.sample(first % len(self))
            return found[tuple(rest)] if rest else found
        if not isinstance(first, slice):
            raise DTypeError("a nested tensor is indexed by the number of a sample or a slice of samples first, or along the "
                             "last dims: t[i], t[i, ...], t[a:b, ...], t[..., j]")
        part = NestedSamples(self._values, self._windows[first], self._dims)
        return part.as_views([x[tuple(rest)] for x in part.unbind()]) if rest else part

    def __setitem__(self, key, value):
        first, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(first, int):
            if not -len(self) <= first < len(self):
                raise DimError(f"a nested tensor of {len(self)} samples has none of the number {first}")
            self.sample(first % len(self))[tuple(rest) if rest else ...] = value
            return
        samples, inner = (self, (..., *rest)) if first is Ellipsis else (self[first], tuple(rest) or ...)
        if isinstance(value, NestedTensor) and len(value) != len(samples):
            raise ShapeError(f"{len(value)} samples are not written into {len(samples)}")
        for x, v in zip(samples.unbind(), value.unbind() if isinstance(value, NestedTensor) else [value] * len(samples)):
            x[inner] = v

    def like(self, values: Tensor, at: int | None = None) -> "NestedSamples":
        """Return other values in the same windows."""
        return NestedSamples(values, self._windows, self._dims)

    def in_rows(self) -> "NestedSamples":
        """Return the same samples row-major and consecutive; itself if they are."""
        return self if self.is_contiguous() else joined(self.unbind(), self)

    def as_views(self, samples) -> "NestedSamples":
        """Return views of samples as a nested tensor over the same elements; others as a new one."""
        there, first = self._values, self._values.storage_offset()
        if not samples or any(x._storage is not there._storage or x.dtype is not there.dtype for x in samples):
            return joined(samples, self)
        windows = tuple([(tuple(x.shape), tuple(x.stride()), x.storage_offset() - first if x.numel() else 0) for x in samples])
        return NestedSamples(there, windows, samples[0].ndim + 1)

    def to_padded_tensor(self, padding, output_size=None) -> Tensor:
        """Return one tensor of all samples, padded to the largest size of each dim, or to `output_size`."""
        sizes = [max(of_dim) for of_dim in zip(*self.sizes)]
        if output_size is not None:
            if len(output_size) != self._dims or any(n < have for n, have in zip(output_size, [len(self), *sizes])):
                raise ShapeError(f"to_padded_tensor: output_size {list(output_size)} does not hold samples up to "
                                 f"{(len(self), *sizes)}")
            sizes = list(output_size[1:])
        filled = [constant_pad_nd(x, [n for d in reversed(range(x.ndim)) for n in (0, sizes[d] - x.shape[d])], padding)
                  if x.ndim else x for x in self.unbind()]
        if output_size is not None:
            filled += [self._values.new_full(tuple(sizes), padding)] * (output_size[0] - len(self))
        return FUNCTIONS["stack"](filled) if filled else self._values.new_empty((0,) * self._dims)


def joined(samples, like=None) -> NestedSamples:
    """Join samples with their histories; without samples return a nested tensor like `like`."""
    if not samples:
        values = FUNCTIONS["empty"](0) if like is None else like._values.detach().new_empty(0)
        return NestedSamples(values, (), 1 if like is None else like._dims)
    if len({x.ndim for x in samples}) > 1:
        raise ShapeError(f"samples of a nested tensor have as many dims, got {', '.join([str(x.aval) for x in samples])}")
    values = FUNCTIONS["cat"]([x.reshape(-1) for x in samples])
    return NestedSamples(values, in_rows([x.shape for x in samples]), samples[0].ndim + 1)


def by_samples(t) -> NestedSamples:
    """Return a nested tensor as one whose samples may differ in every dim; a view if its values have no gaps."""
    if isinstance(t, NestedSamples):
        return t
    values, samples = t._values, t.unbind()
    order = sorted(range(values.ndim), key=lambda d: -values.stride(d))
    flat = values.permute(order)
    if not flat.is_contiguous():
        return joined(samples)
    first = values.storage_offset()
    windows = [(tuple(x.shape), tuple(x.stride()), x.storage_offset() - first if x.numel() else 0) for x in samples]
    return NestedSamples(flat.view(-1), tuple(windows), t.ndim)


class MakingSamples(NamedTuple):
    """Rebuild function of a nested tensor: windows of samples, and number of dims."""

    windows: tuple
    dims: int

    def __call__(self, values):
        return NestedSamples(values, self.windows, self.dims)


def samples_again(values, sizes, dims) -> NestedSamples:
    """Return a nested tensor from a file or pickle, checked."""
    sizes = [tuple(s) for s in sizes]
    if any(len(s) != dims - 1 or any(type(n) is not int or n < 0 for n in s) for s in sizes) or values.ndim != 1 or \
            sum(map(math.prod, sizes)) != values.shape[0]:
        raise ArgumentError(f"a nested tensor of {dims} dims whose samples have sizes {[*map(list, sizes)]} is not made of "
                            f"{values.aval}")
    return NestedSamples(values, in_rows(sizes), dims)


PARTS[NestedSamples] = NestedSamples.parts
subclasses.ask_class(NestedSamples)
