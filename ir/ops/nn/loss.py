"""Losses over classes: negative log likelihood, cross entropy, binary cross entropy.

Classes lie along dimension 1, `target` has the input's shape without it. No one-hot tensor is ever made.
"""


import numpy as np

from ... import dtype as dt
from ...errors import DimError, DTypeError, ShapeError
from ...opdef.aval import Aval, shape_text
from ...opdef.batch_rules import Images
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import NO_GRAD, Composite, Template, op
from ...opdef.param_checks import MOST, check_choice, check_dtype, check_int, check_number, check_operand, check_sizes
from ...process_state import ignore_float_errors
from ...symbols.substitute import as_float
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import all_repeated, joined, parted
from ..core.pointwise import in_single, pointwise, wants_float
from ..core.shape import expand, full, reshape
from .activations import softplus

REDUCTIONS = NONE, MEAN, SUM = "none", "mean", "sum"


def row_shape(shape) -> tuple:
    """Return the input's shape without classes."""
    return (*shape[:1], *shape[2:])


def over_classes_views(shape) -> tuple:
    """Return the views, with parameters, that broadcast row values over the classes of a shape."""
    return (reshape, {"shape": (*shape[:1], 1, *shape[2:])}), (expand, {"shape": shape})


def over_classes(v, shape):
    """Broadcast row values over the classes of a shape."""
    for view, params in over_classes_views(shape):
        v = view(v, **params)
    return v


def _check_target(name, x, target):
    if x.ndim < 2 or target.shape != row_shape(x.shape):
        fits = f", for which the target is {shape_text(row_shape(x.shape))}" if x.ndim > 1 else ""
        raise ShapeError(f"{name} takes an input [N, C, ...] and a target [N, ...] of class indices, got input {x}{fits}, and "
                         f"target {target}")
    if not target.dtype.is_integer:
        raise DTypeError(f"{name} takes class indices as integers, got {target}")


# Picking one class, and putting it back.


def _indices_of(target, shape):
    """Return the index tuple of each row's class, and the mask of rows that have one."""
    valid = (target >= 0) & (target < shape[1])
    safe = np.where(valid, target, 0)
    grid = list(np.indices(target.shape, sparse=True))
    return (*grid[:1], safe, *grid[1:]), valid


def _infer_take(x, target):
    _check_target("take_class", x, target)
    return x.with_shape(target.shape)


def _take_class(x, target):
    if not x.shape[1]:
        return np.zeros(target.shape, x.dtype)
    at, valid = _indices_of(target, x.shape)
    return np.where(valid, x[at], np.zeros((), x.dtype))


def _infer_put(v, target, *, classes):
    check_sizes((classes,), "put_class: classes")
    if not target.dtype.is_integer:
        raise DTypeError(f"put_class takes class indices as integers, got {target}")
    if not v.ndim or v.shape != target.shape:
        raise ShapeError(f"put_class takes values and classes of one shape, got {v} and {target}")
    check_sizes((*v.shape, classes), "put_class: result")
    return v.with_shape((*v.shape[:1], classes, *v.shape[1:]))


def _put_class(v, target, *, classes):
    out = np.zeros((*v.shape[:1], classes, *v.shape[1:]), v.dtype)
    if classes:
        at, valid = _indices_of(target, out.shape)
        out[at] = np.where(valid, v, np.zeros((), v.dtype))
    return out


def _class_bounds(position):
    """Return the bounds of targets at that position, for an input (N, C, ...) in front."""
    return lambda *args, **params: [(position, 0, args[0].shape[1])]


def _given_classes(target, *args, classes, **params):
    return [(0, 0, classes)]


def _batch_classes(size, op, args, held, params):
    x, target = all_repeated(size, args, held)
    if len(target.shape) == 1:
        return op(x, target, **params)
    return parted(op(joined(x), joined(target), **params), size)


take_class = op("take_class", infer=_infer_take, ref=_take_class,
                vjp=(lambda g, out, x, target: put_class(g, target, classes=x.shape[1]), None), lower=Template("gather"),
                batch=_batch_classes, bounds=_class_bounds(1),
                traits=("exact",), doc="Each row's element at its class; 0 where the class is out of range.")
put_class = op("put_class", infer=_infer_put, ref=_put_class,
               vjp=(lambda g, out, v, target, *, classes: take_class(g, target), None), lower=Template("scatter"),
               batch=_batch_classes, bounds=lambda v, target, *, classes: [(1, 0, classes)],
               traits=("exact",), doc="Zeros with each row's value at its class.")


def _check_classes(name, target, classes, ignore_index):
    """Check the parameters of class indices, and their dtype."""
    check_int(classes, f"{name}: classes")
    check_int(ignore_index, f"{name}: ignore_index", -MOST)
    if not target.dtype.is_integer:
        raise DTypeError(f"{name} takes class indices as integers, got {target}")


def _infer_class_weight(target, weight, *, ignore_index, classes, dtype):
    _check_classes("a loss of classes", target, classes, ignore_index)
    check_dtype(dtype, "a loss of classes: dtype")
    if weight is not None and weight.shape != (classes,):
        raise ShapeError(f"a class weight has one element for each of the {classes} classes, got {weight}")
    if weight is not None and weight.dtype is not dtype:
        raise DTypeError(f"a class weight has the input's dtype {dtype.name}, got {weight}; cast it with .to()")
    return Aval(target.shape, dtype)


def _class_weight(target, weight, *, ignore_index, classes, dtype):
    check_classes(target, classes, ignore_index)
    keep = target != ignore_index
    if weight is None:
        return keep.astype(dtype.np)
    return np.where(keep, weight[np.where(keep, target, 0)], np.zeros((), weight.dtype)).astype(dtype.np, copy=False)


class_weight = op("class_weight", infer=_infer_class_weight, ref=_class_weight, vjp=NO_GRAD, lower=Template("gather"),
                  traits=("refuses",), batch=Images((0,)), bounds=_given_classes, title="a loss of classes",
                  doc="Each row's class weight (1 without weights), 0 for ignored rows.")


def check_classes(target, classes, ignore_index):
    """Raise unless all targets are classes or the ignored index."""
    if target.dtype == np.int64 and target.size and np.maximum.reduce(target.view(np.uint64), None) < classes:
        return              # read as unsigned, what is negative is large
    bad = (target != ignore_index) & ((target < 0) | (target >= classes))
    if bad.any():
        error = DimError(f"target {int(target[bad].reshape(-1)[0])} is out of bounds for {classes} classes: it must be from 0 "
                         f"to {classes - 1}, or ignore_index={ignore_index}")
        error.is_of_values = True
        raise error


def _infer_class_index(target, *, classes, ignore_index):
    _check_classes("class_index", target, classes, ignore_index)
    return Aval(target.shape, dt.int64), Aval((), dt.int64)


def _class_index(target, *, classes, ignore_index):
    check_classes(target, classes, ignore_index)
    return target.astype(np.int64), np.asarray(np.count_nonzero(target != ignore_index), np.int64)


def _batch_class_index(size, op, args, held, params):
    classes, _ = op(joined(args[0]), **params)
    classes = parted(classes, size)
    there = ew.cast(ew.ne(classes, params["ignore_index"]), dtype=dt.int64)
    return classes, rd.sum_(there, dim=tuple(range(1, len(there.shape))), keepdim=False)


class_index = op("class_index", ref=_class_index, vjp=NO_GRAD, lower=Template("gather"), traits=("exact", "refuses"),
                 batch=_batch_class_index, bounds=_given_classes,
                 infer=_infer_class_index,
                 doc="The targets, once it is known that all are classes or the one to ignore, and how many are classes.")

# Negative log likelihood.


def _infer_nll(x, target, weight, *, ignore_index, reduction):
    check_choice(reduction, REDUCTIONS, "nll_loss: reduction")
    _check_target("nll_loss", x, target)
    wants_float("nll_loss", x)
    _infer_class_weight(target, weight, ignore_index=ignore_index, classes=x.shape[1], dtype=x.dtype)
    return x.with_shape(target.shape if reduction == "none" else ())


def _all(v):
    return rd.sum_(v, dim=tuple(range(len(v.shape))), keepdim=False)


def reduced(v, weights, reduction):
    """Return the losses per row, or their sum, or their mean by the rows' weights."""
    if reduction == "none":
        return v
    return _all(v) if reduction == "sum" else ew.div(_all(v), _all(weights))


def row_gradient(g, weights, reduction):
    """Return the gradient of each row's loss from that of the reduced one."""
    if reduction == "none":
        return g
    return expand(_averaged(g, weights) if reduction == "mean" else g, shape=weights.shape)


def _averaged(g, weights):
    total = _all(weights)     # of nothing where all rows are ignored: their mean is NaN, their gradient 0
    return ew.div(g, ew.where(ew.eq(total, 0.0), 1.0, total))


def _infer_class_share(g, target, *, ignore_index, classes, reduction):
    wants_float("class_share", g)
    check_choice(reduction, REDUCTIONS, "class_share: reduction")
    _check_classes("class_share", target, classes, ignore_index)
    if g.shape != (target.shape if reduction == NONE else ()):
        raise ShapeError(f"class_share takes the gradient of a loss with reduction {reduction!r}, got {g} and {target}")
    return g.with_shape(target.shape)


def _class_share_body(g, target, *, ignore_index, classes, reduction):
    w = class_weight(target, None, ignore_index=ignore_index, classes=classes, dtype=dt.of(g))
    return ew.mul(row_gradient(g, w, reduction), w)


def _class_share_vjp(g, out, before, target, *, ignore_index, classes, reduction):
    w = class_weight(target, None, ignore_index=ignore_index, classes=classes, dtype=dt.of(g))
    back = ew.mul(g, w)
    if reduction == NONE:
        return back
    return _averaged(_all(back), w) if reduction == MEAN else _all(back)


class_share = op("class_share", infer=_infer_class_share, ref=in_single(_class_share_body), vjp=(_class_share_vjp, None),
                 lower=Composite(_class_share_body), bounds=lambda g, target, *, classes, **params: [(1, 0, classes)],
                 doc="What arrives at each row's loss from the gradient of the reduced one; 0 for ignored rows.")


def _nll_body(x, target, weight, *, ignore_index, reduction):
    w = class_weight(target, weight, ignore_index=ignore_index, classes=x.shape[1], dtype=dt.of(x))
    loss = ew.mul(ew.neg(take_class(x, target)), w)
    return reduced(ew.where(ew.eq(target, ignore_index), 0.0, loss), w, reduction)


def _nll_vjp(g, out, x, target, weight, *, ignore_index, reduction):
    if weight is None:
        share = class_share(g, target, ignore_index=ignore_index, classes=x.shape[1], reduction=reduction)
    else:
        w = class_weight(target, weight, ignore_index=ignore_index, classes=x.shape[1], dtype=dt.of(g))
        share = ew.mul(row_gradient(g, w, reduction), w)
    return put_class(ew.neg(share), target, classes=x.shape[1])


nll_loss = op("nll_loss", infer=_infer_nll, ref=in_single(_nll_body), vjp=(_nll_vjp, None, None), lower=Composite(_nll_body),
              traits=("autocast_wide", "refuses"), bounds=_class_bounds(1),
              doc="-weight[target] * x[target], averaged over the weights with reduction 'mean'.")

# Cross entropy.


def _infer_softmax_minus_onehot(x, lse, a, b, target):
    _check_target("softmax_minus_onehot", x, target)
    wants_float("softmax_minus_onehot", x)
    for v in (lse, a, b):
        check_operand(v, target.shape, x.dtype, "softmax_minus_onehot: values of rows")
    return x


def _softmax_minus_onehot_body(x, lse, a, b, target):
    top = rd.amax(x, dim=(1,), keepdim=True)
    scale = ew.mul(a, ew.exp(ew.sub(reshape(top, shape=lse.shape), lse)))
    scaled = ew.mul(ew.exp(ew.sub(x, expand(top, shape=x.shape))), over_classes(scale, x.shape))
    return ew.sub(scaled, put_class(b, target, classes=x.shape[1]))


def _softmax_minus_onehot(x, lse, a, b, target):
    out = np.exp(x - np.expand_dims(lse, 1))
    out *= np.expand_dims(a, 1)
    if x.shape[1]:
        at, valid = _indices_of(target, x.shape)
        out[at] -= np.where(valid, b, np.zeros((), b.dtype))
    return out


def _softmax_minus_onehot_vjp(g, out, x, lse, a, b, target, *, needs):
    p = ew.exp(ew.sub(x, over_classes(lse, x.shape)))
    gp = ew.mul(g, p)
    gx = ew.mul(gp, over_classes(a, x.shape))
    return (gx, ew.neg(rd.sum_(gx, dim=(1,), keepdim=False)), rd.sum_(gp, dim=(1,), keepdim=False),
            ew.neg(take_class(g, target)), None)


softmax_minus_onehot = op("softmax_minus_onehot", infer=_infer_softmax_minus_onehot, ref=in_single(_softmax_minus_onehot),
                          vjp=_softmax_minus_onehot_vjp, saves=(1, 2, 3, 5), lower=Composite(_softmax_minus_onehot_body),
                          bounds=_class_bounds(4),
                          doc="a * exp(x - lse) - b at the target's class: the gradient of cross entropy.")


def _infer_cross_entropy_grad(g, x, lse, target, *, ignore_index, reduction):
    _check_target("cross_entropy_grad", x, target)
    share = _infer_class_share(g, target, ignore_index=ignore_index, classes=x.shape[1], reduction=reduction)
    check_operand(share, target.shape, x.dtype, "cross_entropy_grad: the gradient")
    check_operand(lse, target.shape, x.dtype, "cross_entropy_grad: lse")
    return x


def _cross_entropy_grad_body(g, x, lse, target, *, ignore_index, reduction):
    share = class_share(g, target, ignore_index=ignore_index, classes=x.shape[1], reduction=reduction)
    return softmax_minus_onehot(x, lse, share, share, target)


cross_entropy_grad = op("cross_entropy_grad", infer=_infer_cross_entropy_grad, ref=in_single(_cross_entropy_grad_body),
                        vjp=derived_vjp(_cross_entropy_grad_body), saves=(1, 2, 3, 4),
                        lower=Composite(_cross_entropy_grad_body), traits=("rule_as_one",),
                        bounds=lambda g, x, *args, **params: [(3, 0, x.shape[1])],
                        doc="The gradient of cross entropy without class weights and smoothing, of logits and their logsumexp.")


def _infer_cross_entropy(x, target, weight, *, ignore_index, label_smoothing, reduction):
    check_number(label_smoothing, "cross_entropy: label_smoothing")
    _check_target("cross_entropy", x, target)
    return _infer_nll(x, target, weight, ignore_index=ignore_index, reduction=reduction), x.with_shape(target.shape)


def _cross_entropy_body(x, target, weight, *, ignore_index, label_smoothing, reduction):
    top = rd.amax(x, dim=(1,), keepdim=True)
    total = rd.sum_(ew.exp(ew.sub(x, expand(top, shape=x.shape))), dim=(1,), keepdim=False)
    lse = ew.add(ew.log(total), reshape(top, shape=target.shape))
    w = class_weight(target, weight, ignore_index=ignore_index, classes=x.shape[1], dtype=dt.of(x))
    loss = ew.where(ew.eq(target, ignore_index), 0.0, ew.mul(ew.sub(lse, take_class(x, target)), w))
    if label_smoothing:
        loss = ew.add(ew.mul(loss, 1 - label_smoothing),
                      ew.mul(smooth_part(x, lse, target, weight, ignore_index), label_smoothing / x.shape[1]))
    return reduced(loss, w, reduction), lse


def smooth_part(x, lse, target, weight, ignore_index):
    """Return the sum over classes of weight * -log(softmax(x)), 0 for ignored rows."""
    gap = ew.sub(over_classes(lse, x.shape), x)
    if weight is not None:
        gap = ew.mul(gap, _weight_over(weight, x.shape))
    return ew.where(ew.eq(target, ignore_index), 0.0, rd.sum_(gap, dim=(1,), keepdim=False))


def _weight_over(weight, shape):
    return expand(reshape(weight, shape=(1, shape[1], *(1,) * (len(shape) - 2))), shape=shape)


def _cross_entropy(x, target, weight, *, ignore_index, label_smoothing, reduction):
    if x.size:
        return _cross_entropy_body(x, target, weight, ignore_index=ignore_index, label_smoothing=label_smoothing,
                                   reduction=reduction)
    w = _class_weight(target, weight, ignore_index=ignore_index, classes=x.shape[1], dtype=dt.of(x))
    return np.asarray(reduced(w, w, reduction), x.dtype), np.full(target.shape, -np.inf, x.dtype)


def _cross_entropy_vjp(g, out, x, target, weight, *, ignore_index, label_smoothing, reduction):
    g, g_lse = g
    if g_lse is None and weight is None and not label_smoothing:
        return cross_entropy_grad(g, x, out[1], target, ignore_index=ignore_index, reduction=reduction)
    if g is None:
        g = full(g_lse, shape=target.shape if reduction == NONE else (), value=0.0, dtype=dt.of(x))
    if weight is None and not label_smoothing:
        share = class_share(g, target, ignore_index=ignore_index, classes=x.shape[1], reduction=reduction)
        return softmax_minus_onehot(x, out[1], ew.add(share, g_lse), share, target)
    w = class_weight(target, weight, ignore_index=ignore_index, classes=x.shape[1], dtype=dt.of(x))
    rows = row_gradient(g, w, reduction)
    b = ew.mul(rows, w)
    a = b
    if label_smoothing:
        b = ew.mul(b, 1 - label_smoothing)
        share = ew.mul(ew.where(ew.eq(target, ignore_index), 0.0, rows), label_smoothing / x.shape[1])
        total = as_float(x.shape[1]) if weight is None else expand(_all(weight), shape=target.shape)
        a = ew.add(b, ew.mul(share, total))
    gx = softmax_minus_onehot(x, out[1], a if g_lse is None else ew.add(a, g_lse), b, target)
    if label_smoothing:
        share = over_classes(share, x.shape)
        gx = ew.sub(gx, share if weight is None else ew.mul(share, _weight_over(weight, x.shape)))
    return gx


cross_entropy = op("cross_entropy", infer=_infer_cross_entropy, ref=in_single(_cross_entropy),
                   vjp=(_cross_entropy_vjp, None, None), lower=Composite(_cross_entropy_body),
                   numbers=("label_smoothing",), traits=("autocast_wide", "gaps", "refuses"), bounds=_class_bounds(1),
                   doc="The loss of logits against class indices, and each row's logsumexp, which the gradient uses.")


_LEAST_LOG = -100.0
_LEAST_SPREAD = 1e-12       # of x (1 - x), which the gradient divides by


def _logs(x):
    return [ew.maximum(v, _LEAST_LOG) for v in (ew.log(x), ew.log1p(ew.neg(x)))]


def _probability_body(x, target):
    yes, no = _logs(x)
    return ew.sub(ew.mul(ew.sub(target, 1.0), no), ew.mul(target, yes))


@ignore_float_errors
def _probability_loss(x, target):
    yes, no = np.maximum(np.log(x), _LEAST_LOG), np.maximum(np.log1p(-x), _LEAST_LOG)
    return (target - 1) * no - target * yes


def _by_probability(g, out, x, target):
    p, t = ew.widened(x), ew.widened(target)
    spread = ew.maximum(ew.mul(p, ew.sub(1.0, p)), _LEAST_SPREAD)
    return ew.narrowed(ew.div(ew.mul(ew.widened(g), ew.sub(p, t)), spread), x)


def _by_target(g, out, x, target):
    yes, no = _logs(ew.widened(x))
    return ew.narrowed(ew.mul(ew.widened(g), ew.sub(no, yes)), x)


cross_entropy_of_probability = pointwise(
    "cross_entropy_of_probability", _probability_body, _probability_loss, (_by_probability, _by_target),
    traits=("autocast_wide",), title="binary_cross_entropy", doc="-(t log x + (1 - t) log(1 - x)), each log at least -100.")


def _logit_body(x, target):
    return ew.add(ew.mul(ew.sub(1.0, target), x), softplus(ew.neg(x)))


def _by_logit(g, out, x, target):
    return ew.narrowed(ew.mul(ew.widened(g), ew.sub(ew.sigmoid(ew.widened(x)), ew.widened(target))), x)


cross_entropy_of_logit = pointwise(
    "cross_entropy_of_logit", _logit_body, lambda x, target: (1 - target) * x + np.logaddexp(0, -x),
    (_by_logit, lambda g, out, x, target: ew.neg(ew.mul(g, x))), traits=("autocast_wide",),
    title="binary_cross_entropy_with_logits", doc="That of sigmoid(x), without overflow.")


def _squared_body(x, y):
    gap = ew.sub(x, y)
    return ew.mul(gap, gap)


def _squared_slope(g, x, y):
    gap = ew.sub(ew.widened(x), ew.widened(y))
    return ew.narrowed(ew.mul(ew.mul(ew.widened(g), 2.0), gap), x)


squared_gap = pointwise("squared_gap", _squared_body, lambda x, y: (x - y) * (x - y),
                        (lambda g, out, x, y: _squared_slope(g, x, y), lambda g, out, x, y: _squared_slope(g, y, x)),
                        title="mse_loss", doc="(x - y)^2")


def _huber_body(x, y, *, bound, curve, slope):
    gap = ew.abs_(ew.sub(x, y))
    far = ew.mul(ew.sub(gap, 0.5 * bound), slope)
    return ew.where(ew.le(gap, bound), ew.mul(ew.mul(gap, gap), curve), far)


def _huber(x, y, *, bound, curve, slope):
    gap = np.abs(x - y)
    return np.where(gap <= bound, gap * gap * curve, (gap - 0.5 * bound) * slope)


def _huber_slope(g, x, y, bound, curve, slope):
    gap = ew.sub(ew.widened(x), ew.widened(y))
    steep = ew.where(ew.gt(gap, bound), slope, ew.where(ew.lt(gap, -bound), -slope, ew.mul(gap, 2 * curve)))
    return ew.narrowed(ew.mul(ew.widened(g), steep), x)


huber = pointwise("huber", _huber_body, _huber,
                  (lambda g, out, x, y, *, bound, curve, slope: _huber_slope(g, x, y, bound, curve, slope),
                   lambda g, out, x, y, *, bound, curve, slope: _huber_slope(g, y, x, bound, curve, slope)),
                  title="huber_loss",
                  doc="curve * (x - y)^2 where |x - y| <= bound, the line (|x - y| - bound / 2) * slope beyond.")
