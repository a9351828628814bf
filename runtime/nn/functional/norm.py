"""Normalisation over batch, instances, rows and groups."""

from math import prod

from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import reshape
from ....ir.ops.nn import norm as batch_ops
from ....ir.ops.nn import similarity
from ....ir.ops.nn.pool import avg_pool
from ....ir.symbols.substitute import as_float
from ...api.math.reductions import dims_of
from ...api.nn import normalization as api
from ...api.nn.normalization import floating, in_one_dtype
from ...api.register.register import deliver, memoised
from ...api.register.type_promotion import to_dtype, wide_on_cpus
from ...autograd.grad_mode import no_grad
from ...core.inplace import overwrite, overwrite_each
from ...core.tensor import Tensor, numel_of, shape_of
from ...core.writes import write


def _update_running(running_mean, running_var, mean, var, momentum, name, count, counter=None):
    """Blend statistics in place by a (0-d tensor) momentum; variances of `count` become unbiased, a `counter` grows by one.
    What takes memory comes before the first write, and the counter last."""
    rows: list[tuple] = []
    by_tensor = []
    unbias = count / (count - 1) if count > 1 else 1.0
    for running, batch_value, factor in ((running_mean, mean, 1.0), (running_var, var, unbias)):
        if running is not None:
            if batch_value.dtype is not running.dtype:
                with no_grad():
                    batch_value = to_dtype(batch_value.detach(), running.dtype)
            if momentum.__class__ is float:
                rows.append((running, ew.blend, (batch_value, 1.0 - momentum, momentum * factor)))
            else:
                if by_tensor and by_tensor[0][0]._storage is running._storage:      # the second sees what the first wrote
                    earlier, value = by_tensor.pop()
                    write(earlier, value, name)
                by_tensor.append(_blended(running, batch_value, momentum, factor))
    for t, value in by_tensor:
        write(t, value, name)
    if counter is not None:
        rows.append((counter, ew.add, (1,)))
    for t, op, arguments in overwrite_each(rows, name):
        if op is ew.add:
            t.add_(1)
        else:
            batch_value, keep, take = arguments
            _blend(t, batch_value, keep, take, name)


def _blend(running, batch_value, keep, take, name):
    """Set running = keep * running + take * batch_value, in place."""
    with no_grad():
        batch_value = batch_value.detach()
        if not overwrite(ew.blend, running, name, batch_value, keep, take):
            write(running, ew.blend(running, batch_value, keep, take), name)


def _blended(running, batch_value, momentum, factor) -> tuple:
    """Return (statistics, their next value) for a momentum that is a tensor or an integer."""
    with no_grad():
        batch_value = batch_value.detach()
        if not isinstance(momentum, Tensor):
            momentum = as_float(momentum)
            return running, ew.blend(running, batch_value, 1.0 - momentum, momentum * factor)
        keep, take = [to_dtype(share, running.dtype) for share in (1.0 - momentum, ew.mul(momentum, factor))]
        return running, ew.add(ew.mul(running, keep), ew.mul(batch_value, take))


def _check_statistics(name, x, channels, **statistics):
    for what, v in statistics.items():
        if v is not None and shape_of(v) != (channels,):
            raise ShapeError(f"{name}: {what} must have one element for each of the {channels} channels of "
                             f"{x.aval}, got {v.aval}")


def _is_plain(x, *others):
    """Return whether no conversion or error message is needed: arrays of one wide dtype, and one number per channel."""
    if not isinstance(x, Tensor):
        return False
    a = x._a
    kind = a.dtype
    if kind.char not in "fd" or a.ndim < 2 or not a.size or others[0] is None or others[1] is None:
        return False
    channels = a.shape[1:2]
    return all([v is None or (v._a.dtype is kind and v._a.shape == channels) for v in others])  # noqa: C419  (quicker)


def _empty_result(x, weight, bias):
    """Return an empty result with the history of all operands, which get zero gradients."""
    out, *others = in_one_dtype(x, weight, bias)
    for v in others:
        if v is not None:
            out = out + v.sum()
    return ew.copy(out) if out is x else to_dtype(out, x.dtype)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Normalise each channel: by the batch's statistics in training, which update the running ones in place, else by the
    running ones."""
    return counted_batch_norm(None, input, running_mean, running_var, weight, bias, training, momentum, eps)


def counted_batch_norm(counter, input, running_mean, running_var, weight, bias, training, momentum, eps):
    """Apply `batch_norm` and add one to a counter of batches, if there is one. Without a momentum, running statistics are the
    mean over the counted batches. The result comes first: where it fails, statistics stay."""
    if eps <= 0 and (training or eps < 0):
        raise ArgumentError(f"batch_norm needs eps > 0 in training, and eps >= 0 otherwise, got {eps}")
    if not training and _is_plain(input, running_mean, running_var, weight, bias):
        return batch_ops.batch_norm(input, weight, bias, running_mean, running_var, eps=as_float(eps))
    x = floating(input, "batch_norm")
    if numel_of(x) == 0:
        out = _empty_result(x, weight, bias)
        if counter is not None:
            counter.add_(1)
        return out
    if x.ndim < 2:
        raise ShapeError(f"batch_norm takes [N, C, ...], got {x.aval}")
    channels = shape_of(x)[1]
    _check_statistics("batch_norm", x, channels, running_mean=running_mean, running_var=running_var)
    if not training:
        if running_mean is None or running_var is None:
            raise ArgumentError("batch_norm needs running_mean and running_var when training is False")
        work, *rest = in_one_dtype(x, weight, bias, running_mean, running_var, low_input=True)
        out = batch_ops.batch_norm(work, *rest, eps=as_float(eps))
        return out if work is x else to_dtype(out, x.dtype)
    count = prod(x.shape) // max(1, channels)
    if count == 1:
        raise ArgumentError(f"batch_norm in training needs more than 1 value for each channel, got {x.aval}; use a larger "
                            "batch, or eval() for a network that is not trained")
    out, mean, var = batch_ops.batch_norm_train(*in_one_dtype(x, weight, bias, low_input=True), eps=as_float(eps))
    out = to_dtype(out, x.dtype)
    if running_mean is not None or running_var is not None or counter is not None:
        if momentum is None and counter is not None:
            momentum = 1.0 / (counter + 1).double()
        _update_running(running_mean, running_var, mean, var, momentum, "batch_norm", count, counter)
    return out


def _per_image(v, images):
    return None if v is None else reshape(v.expand(images, v.shape[0]), shape=(images * v.shape[0],))


def _mean_over_images(v, images):
    return reshape(v, shape=(images, v.shape[0] // images)).mean(0)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-05):
    """Normalise each channel of each image, by its own or the running statistics."""
    x = floating(input, "instance_norm")
    if x.ndim < 3:
        raise ShapeError(f"instance_norm takes [N, C, *spatial], got {x.aval}")
    images, channels, *sizes = x.shape
    _check_statistics("instance_norm", x, channels, running_mean=running_mean, running_var=running_var)
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    if prod(sizes) == 1:
        raise ArgumentError(f"instance_norm in training needs more than 1 spatial element, got {x.aval}")
    if not channels:
        return x.clone()
    if running_mean is None and running_var is None:
        return api.group_norm(x, channels, weight, bias, eps)
    work, w, b = in_one_dtype(x, weight, bias)
    joined = reshape(work, shape=(1, images * channels, *sizes))
    out, mean, var = batch_ops.batch_norm_train(joined, _per_image(w, images), _per_image(b, images), eps=as_float(eps))
    out = to_dtype(reshape(out, shape=tuple(x.shape)), x.dtype)
    if running_mean is not None or running_var is not None:
        mean, var = _mean_over_images(mean, images), _mean_over_images(var, images)
        _update_running(running_mean, running_var, mean, var, momentum, "instance_norm", prod(sizes))
    return out


@memoised
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Normalise each group of channels of each image; weight and bias are per channel."""
    if numel_of(input) == num_groups and input.ndim > 1 and input.shape[1] == num_groups:
        raise ArgumentError(f"group_norm of one image needs more than 1 value in each of {num_groups} groups, got {input.aval}")
    return api.group_norm(input, num_groups, weight, bias, eps)


@memoised
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divide each element by (k + alpha * mean square of `size` neighbouring channels) ** beta."""
    if input.ndim < 3:
        raise ShapeError(f"local_response_norm takes [N, C, *spatial], got {input.aval}")
    if input.numel() == 0:
        return input
    lines = (input * input).reshape(input.shape[0], 1, input.shape[1], prod(input.shape[2:]))
    lines = wide_on_cpus(lines) if input.ndim > 3 else lines
    around = ((size // 2, (size - 1) // 2), (0, 0))
    mean = avg_pool(lines, kernel=(int(size), 1), stride=(1, 1), padding=around, counted=around, divisor=None)
    return input / (mean.reshape(input.shape) * alpha + k) ** beta


@memoised
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divide the input by its p-norm along `dim`, at least eps."""
    if input.dtype.is_complex or isinstance(p, str):
        return deliver(input / input.norm(p, dim, True).clamp_min(eps), out, "normalize")
    result = similarity.normalize(input, ord=as_float(p), dim=dims_of(input, dim), eps=as_float(eps))
    return deliver(result, out, "normalize")
