"""Top-level functions of layers, with PyTorch's older argument orders: dropout, losses, recurrent layers, `native_*` norms.

A reduction may be a number, padding_idx=-1 means none, and optional arguments often have no default. Losses reduce to the mean
by default. The functions register themselves; `runtime.api.load_twins` loads them on first use of such a name.
"""

from typing import Any

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.nn import embedding as embedding_ops
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from .. import functional as F
from ..base.module import Module
from ..base.packed_sequence import PackedSequence
from ..functional.embedding import renormalise_
from . import rnn

REDUCTIONS = ("none", "mean", "sum")


def _reduction(number):
    """Return the name of a reduction given by number (0 none, 1 mean, 2 sum) or name."""
    if isinstance(number, str):
        return number
    if number not in (0, 1, 2):
        raise ArgumentError(f"reduction must be 0 (none), 1 (mean) or 2 (sum), or such a word, got {number!r}")
    return REDUCTIONS[number]


def _public(fn):
    FUNCTIONS[fn.__name__] = fn
    return fn


# Dropout: the probability and the mode have no defaults.


def _dropout(name: str, doc: str):
    def out_of_place(input, p, train):
        return getattr(F, name)(input, p, train)

    def in_place(input, p, train):
        return getattr(F, name)(input, p, train, True)

    for function, called, text in ((out_of_place, name, doc), (in_place, name + "_", f"Apply {name}() in place.")):
        function.__name__ = function.__qualname__ = called
        function.__doc__ = text
        _public(function)


_dropout("dropout", "Zero elements with probability p while training, and scale the rest by 1 / (1 - p).")
_dropout("alpha_dropout", "Drop elements so that the mean and variance of selu activations stay.")
_dropout("feature_dropout", "Drop whole channels.")
_dropout("feature_alpha_dropout", "Apply alpha_dropout() to whole channels.")

# Activations.


@_public
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """Apply leaky_relu with a random slope per element in training, else with the mean of the bounds."""
    return F.rrelu(input, lower, upper, training)


@_public
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """Apply rrelu() in place."""
    return F.rrelu(input, lower, upper, training, True)


@_public
def celu_(input, alpha=1.0):
    """Apply celu() in place."""
    return F.celu(input, alpha, True)


@_public
def selu_(input):
    """Apply selu() in place."""
    return F.selu(input, True)


@_public
def threshold_(input, threshold, value):
    """Apply threshold() in place."""
    return F.threshold(input, threshold, value, True)


@_public
def hardshrink(input, lambd=0.5, *, out=None):
    """Return 0 where |input| <= lambd, else the input."""
    return F.hardshrink(input, lambd, out=out)


# Lookups: the table comes first.


@_public
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Return the rows of `weight` at the indices; a negative padding_idx means none."""
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


@_public
def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scale the rows of a table at the indices down to max_norm, in place."""
    renormalise_(input, indices, max_norm, norm_type)
    return input


# Maps and normalisation.


@_public
def bilinear(input1, input2, weight, bias=None):
    """Return the sum over i, j of input1[i] * weight[o, i, j] * input2[j], plus bias."""
    return F.bilinear(input1, input2, weight, bias)


@_public
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """Normalise each channel, by the batch's statistics in training, else by the running ones. `cudnn_enabled` is ignored:
    there is no cuDNN."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_public
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """Normalise each channel of each image. `cudnn_enabled` is ignored: there is no cuDNN."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@_public
def affine_grid_generator(theta, size, align_corners):
    """Return the grid for grid_sample that transforms images of `size` by the affine maps `theta`."""
    return F.affine_grid(theta, size, align_corners)


# Losses: the reduction may be a number.


@_public
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    """Return the cross entropy of logits and probabilities."""
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight)


@_public
def kl_div(input, target, reduction=1, *, log_target=False):
    """Return target * (log(target) - input) for log probabilities as input."""
    return F.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


@_public
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """Return the negative log likelihood of counts."""
    return F.poisson_nll_loss(input, target, log_input, full, None, eps, None, _reduction(reduction))


@_public
def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    """Return the input where the target is 1, max(0, margin - input) where it is -1."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


@_public
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """Return max(0, -target * (input1 - input2) + margin)."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


@_public
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """Return 1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


@_public
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=1):
    """Return max(0, distance to positive - distance to negative + margin)."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


@_public
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    """Return the connectionist temporal classification loss of log_probs (T, N, C) or (T, C)."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


# Recurrent layers.


def _with_weights(base: Any):
    """Return a recurrent class whose weights are a list: per layer and direction w_ih, w_hh, biases and projection."""

    class WithWeights(base):

        def __init__(self, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, nonlinearity):
            Module.__init__(self)
            each, left = divmod(len(params), num_layers * (2 if bidirectional else 1))
            projects = each == 3 + 2 * bool(has_biases)
            if left or each != 2 + 2 * bool(has_biases) + projects:
                raise ArgumentError(f"{len(params)} weights do not fit {num_layers} layers "
                                    f"{'with' if has_biases else 'without'} biases")
            self.weights, self.each = tuple(params), each
            self.input_size, self.hidden_size = params[0].shape[1], params[0].shape[0] // self._gates
            self.proj_size = params[each - 1].shape[0] if projects else 0
            self.num_layers, self.bias, self.bidirectional = num_layers, bool(has_biases), bidirectional
            self.dropout, self.training, self.batch_first = float(dropout), train, batch_first
            self.nonlinearity = nonlinearity

        def _weights(self, layer, tail):
            first = (layer * len(self._directions()) + bool(tail)) * self.each
            own = list(self.weights[first:first + self.each])
            if not self.bias:
                own[2:2] = [None, None]
            return own if self.proj_size else [*own, None]

    WithWeights.__name__ = WithWeights.__qualname__ = base.__name__
    return WithWeights


def _layer(name, base, nonlinearity="tanh"):
    """Register a recurrent layer: f(input, hx, params, ...), or packed f(data, batch_sizes, hx, params, ...)."""
    layer_class = _with_weights(base)

    def function(input, second, third, *rest, **options) -> Any:
        packed = isinstance(second, Tensor) and not second.dtype.is_inexact
        hx, params = (third, rest[0]) if packed else (second, third)
        arguments = _arguments(*(rest[1:] if packed else rest), **options)
        module = layer_class(params, *arguments, nonlinearity)
        y, ends = module(PackedSequence(input, second, None, None) if packed else input, hx)
        return (y.data if packed else y, *(ends if isinstance(ends, tuple) else (ends,)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"nn.{base.__name__} with its weights in a list, called (input, hx, params, has_biases, num_layers, "
                        "dropout, train, bidirectional, batch_first), or packed (data, batch_sizes, hx, params, ...). "
                        "Return outputs and last states.")
    FUNCTIONS[name] = function


def _arguments(has_biases, num_layers, dropout, train, bidirectional, batch_first=False):
    return has_biases, num_layers, dropout, train, bidirectional, batch_first


for _name, _base, _kind in (("rnn_tanh", rnn.RNN, "tanh"), ("rnn_relu", rnn.RNN, "relu"), ("gru", rnn.GRU, ""),
                            ("lstm", rnn.LSTM, "")):
    _layer(_name, _base, _kind)


def _cell(name, base: Any, nonlinearity=""):
    class WithWeights(base):

        def __init__(self, w_ih, w_hh, b_ih, b_hh):
            Module.__init__(self)
            self.input_size, self.hidden_size = w_ih.shape[1], w_hh.shape[1]
            self.nonlinearity = nonlinearity
            self.__dict__.update(weight_ih=w_ih, weight_hh=w_hh, bias_ih=b_ih, bias_hh=b_hh)

    WithWeights.__name__ = WithWeights.__qualname__ = base.__name__

    def function(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Any:
        return WithWeights(w_ih, w_hh, b_ih, b_hh)(input, hx)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Compute one step of nn.{base.__name__} with these weights; return the next state or states."
    FUNCTIONS[name] = function


for _name, _module, _kind in (("rnn_tanh_cell", rnn.RNNCell, "tanh"), ("rnn_relu_cell", rnn.RNNCell, "relu"),
                              ("gru_cell", rnn.GRUCell, ""), ("lstm_cell", rnn.LSTMCell, "")):
    _cell(_name, _module, _kind)

# Normalisations with their statistics.


def _mean_and_scale(x, dims, eps, keepdim):
    variance, mean = FUNCTIONS["var_mean"](x, dims, correction=0, keepdim=keepdim)
    return mean, (variance + eps).rsqrt()


@_public
def native_layer_norm(input, normalized_shape, weight, bias, eps) -> tuple[Tensor, Tensor, Tensor]:
    """Return layer_norm, its means and 1 / standard deviations."""
    dims = tuple(range(input.ndim - len(tuple(normalized_shape)), input.ndim))
    return F.layer_norm(input, normalized_shape, weight, bias, eps), *_mean_and_scale(input, dims, eps, True)


@_public
def native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> tuple[Tensor, Tensor, Tensor]:
    """Return group_norm of (N, C, HxW), with the means and 1 / standard deviations of groups."""
    if input.numel() != N * C * HxW:
        raise ShapeError(f"native_group_norm: {N} x {C} x {HxW} elements are not those of {input.aval}")
    grouped = input.reshape(N, group, C // group * HxW)
    return F.group_norm(input, group, weight, bias, eps), *_mean_and_scale(grouped, (2,), eps, False)


@_public
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) -> tuple[Tensor, Tensor, Tensor]:
    """Return batch_norm; in training also its means and 1 / standard deviations."""
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    return out, *_mean_and_scale(input, (0, *range(2, input.ndim)), eps, False)


@_public
def native_dropout(input, p, train) -> tuple[Tensor, Tensor]:
    """Return dropout and the mask of kept elements."""
    if train is False or p == 0:
        return input.clone(), FUNCTIONS["ones_like"](input, dtype=dt.bool_)
    mask = FUNCTIONS["rand"](*input.shape, device=input.device) >= p
    return (input * mask * (1 / (1 - p)) if p < 1 else input * mask), mask


@_public
def native_norm(self, p=2, dim=None, keepdim=False, dtype=None):
    """Return the vector norm of order p over dims, by default all."""
    return FUNCTIONS["norm"](self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@_public
def norm_except_dim(v, pow=2, dim=0):
    """Return norms over all dims but one, keeping dims; over all dims for dim=-1."""
    if dim == -1:
        return v.norm(pow)
    others = tuple(d for d in range(v.ndim) if d != dim)
    return FUNCTIONS["norm"](v, pow, others, True) if others else v.abs()       # an empty list of dims would mean all


MODES = ("sum", "mean", "max")


@_public
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return nn.functional.embedding_bag (mode 0 sum, 1 mean, 2 max), the bag of each index, bag sizes, and for max the index
    of each largest element."""
    result = F.embedding_bag(indices, weight, offsets, None, 2.0, scale_grad_by_freq, MODES[mode], sparse, per_sample_weights,
                            include_last_offset, padding_idx)
    bag = embedding_ops.bag_of(offsets, size=indices.shape[0])
    counted = FUNCTIONS["ones_like"](bag) if padding_idx is None else ew.cast(ew.ne(indices, padding_idx), dtype=bag.dtype)
    sizes = FUNCTIONS["zeros_like"](offsets, dtype=bag.dtype).index_add(0, bag, counted)[:result.shape[0]]
    return result, bag, sizes, _argmax_rows(result, weight, indices, bag) if mode == 2 else sizes


def _argmax_rows(maxima, weight, indices, bag):
    """Return, for each bag and column, the last index whose row holds the largest element."""
    in_bag = bag < maxima.shape[0]        # indices behind the last offset may have no bag
    hit = (weight.detach()[indices] == maxima.detach()[FUNCTIONS["where"](in_bag, bag, 0)]) & in_bag.unsqueeze(1)
    candidates = FUNCTIONS["where"](hit, indices.unsqueeze(1), -1)
    none = FUNCTIONS["full"](tuple(maxima.shape), -1, dtype=candidates.dtype, device=candidates.device)
    bags = FUNCTIONS["where"](in_bag, bag, 0).unsqueeze(1).expand(candidates.shape)
    return none.scatter_reduce(0, bags, candidates, "amax").clamp(min=0)
