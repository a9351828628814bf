"""Fake quantisation: values rounded to few integer steps, for quantisation-aware training."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.quantized.quantization_ranges import AFFINE, FITTED, fake_quantize, followed_range, range_steps
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor, shape_of
from ...state.mode import tls
from ..register.register import FUNCTIONS, api
from ..register.type_promotion import to_dtype, wide_on_cpus
from ..views.reshaping import reshape
from ..views.tensor_factories import filled

EPS = 2.0 ** -23        # the default smallest step


def _limits(low, high, name):
    if not low <= high:
        raise ArgumentError(f"{name}: quant_min is at most quant_max, got {low} and {high}")
    return {"low": low, "high": high}


def _steps(input, scale, zero_point, limits, name, whole=True):
    """Apply `fake_quantize` with a scale (as float32) and a zero point that broadcast over the input."""
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name} takes floating point numbers, got {input.aval}; cast with .to()")
    if zero_point.dtype not in (dt.int32, dt.float32, dt.float16, dt.bfloat16):
        raise DTypeError(f"{name}: a zero_point is a tensor of int32, float32 or float16, got {zero_point.aval}; cast it")
    scale = to_dtype(scale, dt.float32)
    wide = dt.accumulator(input.dtype)
    x, inverse, scale, zero = [to_dtype(t, wide) for t in (input, 1.0 / scale, scale, zero_point)]
    return to_dtype(fake_quantize(x, inverse, scale, zero, **limits, whole=whole), input.dtype)


@api(method=False, checked=True)
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """Return (step - zero_point) * scale for the nearest step from quant_min to quant_max.

    The step is input / scale + zero_point, rounded. The gradient is that of the input between the limits, and zero beyond.
    `scale` and `zero_point` are numbers, or tensors of one element (the zero point counts as int32).
    """
    name = "fake_quantize_per_tensor_affine"
    limits = _limits(quant_min, quant_max, name)
    if not isinstance(zero_point, Tensor):
        if not quant_min <= zero_point <= quant_max:
            raise ArgumentError(f"{name}: zero_point is between quant_min and quant_max, got {zero_point}")
        zero_point = filled(input, (), zero_point, dt.int32)
    if not isinstance(scale, Tensor):
        input = wide_on_cpus(input)
        scale = filled(input, (), scale, dt.float32)
    if scale.numel() != 1 or zero_point.numel() != 1:
        raise ShapeError(f"{name} takes one scale and one zero_point, got {scale.aval} and {zero_point.aval}; see "
                         "fake_quantize_per_channel_affine")
    ones = (1,) * input.ndim
    zero_point = to_dtype(zero_point, dt.int32)
    return _steps(input, reshape(scale, shape=ones), reshape(zero_point, shape=ones), limits, name)


@api(method=False, checked=True)
def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """Apply fake quantisation with a scale and zero point for each index along `axis`. Zero points are int32, or floats, which
    may lie between two steps."""
    name = "fake_quantize_per_channel_affine"
    limits = _limits(quant_min, quant_max, name)
    axis = canonical_dim(axis, input.ndim)
    channels = (shape_of(input)[axis],)
    if scale.shape != channels or zero_point.shape != channels:
        raise ShapeError(f"{name} of {input.aval} along {axis} takes a scale and a zero_point of shape {list(channels)}, got "
                         f"{scale.aval} and {zero_point.aval}")
    over = [channels[0] if i == axis else 1 for i in range(input.ndim)]
    whole = not zero_point.dtype.is_floating_point
    return _steps(input, reshape(scale, shape=over), reshape(zero_point, shape=over), limits, name, whole)


# Observed ranges and their steps in training; `quantization/` builds on these.


def known(flag):
    """Return whether a switch (a tensor of one element) is on, if that costs nothing, else None. It is None while a graph is
    recorded that must serve both cases (not for a file), and on devices that the host would wait for."""
    recorder = tls.m.recorder
    return None if flag.device.type != "cpu" or (recorder is not None and not recorder.fixes_weights) else bool(flag.item())


def put_where(flag, on, *pairs):
    """Write (tensor, new value) pairs if the switch is on; `on` is its known state."""
    chosen = None if on else reshape(flag != 0, shape=())
    for tensor, made in pairs:
        tensor.copy_(made if chosen is None else FUNCTIONS["where"](chosen, made.to(tensor.dtype), tensor))


def ends_of(x, axis=None):
    """Return the smallest and largest number of a tensor, or for each index along an axis."""
    if axis is None:
        return FUNCTIONS["amin"](x), FUNCTIONS["amax"](x)
    dims = [d for d in range(x.ndim) if d != axis % x.ndim]
    return (FUNCTIONS["amin"](x, dims), FUNCTIONS["amax"](x, dims)) if dims else (x, x)


def followed(new_ends, averages, share):
    """Return the moving averages of range ends after new ends were found."""
    return followed_range(*[to_dtype(v, dt.float32) for v in (*averages, *new_ends)], share=float(share))


def steps_between(low, high, least, most, kind, *, eps=EPS, middle=0):
    """Return (scale, zero point) of steps from `least` to `most` over ranges; `kind` as in `range_steps`."""
    return range_steps(to_dtype(low, dt.float32), to_dtype(high, dt.float32), least=least, most=most, kind=kind, eps=eps,
                       middle=middle)


@api(method=False, checked=True)
def fused_moving_avg_obs_fake_quant(input, observer_on, fake_quant_on, running_min, running_max, scale, zero_point,
                                    averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant=False,
                                    symmetric_quant=False):
    """Run the quantisation step of a training step, in place.

    If `observer_on`, the running range moves towards that of the input by a share, and scale and zero point follow. If
    `fake_quant_on`, return the input as its nearest steps. With `per_row_fake_quant` each index along `ch_axis` has its own
    range.
    """
    _limits(quant_min, quant_max, "fused_moving_avg_obs_fake_quant")
    observing, rounding = known(observer_on), known(fake_quant_on)
    if observing is not False and input.numel():
        with no_grad():
            if per_row_fake_quant:
                _make_rows(running_min, running_max, scale, zero_point, input.shape[ch_axis])
            ends = [e.reshape(running_min.shape) for e in ends_of(input.detach(), ch_axis if per_row_fake_quant else None)]
            made = followed((running_min, running_max), ends, averaging_const)
            put_where(observer_on, observing, (running_min, made[0]), (running_max, made[1]))
    if rounding is False:
        return input
    with no_grad():
        made = steps_between(running_min, running_max, quant_min, quant_max, FITTED if symmetric_quant else AFFINE,
                             middle=round((quant_min + quant_max) / 2))
        put_where(fake_quant_on, rounding, (scale, made[0]), (zero_point, made[1]))
    steps = (scale, zero_point) + ((ch_axis,) if per_row_fake_quant else ())
    call = fake_quantize_per_channel_affine if per_row_fake_quant else fake_quantize_per_tensor_affine
    made = call(input, *steps, quant_min, quant_max)
    return made if rounding else FUNCTIONS["where"](fake_quant_on != 0, made, input)


def _make_rows(running_min, running_max, scale, zero_point, rows):
    """Give tensors without rows one row each."""
    if running_min.shape != (rows,):
        for t, number in ((running_min, float("inf")), (running_max, -float("inf")), (scale, 1), (zero_point, 0)):
            t.resize_(rows).fill_(number)
