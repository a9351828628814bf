"""Loss functions."""

import math
from functools import partial, wraps

import numpy as np

from ....ir import dtype as dt
from ....ir.dtype import cast_hint
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import moments as mo
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.complex_numbers import magnitude
from ....ir.ops.core.shape import reshape
from ....ir.ops.linalg import products
from ....ir.ops.nn import activations as ops_nn
from ....ir.ops.nn import ctc, softmax
from ....ir.ops.nn import loss as ops
from ....ir.ops.nn.loss import cross_entropy_of_logit, cross_entropy_of_probability, huber, squared_gap
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import as_float
from ...api.math.reductions import holds_anywhere, refuse_unless
from ...api.nn import activations as core
from ...api.nn.distances import pairwise_distance
from ...api.register.register import FUNCTIONS, checked, memoised
from ...api.register.type_promotion import common_type, result_type, rounds_once, single_in_autocast, to_dtype
from ...core.dispatch import of_every_sample
from ...core.tensor import numel_of
from ...state.messages import warn
from ...state.mode import tls

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
           "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "linear_cross_entropy",
           "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
           "nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
           "triplet_margin_with_distance_loss"]


def reduction_of(reduction, size_average=None, reduce=None):
    """Return the name of a reduction, also from the two old flags."""
    if size_average is not None or reduce is not None:
        tls.m.only_now()
        warn("size_average and reduce are deprecated; use reduction=")
        if reduce is not None and not reduce:
            return "none"
        return "mean" if size_average is None or size_average else "sum"
    if reduction not in ops.REDUCTIONS:
        raise unknown_choice("reduction", reduction, ("none", "mean", "sum"))
    return reduction


def reduced(loss, reduction):
    """Reduce a loss per element."""
    if reduction == "none":
        return loss
    dims = tuple(range(loss.ndim))
    if reduction == "mean" and numel_of(loss):
        return mo.mean(loss, dim=dims, keepdim=False)
    total = rd.sum_(loss, dim=dims, keepdim=False)
    return total if reduction == "sum" else ew.mul(total, math.nan)


def _common_dtype(input, target, name):
    """Return both in one dtype, with a warning for targets of another shape."""
    if target.shape != input.shape:
        tls.m.only_now()
        warn(f"{name}: the target has shape {list(target.shape)}, the input {list(input.shape)}; they are "
             "broadcast, which is likely to give wrong results")
    return _promote_broadcast(input, target)


def _promote_broadcast(input, target):
    if input._a.dtype is target._a.dtype:
        return input, target
    d = common_type(input, target)
    return to_dtype(input, d), to_dtype(target, d)


def _in_float32(fn, meet=result_type):
    """Decorate a loss to compute in float32 and round once to its arguments' low precision; in autocast it stays float32."""
    once, single = rounds_once(fn, meet), single_in_autocast(fn)

    @wraps(fn)
    def loss(*args, **kwargs):
        return (once if tls.m.autocast is None else single)(*args, **kwargs)

    return loss


_pairs_in_single = partial(_in_float32, meet=common_type)


def _weighted(loss, weight):
    return loss if weight is None else loss * weight


@memoised
@_pairs_in_single
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Return (input - target)^2."""
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = _common_dtype(input, target, "mse_loss")
    loss = _broadcast_call(squared_gap, x, y) if x.dtype.is_floating_point else ew.square(ew.sub(x, y))
    if weight is None:
        return reduced(loss, reduction)
    return _weighted_mean(loss, weight, reduction)


def _check_weight(weight, loss):
    if weight.shape != loss.shape:
        raise ShapeError(f"the weight of a loss has the input's shape {list(loss.shape)}, got {list(weight.shape)}")


def _weighted_mean(loss, weight, reduction):
    _check_weight(weight, loss)
    weighted = loss * weight
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    return reduced(weighted, reduction)


@memoised
@_pairs_in_single
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Return |input - target|."""
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = _common_dtype(input, target, "l1_loss")
    loss = magnitude(ew.sub(x, y))
    return reduced(loss, reduction) if weight is None else _weighted_mean(loss, weight, reduction)


@memoised
@_pairs_in_single
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Return a squared loss below beta and an absolute one above."""
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss needs beta >= 0, got {beta}")
    x, y = _common_dtype(input, target, "smooth_l1_loss")
    if beta == 0:
        return reduced(ew.abs_(ew.sub(x, y)), reduction)
    return reduced(_huber(x, y, as_float(beta), 0.5 / as_float(beta), 1.0), reduction)


def _broadcast_call(op, x, y, **params):
    if x.shape != y.shape:
        x, y = FUNCTIONS["broadcast_tensors"](x, y)
    return op(x, y, **params)


def _huber(x, y, bound, curve, slope):
    return _broadcast_call(huber, x, y, bound=bound, curve=curve, slope=slope)


@memoised
@_pairs_in_single
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Return a squared loss below delta and delta times the absolute one above."""
    reduction = reduction_of(reduction)
    if delta <= 0:
        raise ArgumentError(f"huber_loss needs delta > 0, got {delta}")
    x, y = _common_dtype(input, target, "huber_loss")
    loss = _huber(x, y, as_float(delta), 0.5, as_float(delta))
    if weight is not None:
        _check_weight(weight, loss)
    loss = reduced(_weighted(loss, weight), reduction)          # its mean is over elements, unlike that of others
    return to_dtype(loss, input.dtype) if input.dtype.is_floating_point else loss


@memoised
@_in_float32
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Return -weight[target] * input[target] for log probabilities (N, C, ...) and class indices (N, ...)."""
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = _batched(input, target, "nll_loss")
    out = ops.nll_loss(x, y, weight, ignore_index=ignore_index, reduction=reduction)
    return reshape(out, shape=()) if input.ndim == 1 and reduction == "none" else out


def _batched(input, target, name):
    """Return an unbatched input (C,) and target () as a batch of one."""
    if input.ndim == 1 and target.ndim == 0:
        return reshape(input, shape=(1, *input.shape)), reshape(target, shape=(1,))
    if input.ndim < 2:
        raise ShapeError(f"{name} takes an input [C] or [N, C, ...], got {input.aval} with target {target.aval}")
    return input, target


@memoised
@_in_float32
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):
    """Return the cross entropy of logits (N, C, ...) and class indices (N, ...) or class probabilities (N, C, ...)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"label_smoothing must be within 0 and 1, got {label_smoothing}")
    core.floating(input, "cross_entropy")
    if target.dtype.is_floating_point:
        return _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    x, y = _batched(input, target, "cross_entropy")
    out, _ = ops.cross_entropy(x, y, weight, ignore_index=ignore_index, label_smoothing=as_float(label_smoothing),
                               reduction=reduction)
    return reshape(out, shape=()) if input.ndim == 1 and reduction == "none" else out


@memoised
@_in_float32
def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, options=None):
    """Return cross_entropy of the logits linear(input, linear_weight, linear_bias); the weight is (C, ..., in_features).
    `options` is a hint about memory and does not change the result."""
    shape = tuple(linear_weight.shape[:-1])
    classes = math.prod(shape)
    if len(shape) > 1 and input.ndim < 2:
        raise ShapeError(f"linear_cross_entropy with a weight {linear_weight.aval} takes a batch of inputs, got {input.aval}")
    bias = None if linear_bias is None else FUNCTIONS["broadcast_to"](
        linear_bias.reshape(tuple(linear_bias.shape) + (1,) * (len(shape) - linear_bias.ndim)), shape).reshape(classes)
    logits = products.linear(input, linear_weight.reshape(classes, linear_weight.shape[-1]), bias)
    logits = logits.reshape(tuple(input.shape[:-1]) + shape)
    return cross_entropy(logits, target, weight, ignore_index=-100 if ignore_index is None else ignore_index,
                         reduction=reduction, label_smoothing=label_smoothing)


def _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing):
    """Compute cross entropy with class probabilities; the mean is over batch and positions, not weights."""
    if target.shape != input.shape:
        raise ShapeError(f"cross_entropy against probabilities takes a target of the input's shape, got {input.aval} and "
                         f"{target.aval}; class indices must be integers")
    if ignore_index >= 0:
        raise ArgumentError("cross_entropy against probabilities takes no ignore_index")
    classes = 0 if input.ndim == 1 else 1
    target = to_dtype(target, input.dtype)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[classes]
    logs = softmax.log_softmax(input, dim=classes)
    if weight is not None:
        logs = logs * weight.reshape([-1 if d == classes else 1 for d in range(input.ndim)])
    loss = -rd.sum_(ew.mul(logs, target), dim=(classes,), keepdim=False)
    return reduced(loss, reduction)


@memoised
@_in_float32
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """Return target * (log(target) - input) for log probabilities as input."""
    mean_over_batch = reduction == "batchmean"
    reduction = "sum" if mean_over_batch else reduction_of(reduction, size_average, reduce)
    if reduction == "mean":
        tls.m.only_now()
        warn("reduction 'mean' of kl_div averages over elements; 'batchmean' is the divergence")
    if not target.dtype.is_inexact:
        target = to_dtype(target, input.dtype)
    if log_target:
        loss = FUNCTIONS["exp"](target) * (target - input)
    else:
        loss = FUNCTIONS["xlogy"](target, target) - target * input
    total = reduced(loss, reduction)
    return total / input.shape[0] if mean_over_batch and input.ndim else total


@checked
@_in_float32
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Return -(target * log(input) + (1 - target) * log(1 - input)), each log at least -100."""
    reduction = reduction_of(reduction, size_average, reduce)
    _check_binary_target("binary_cross_entropy", input, target)
    target = to_dtype(target, input.dtype)
    loss = reduced(_weighted(cross_entropy_of_probability(input, target), weight), reduction)
    if tls.m.special or (loss._a.__class__ is np.ndarray and _has_nan(loss._a)):
        of_every_sample(_check_probabilities, input)        # such values make the loss nan, so other losses need no check
    return loss


def _check_binary_target(name, input, target):
    """Raise unless a target of probabilities has the shape of the input, in floating point."""
    if input.shape != target.shape:
        raise ShapeError(f"{name} takes a target of the input's shape, got input {input.aval} and target {target.aval}")
    if not target.dtype.is_floating_point:
        raise DTypeError(f"{name} takes a floating point target, the probabilities of 1, got target {target.aval}; "
                         f"{cast_hint(input.dtype, 'it')}")


def _has_nan(a) -> bool:
    """Return whether numbers that are not negative have a nan among them."""
    total = a.sum() if a.ndim else a
    return bool(total != total)


def _check_probabilities(x):
    """Raise for values outside [0, 1], unless they are on a device."""
    if x._a.__class__ is np.ndarray:
        refuse_unless(_are_probabilities, x.detach(), "binary_cross_entropy: all elements of input should be between 0 and 1, "
                                                      "and some are not (or nan); apply sigmoid() first, or use "
                                                      "binary_cross_entropy_with_logits")


def _are_probabilities(x):
    inside = ew.logical_and.call(ew.ge.call(x, 0.0), ew.le.call(x, 1.0))
    return rd.all_.call(inside, dim=tuple(range(len(x.shape))), keepdim=False)


@memoised
@_pairs_in_single
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """Return binary_cross_entropy(sigmoid(input), target), without overflow."""
    reduction = reduction_of(reduction, size_average, reduce)
    _check_binary_target("binary_cross_entropy_with_logits", input, target)
    input, target = _promote_broadcast(input, target)
    if pos_weight is None:
        loss = cross_entropy_of_logit(input, target)
    else:
        rest = ops_nn.softplus(ew.neg(input)) * ((pos_weight - 1) * target + 1)
        loss = ew.add(ew.mul(ew.sub(1.0, target), input), rest)
    return reduced(_weighted(loss, weight), reduction)


@memoised
@_in_float32
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """Return the negative log likelihood of counts for a Poisson rate (its log with `log_input`)."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = FUNCTIONS["exp"](input) - target * input if log_input else input - target * FUNCTIONS["log"](input + eps)
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + FUNCTIONS["where"](target > 1, stirling, FUNCTIONS["zeros_like"](stirling))
    return reduced(loss, reduction)


@checked
@_in_float32
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Return the negative log likelihood of values for a mean and a variance of at least eps."""
    reduction = reduction_of(reduction)
    if not hasattr(var, "shape"):
        var = FUNCTIONS["full_like"](input, float(var))
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif var.ndim != input.ndim or any(n not in (1, m) for n, m in zip(var.shape, input.shape)):
            raise ArgumentError(f"gaussian_nll_loss: var {list(var.shape)} does not fit an input {list(input.shape)}")
    if holds_anywhere(var < 0):
        raise ArgumentError("gaussian_nll_loss: var has negative elements")
    floor = var.detach().clamp(min=eps) - var.detach()
    var = var + floor   # the gradient goes to the variance before the floor
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


@memoised
@_in_float32
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """Return the input where the target is 1, max(0, margin - input) where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    far = core.relu(margin - input)
    zero = FUNCTIONS["zeros_like"](far)
    loss = FUNCTIONS["where"](target != 1, far, zero) + FUNCTIONS["where"](target != -1, input, zero)
    return reduced(loss, reduction)


@memoised
@_in_float32
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """Return max(0, -target * (input1 - input2) + margin)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError(f"margin_ranking_loss takes three tensors of one rank, got {input1.aval}, {input2.aval}, "
                         f"{target.aval}")
    return reduced((-target * (input1 - input2) + as_float(margin)).clamp(min=0), reduction)


@memoised
@_in_float32
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Return log(1 + exp(-target * input))."""
    reduction = reduction_of(reduction, size_average, reduce)
    return reduced(ops_nn.softplus(-target * input), reduction)


@memoised
@_in_float32
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.ndim + 1 != input1.ndim or input1.ndim != input2.ndim or target.ndim > 1:
        raise ShapeError(f"cosine_embedding_loss takes inputs [N, D] with a target [N] or [D] with [], got {input1.aval}, "
                         f"{input2.aval}, {target.aval}")
    eps = 1e-12
    dot = (input1 * input2).sum(-1)
    norms = (((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)).sqrt()
    cos = dot / norms
    zero = FUNCTIONS["zeros_like"](cos)
    loss = FUNCTIONS["where"](target == 1, 1 - cos, zero) + FUNCTIONS["where"](target == -1, (cos - margin).clamp(min=0), zero)
    return reduced(loss, reduction)


@memoised
@_in_float32
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Return the mean over wrong classes of max(0, margin - x[target] + x[class])^p."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss takes p = 1 or 2, got {p}")
    x = input if input.ndim == 2 else reshape(input, shape=(1, numel_of(input)))
    y = reshape(target, shape=(x.shape[0],))
    w = ops.class_weight(y, weight, ignore_index=-1 - 2 ** 62, classes=x.shape[1], dtype=x.dtype)
    gap = (margin - ops.take_class(x, y).unsqueeze(1) + x).clamp(min=0)
    gap = gap if p == 1 else gap * gap
    others = gap * w.unsqueeze(1)
    loss = (others.sum(1) - ops.take_class(others, y)) / x.shape[1]
    return reduced(loss if input.ndim == 2 else reshape(loss, shape=target.shape if target.ndim == 0 else (1,)), reduction)


@memoised
@_in_float32
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Sum max(0, 1 - (x[true] - x[wrong])) over pairs of a true and a wrong class; each row of targets ends at the first -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.shape != target.shape or input.ndim > 2:
        raise ShapeError(f"multilabel_margin_loss takes an input and a target [N, C] or [C], got {input.aval}, {target.aval}")
    n = input.shape[-1] if input.ndim else 1
    x, y = input.reshape(-1, n), target.reshape(-1, n)
    listed = to_dtype(FUNCTIONS["cumsum"](to_dtype(y < 0, dt.int64), 1) == 0, x.dtype)
    positions = y.clamp(min=0)
    true = FUNCTIONS["zeros_like"](x.detach()).scatter_add(1, positions, listed) > 0
    picked = x.gather(1, positions)
    gap = (1 - picked.unsqueeze(2) + x.unsqueeze(1)).clamp(min=0)
    wrong = to_dtype(~true, x.dtype).unsqueeze(1) * listed.unsqueeze(2)
    loss = (gap * wrong).sum((1, 2)) / n
    return reduced(loss.reshape(input.shape[:-1]), reduction)


@memoised
@_in_float32
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Return the mean over classes of the binary cross entropy with logits."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = target * ops_nn.softplus(-input) + (1 - target) * ops_nn.softplus(input)
    loss = _weighted(loss, weight)
    return reduced(loss.sum(-1) / input.shape[-1], reduction)


@memoised
@_in_float32
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    """Return max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(f"triplet_margin_loss takes three tensors of one rank, got {anchor.aval}, {positive.aval}, "
                         f"{negative.aval}")
    return triplet_margin_with_distance_loss(anchor, positive, negative, margin=margin, swap=swap, reduction=reduction,
                                             distance_function=lambda a, b: pairwise_distance(a, b, p, eps))


@checked
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """Return triplet_margin_loss with a given distance function."""
    reduction = reduction_of(reduction)
    if margin <= 0:
        raise ArgumentError(f"triplet losses need margin > 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, distance(positive, negative))
    return reduced((margin + near - far).clamp(min=0), reduction)


@checked
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Return the connectionist temporal classification loss: log_probs (T, N, C) or (T, C), targets padded (N, S) or
    concatenated."""
    reduction = reduction_of(reduction)
    single = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    if targets.dtype.is_floating_point:
        targets = targets.long()    # integers stored as floats, as some programs have them
    steps, sizes = _length_tensor(input_lengths, x), _length_tensor(target_lengths, x)
    rows = targets.reshape(1, -1) if targets.ndim == 1 and x.shape[1] == 1 else targets
    loss = ctc.ctc_loss(x, rows, steps, sizes, blank=int(blank))
    if zero_infinity:
        loss = ew.where(ew.isposinf(loss), 0.0, loss)
    if reduction == "mean":
        return (loss / to_dtype(sizes.clamp(min=1), loss.dtype)).mean()
    if single and reduction == "none":
        return reshape(loss, shape=())
    return reduced(loss, reduction)


def _length_tensor(lengths, x):
    found = FUNCTIONS["as_tensor"](lengths)
    if found.dtype.is_floating_point:
        raise DTypeError(f"ctc_loss takes lengths that are integers, got {found.aval}")
    return to_dtype(found, dt.int64).reshape(-1).to(x.device)
