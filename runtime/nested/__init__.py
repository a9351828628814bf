"""`ingot.nested`: batches of samples of different lengths, without padding.

    nt = nested.nested_tensor([a, b], layout=ingot.jagged)        # a (2, 8), b (5, 8): shape (2, j1, 8)
    nested.nested_tensor_from_jagged(values, offsets)             # the same from values (7, 8) and offsets [0, 2, 7]

If one dim is ragged, the first of the samples, operators work on the joined values; attention runs sample by sample. Samples
of the layout strided (the default) may differ in every dim; functions run sample by sample. Gradients reach the values. Traced
functions receive the parts of nested tensors.
"""

from typing import Any

from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ..api.register import layouts
from ..api.register.register import FUNCTIONS
from ..core.placement import pinned
from ..core.tensor import Tensor
from . import jagged_functions, strided_nested_functions  # noqa: F401  (their handlers)
from .jagged import NestedTensor, Ragged, as_offsets, check_offsets
from .strided_nested import joined

__all__ = ["NestedTensor", "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
           "to_padded_tensor"]


def _layout(layout) -> Any:
    if layout not in (None, layouts.strided, "jagged"):
        raise ArgumentError(f"nested tensors have the layout strided or jagged, not {layout!r}")
    return layouts.strided if layout is None else layout


def _joined(samples, layout):
    """Return samples joined to a nested tensor."""
    layout = _layout(layout)
    if layout == "strided":
        samples = [x.to(samples[0].dtype) for x in samples]
    if samples and _differ_in_length(samples):
        lengths = [x.shape[0] for x in samples]
        return NestedTensor(FUNCTIONS["cat"](list(samples)), Ragged(as_offsets(lengths, samples[0].device)), layout=layout)
    if layout == "jagged":
        raise ShapeError(f"samples of a nested tensor of the layout jagged are of one dtype and differ in their first dim "
                         f"alone, got {', '.join([str(x.aval) for x in samples]) or 'none'}")
    return joined(samples)


def _differ_in_length(samples) -> bool:
    """Return whether samples differ in their first dim alone."""
    first = samples[0]
    return all(x.ndim and x.shape[1:] == first.shape[1:] and x.dtype is first.dtype for x in samples)


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False) -> NestedTensor:
    """Return a nested tensor of copies of samples, without their history."""
    if isinstance(tensor_list, Tensor) and not isinstance(tensor_list, NestedTensor):
        tensor_list = tensor_list.unbind(0)
    samples = [(x.detach() if isinstance(x, Tensor) else FUNCTIONS["tensor"](x)).to(device=device, dtype=dtype)
               for x in tensor_list]
    made = _joined(samples, layout)
    made = made.like(pinned(made.values())) if pin_memory else made
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts, dtype=None, device=None, layout=None) -> NestedTensor:
    """Return a nested tensor of samples (a list, or the rows of a tensor), to which gradients flow."""
    if isinstance(ts, NestedTensor):
        return ts.like(ts.values().to(device=device, dtype=dtype))
    return _joined([x.to(device=device, dtype=dtype) for x in ts], layout)


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None,
                              max_seqlen=None) -> NestedTensor:
    """Return a nested tensor over values with joined samples. Sample i begins at offsets[i] and ends at the next offset, or
    after lengths[i] rows. Gaps between samples are dropped. Padding extends to `max_seqlen`, if given. `min_seqlen` is ignored:
    no kernel depends on the shortest sample."""
    at = 1 if jagged_dim is None else jagged_dim
    if offsets is None and lengths is None:
        raise ArgumentError("nested_tensor_from_jagged takes offsets, lengths, or both")
    if offsets is None:
        offsets = as_offsets(lengths)
    elif lengths is not None:
        ragged = _ragged(as_offsets(lengths), max_seqlen)
        rows = offsets[:ragged.count][ragged.samples] + ragged.positions
        return NestedTensor(values.index_select(at - 1, rows), ragged, at, FUNCTIONS["jagged"])
    check_offsets(values, offsets, at)
    return NestedTensor(values, _ragged(offsets, max_seqlen), at, FUNCTIONS["jagged"])


def _ragged(offsets, longest) -> Ragged:
    """Return the structure of samples; the longest one may be declared longer than it is."""
    found = Ragged(offsets)
    if longest is not None and longest < found.longest:
        raise ArgumentError(f"nested_tensor_from_jagged: max_seqlen is {longest}, and a sample has {found.longest} rows")
    return found if longest is None else Ragged(offsets, int(longest))


def to_padded_tensor(input, padding, output_size=None) -> Tensor:
    """Return one tensor of all samples, padded to the longest one, or to `output_size`."""
    if not isinstance(input, NestedTensor):
        raise DTypeError("to_padded_tensor takes a nested tensor")
    return input.to_padded_tensor(padding, output_size)


def narrow(tensor, dim, start, length, layout=None) -> NestedTensor:
    """Return the rows start[i] to start[i] + length[i] of each sample of a tensor (ints apply to all samples)."""
    if dim != 1:
        raise ArgumentError(f"nested.narrow goes along dim 1, got {dim}")
    count = tensor.shape[0]
    start, length = [FUNCTIONS["as_tensor"](x, device=tensor.device).expand(count) for x in (start, length)]
    if bool((start < 0).any() or (length < 0).any() or (start + length > tensor.shape[1]).any()):
        raise ShapeError(f"nested.narrow: start {start.tolist()} and length {length.tolist()} leave the {tensor.shape[1]} rows")
    ragged = Ragged(as_offsets(length))
    rows = ragged.samples * tensor.shape[1] + start[ragged.samples] + ragged.positions
    return NestedTensor(tensor.flatten(0, 1).index_select(0, rows), ragged, layout=_layout(layout))


def masked_select(tensor, mask) -> NestedTensor:
    """Return the rows of each sample that a mask selects; the mask broadcasts to (samples, rows)."""
    if mask.ndim > 2:
        raise ShapeError(f"nested.masked_select takes a mask of at most two dims, got shape {list(mask.shape)}")
    mask = mask.expand(tensor.shape[:2])
    return NestedTensor(tensor[mask], Ragged(as_offsets(mask.sum(1))), layout=FUNCTIONS["jagged"])
