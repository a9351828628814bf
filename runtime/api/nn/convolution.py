"""Convolutions and transposed convolutions."""

import functools

from ....ir.dtype import fitted
from ....ir.errors import ArgumentError, DTypeError, ShapeError, kind_of
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import pad, permute, reshape
from ....ir.ops.nn import conv as ops
from ....ir.symbols.substitute import as_int
from ...core.tensor import Tensor, shape_of
from ..register.register import api
from .spatial_arguments import as_batch, per_dim, positive, symmetric, unbatch


def _padding_pairs(padding, rank, kernel, stride, dilation, name):
    """Return (low, high) for each dim from numbers, "valid" or "same"."""
    if not isinstance(padding, str):
        given = per_dim(padding, rank, name, "padding")
        if min(given) < 0:
            raise ArgumentError(f"{name}: negative padding is not supported, got {padding}")
        return symmetric(given)
    if padding == "valid":
        return ((0, 0),) * rank
    if padding != "same":
        raise ArgumentError(f"{name}: padding must be numbers, 'valid' or 'same', got {padding!r}")
    if any(s != 1 for s in stride):
        raise ArgumentError(f"{name}: padding='same' needs stride 1, got {stride}")
    totals = [d * (k - 1) for d, k in zip(dilation, kernel)]
    return tuple((t // 2, t - t // 2) for t in totals)


def _check_kernel(weight, rank, name):
    if not isinstance(weight, Tensor) or weight.ndim != rank + 2:
        got = weight.aval if isinstance(weight, Tensor) else kind_of(weight)
        raise ShapeError(f"{name} takes a weight of {rank + 2} dimensions, got {got}")


def _convolve(rank, input, weight, bias, stride, padding, dilation, groups):
    name = _NAMES[rank]
    _check_kernel(weight, rank, name)
    x, added = as_batch(input, rank, name)
    if (stride.__class__ is padding.__class__ is dilation.__class__ is tuple
            and {*map(type, stride), *map(type, padding), *map(type, dilation)} == _INTS):
        stride, pairs, dilation = _known_window(rank, stride, padding, dilation)
    else:
        stride, pairs, dilation = _window(rank, stride, padding, dilation, weight)
    if groups.__class__ is not int:
        groups, = per_dim(groups, 1, name, "groups")
    try:
        out = ops.conv(x, weight, bias, stride=stride, padding=pairs, dilation=dilation, groups=groups)
    except (ShapeError, DTypeError) as error:
        raise _refusal(error, "conv", name, input, x, weight, shape_of(weight)[1] * groups, groups) from None
    return unbatch(out, added) if added else out


def _refusal(error, operator, name, input, x, weight, channels, groups):
    """Return the error of an operator in the words of the function that was called, with the input as it was passed."""
    got = shape_of(x)[1]
    if isinstance(error, DTypeError) or got == channels:
        return type(error)(str(error).replace(operator, name, 1).replace(str(x.aval), str(input.aval), 1))
    kernel = f"weight {weight.aval} with groups={groups}" if groups != 1 else f"weight {weight.aval}"
    hint = ""
    if input.ndim == x.ndim and shape_of(x)[-1] == channels:
        order = 0, x.ndim - 1, *range(1, x.ndim - 1)
        hint = f". Its channels are last; {name} takes them second, as permute{order} puts them"
    elif input.ndim < x.ndim:
        hint = f". It has no batch: an input of {input.ndim} dimensions is [C, {', '.join('DHW'[5 - x.ndim:])}]"
    return ShapeError(f"{name} takes an input of {channels} channels ({kernel}), got {input.aval} with {got}{hint}")


def _window(rank, stride, padding, dilation, weight=None):
    """Return (stride, padding in pairs, dilation), each for every dim."""
    name = _NAMES[rank]
    stride = positive(per_dim(stride, rank, name, "stride"), name, "stride")
    dilation = positive(per_dim(dilation, rank, name, "dilation"), name, "dilation")
    kernel = () if weight is None else shape_of(weight)[2:]
    return stride, _padding_pairs(padding, rank, kernel, stride, dilation, name), dilation


_known_window = functools.lru_cache(512)(_window)      # keyed by tuples of ints, as modules hold them
_NAMES = {rank: f"conv{rank}d" for rank in (1, 2, 3)}
_INTS = {int}


@api(method=False, memoised=True)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolve over as many spatial dims as the weight has, or transposed."""
    if not isinstance(weight, Tensor) or not 3 <= weight.ndim <= 5:
        got = weight.aval if isinstance(weight, Tensor) else kind_of(weight)
        raise ShapeError(f"convolution takes a weight of 3, 4 or 5 dimensions, got {got}")
    if transposed:
        return _transpose(weight.ndim - 2, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolve(weight.ndim - 2, input, weight, bias, stride, padding, dilation, groups)


@api(method=False, memoised=True)
def conv_tbc(input, weight, bias, pad=0):
    """Convolve over the first dim of (time, batch, channels); weight (kernel, in, out)."""
    if input.ndim != 3 or weight.ndim != 3:
        raise ShapeError(f"conv_tbc takes an input (time, batch, channels) and a weight [kernel, in, out], got {input.aval} "
                         f"and {weight.aval}")
    out = _convolve(1, permute(input, dims=(1, 2, 0)), permute(weight, dims=(2, 1, 0)), bias, 1, pad, 1, 1)
    return permute(out, dims=(2, 0, 1))


def _transposed_sizes(x, kernel, stride, padding, output_padding, dilation, name):
    for s, d, extra in zip(stride, dilation, output_padding):
        if not 0 <= extra < max(s, d):
            raise ArgumentError(f"{name}: output_padding must be smaller than stride or dilation, got {output_padding} for "
                                f"stride {stride} and dilation {dilation}")
    sizes = tuple((n - 1) * s - 2 * p + d * (k - 1) + extra + 1
                  for n, s, p, d, k, extra in zip(shape_of(x)[2:], stride, padding, dilation, kernel, output_padding))
    if any(n < 1 for n in sizes):
        raise ShapeError(f"{name} of {x.aval} with kernel {kernel}, stride {stride} and padding {padding} would have the "
                         f"spatial size {sizes}")
    return sizes


def _transpose(rank, input, weight, bias, stride, padding, output_padding, groups, dilation):
    """Return the input gradient of a convolution with this weight (in, out / groups, *kernel), for `input` as output
    gradient."""
    name = f"conv_transpose{rank}d"
    _check_kernel(weight, rank, name)
    x, added = as_batch(input, rank, name)
    stride = positive(per_dim(stride, rank, name, "stride"), name, "stride")
    dilation = positive(per_dim(dilation, rank, name, "dilation"), name, "dilation")
    padding = per_dim(padding, rank, name, "padding")
    output_padding = per_dim(output_padding, rank, name, "output_padding")
    groups, = per_dim(groups, 1, name, "groups")
    size = _transposed_sizes(x, shape_of(weight)[2:], stride, padding, output_padding, dilation, name)
    pairs = tuple((p, p if extra < s else p - extra) for p, extra, s in zip(padding, output_padding, stride))
    try:
        out = ops.conv_input_grad(x, weight, size=size, stride=stride, padding=pairs, dilation=dilation, groups=groups)
    except (ShapeError, DTypeError) as error:
        raise _refusal(error, "conv_transpose", name, input, x, weight, shape_of(weight)[0], groups) from None
    if bias is not None:
        if bias.shape != out.shape[1:2]:
            raise ShapeError(f"{name}: bias {bias.aval} must have one element for each of the {out.shape[1]} output channels")
        bias = bias if bias.dtype is out.dtype else ew.cast(bias, dtype=out.dtype)     # as autocast did with the other operands
        out = ew.add(out, reshape(bias, shape=(1, *bias.shape) + (1,) * rank))
    return unbatch(out, added)


def _publish(rank, dims, kernel) -> tuple:
    """Publish and return the convolution over `rank` spatial dims, and the transposed one."""

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _convolve(rank, input, weight, bias, stride, padding, dilation, groups)

    def conv_transpose(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _transpose(rank, input, weight, bias, stride, padding, output_padding, groups, dilation)

    conv.__doc__ = f"Convolve over {dims}; weight (out, in / groups, {kernel})."
    conv_transpose.__doc__ = f"Apply a transposed convolution over {dims}; weight (in, out / groups, {kernel})."
    return tuple([api(method=False, memoised=True, name=f"{fn.__name__}{rank}d")(fn) for fn in (conv, conv_transpose)])


conv1d, conv_transpose1d = _publish(1, "one spatial dim", "kernel")
conv2d, conv_transpose2d = _publish(2, "two spatial dims", "*kernel")
conv3d, conv_transpose3d = _publish(3, "three spatial dims", "*kernel")


@api(method=False, memoised=True)
def constant_pad_nd(input, pad, value=0):
    """Pad the last dims by `value`; `pad` is (low, high) of the last dim, then of the one before, and so on."""
    return pad_constant(input, pad, value, "constant_pad_nd")


def edges(input, amounts, name: str):
    """Return low and high padding of every dim from the flat list, last dim first."""
    given = [as_int(a) for a in amounts]
    if len(given) % 2 or len(given) > 2 * input.ndim:
        raise ArgumentError(f"{name} of {input.aval}: pad must be (low, high) pairs for at most {input.ndim} dimensions, "
                            f"got {tuple(amounts)}")
    rest = (0,) * (input.ndim - len(given) // 2)
    return rest + tuple(given[-2::-2]), rest + tuple(given[-1::-2])


def pad_constant(input, amounts, value, name):
    """Pad a tensor by `amounts` of a value (the last dim first); negative amounts cut."""
    value = value.item() if isinstance(value, Tensor) else value
    low, high = edges(input, amounts, name)
    sizes = [n + lo + hi for n, lo, hi in zip(input.shape, low, high)]
    if any(n < 0 for n in sizes):
        raise ShapeError(f"{name} of {input.aval} by {tuple(amounts)} leaves a negative size: {list(sizes)}")
    return pad(input, low=low, high=high, interior=(0,) * input.ndim, value=fitted(value, input.dtype, name))
