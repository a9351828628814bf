"""Handlers of stored weights: products, lookups, moves between devices and dtypes, copies."""

from ...ir import dtype as dt
from ...ir.errors import DTypeError, ShapeError, kind_of
from ...ir.ops.nn.embedding import embedding as lookup
from ...ir.ops.quantized.stored_weights import linear_stored
from ..amp.autocast_mode import get_autocast_dtype, is_autocast_enabled
from ..api.register.register import FUNCTIONS, deliver
from ..core.composite_tensors import marks_of
from ..core.tensor import Tensor
from .stored_weight import DTYPES, HANDLERS, StoredWeight, store, stored

handles = marks_of(HANDLERS)


@handles("linear")
def _linear(fn, input, weight, bias=None, *, out=None):
    """Multiply with a stored weight, in float32. Under autocast operands have any float dtype, and the result has its dtype."""
    if not isinstance(weight, StoredWeight) or isinstance(input, StoredWeight) or isinstance(bias, StoredWeight):
        raise DTypeError("linear takes a stored weight, an input and a bias that are plain tensors")
    low = is_autocast_enabled(input.device.type) and input.dtype.is_floating_point
    if not low and (input.dtype is not weight.dtype or (bias is not None and bias.dtype is not weight.dtype)):
        raise DTypeError(f"linear takes an input and a bias of the weight's dtype {weight.dtype.name}, got {input.aval}"
                         + ("" if bias is None else f" and {bias.aval}"))
    if weight.ndim != 2:
        raise ShapeError(f"linear takes a stored weight of two dims, got {weight.aval}")
    bias = None if bias is None else bias.to(dt.float32)
    wide = linear_stored(input.to(dt.float32), weight.rows, bias, format=weight.format, numbers=weight.numbers)
    return deliver(wide.to(get_autocast_dtype(input.device.type) if low else weight.dtype), out, "linear")


@handles("embedding")
def _embedding(fn, input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Look rows up and unpack only them. `padding_idx`, `scale_grad_by_freq` and `sparse` are ignored, as they shape gradients
    and there are none; `norm_type` belongs to `max_norm`."""
    if max_norm is not None:
        raise DTypeError("embedding with max_norm writes the table, and a stored weight has no numbers to write")
    if isinstance(input, StoredWeight):         # `ingot.embedding` takes the table first
        input, weight = weight, input
    if not isinstance(weight, StoredWeight) or weight.ndim != 2 or isinstance(input, StoredWeight):
        raise ShapeError("embedding takes a stored weight of two dims, and a plain tensor of indices")
    rows = lookup(weight.rows, input, padding_idx=None, by_frequency=False)
    return weight.like(rows).dequantize()


def _empty_like(weight):
    return FUNCTIONS["empty"](0, dtype=weight.dtype, device=weight.device)


@handles("to", "cpu", "cuda", "float", "half", "bfloat16", "double", "type", "type_as")
def _to(fn, input, *args, **kwargs):
    """Move the bytes to a device, or change the dtype that the numbers have to others; the blocks stay."""
    if not isinstance(input, StoredWeight):
        raise DTypeError(f"{fn.__name__} does not take a stored weight as its second argument")
    probe = fn(_empty_like(input), *[_empty_like(x) if isinstance(x, StoredWeight) else x for x in args], **kwargs)
    if probe.dtype not in DTYPES:
        raise DTypeError(f"a stored weight has the dtype float32, float16 or bfloat16, not {probe.dtype.name}")
    if probe.device == input.device and probe.dtype is input.dtype and not kwargs.get("copy"):
        return input
    rows = input.rows.to(probe.device, copy=bool(kwargs.get("copy")))
    return stored(rows, input.format, input.numbers, probe.dtype)


@handles("detach", "clone", "contiguous", "alias", "pin_memory", "share_memory_")
def _of_bytes(fn, input, *args, **kwargs):
    return input.like(fn(input.rows, *args, **kwargs))


@handles("is_floating_point")
def _is_floating_point(fn, input):
    return True


@handles("is_complex", "is_contiguous", "is_shared", "is_pinned", "data_ptr", "get_device")
def _asked_of_bytes(fn, input, *args, **kwargs):
    return fn(input.rows, *args, **kwargs)


@handles("__getitem__", "getitem", "select", "narrow", "index_select")
def _rows(fn, input, *args):
    """Take rows along the first dims; blocks are not cut."""
    in_rows = fn.__name__ in ("select", "narrow", "index_select") and args[0] % input.ndim == input.ndim - 1
    if in_rows or isinstance(args[-1], tuple):
        raise DTypeError("a stored weight gives entries along the first dim; call dequantize() for parts of rows")
    if input.ndim < 2:
        raise DTypeError("a stored weight of one dim gives no single numbers; call dequantize()")
    return input.like(fn(input.rows, *args))


@handles("copy_")
def _copy(fn, input, other, non_blocking=False):
    """Copy a stored weight of the same format, or store a float tensor. `non_blocking` is ignored: both are on one device."""
    if not isinstance(input, StoredWeight):
        raise DTypeError("copy_ writes no stored weight into a plain tensor; copy other.dequantize()")
    if not isinstance(other, Tensor) or tuple(other.shape) != tuple(input.shape):
        raise ShapeError(f"copy_ takes a tensor of the shape {list(input.shape)}, got "
                         + (f"{list(other.shape)}" if isinstance(other, Tensor) else kind_of(other)))
    if isinstance(other, StoredWeight) and other.format != input.format:
        other = other.dequantize()
    rows = other.rows if isinstance(other, StoredWeight) else store(other, input.format).rows
    input.rows.copy_(rows)
    return input


@handles("equal")
def _equal(fn, input, other):
    """Return whether both have one format and the same bytes."""
    both = isinstance(input, StoredWeight) and isinstance(other, StoredWeight)
    return both and input.format == other.format and input.shape == other.shape and fn(input.rows, other.rows)
