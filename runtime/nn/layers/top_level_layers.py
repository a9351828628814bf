"""Layers as functions of the top level: recurrent ones with their weights in a list, their cells, and normalisations, dropout
and lookups that give what they found on the way. They register themselves, as those of `twins` do."""

from typing import Any

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.nn import embedding as lookups
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from .. import functional as F
from ..base.module import Module
from ..base.packed_sequence import PackedSequence
from . import rnn

# Recurrent layers.


def _with_given_weights(base: Any):
    """A recurrent module whose weights are a list: for each layer and direction those of the input and of the state, their
    biases, and that of a projection."""

    class Given(base):

        def __init__(self, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, nonlinearity):
            Module.__init__(self)
            each, left = divmod(len(params), num_layers * (2 if bidirectional else 1))
            projects = each == 3 + 2 * bool(has_biases)
            if left or each != 2 + 2 * bool(has_biases) + projects:
                raise ArgumentError(f"{len(params)} weights do not fit {num_layers} layers "
                                    f"{'with' if has_biases else 'without'} biases")
            self.given, self.each = tuple(params), each
            self.input_size, self.hidden_size = params[0].shape[1], params[0].shape[0] // self._gates
            self.proj_size = params[each - 1].shape[0] if projects else 0
            self.num_layers, self.bias, self.bidirectional = num_layers, bool(has_biases), bidirectional
            self.dropout, self.training, self.batch_first = float(dropout), train, batch_first
            self.nonlinearity = nonlinearity

        def _weights(self, layer, tail):
            first = (layer * len(self._directions()) + bool(tail)) * self.each
            own = list(self.given[first:first + self.each])
            if not self.bias:
                own[2:2] = [None, None]
            return own if self.proj_size else [*own, None]

    Given.__name__ = Given.__qualname__ = base.__name__
    return Given


def _layer(name, base, nonlinearity="tanh"):
    """The function of one kind of layer: (input, hx, params, ...), or packed (data, batch_sizes, hx, params, ...)."""
    made = _with_given_weights(base)

    def function(input, second, third, *rest, **options) -> Any:
        packed = isinstance(second, Tensor) and not second.dtype.is_inexact
        hx, params = (third, rest[0]) if packed else (second, third)
        said = _arguments(*(rest[1:] if packed else rest), **options)
        module = made(params, *said, nonlinearity)
        y, ends = module(PackedSequence(input, second, None, None) if packed else input, hx)
        return (y.data if packed else y, *(ends if isinstance(ends, tuple) else (ends,)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"nn.{base.__name__} with its weights in a list, called (input, hx, params, has_biases, num_layers, "
                        "dropout, train, bidirectional, batch_first), or packed (data, batch_sizes, hx, params, ...). Gives "
                        "outputs and last states.")
    FUNCTIONS[name] = function


def _arguments(has_biases, num_layers, dropout, train, bidirectional, batch_first=False):
    return has_biases, num_layers, dropout, train, bidirectional, batch_first


for _name, _base, _kind in (("rnn_tanh", rnn.RNN, "tanh"), ("rnn_relu", rnn.RNN, "relu"), ("gru", rnn.GRU, ""),
                            ("lstm", rnn.LSTM, "")):
    _layer(_name, _base, _kind)


def _cell(name, base: Any, nonlinearity=""):
    """The function of one step."""

    class Given(base):

        def __init__(self, w_ih, w_hh, b_ih, b_hh):
            Module.__init__(self)
            self.input_size, self.hidden_size = w_ih.shape[1], w_hh.shape[1]
            self.nonlinearity = nonlinearity
            self.__dict__.update(weight_ih=w_ih, weight_hh=w_hh, bias_ih=b_ih, bias_hh=b_hh)

    Given.__name__ = Given.__qualname__ = base.__name__

    def function(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Any:
        return Given(w_ih, w_hh, b_ih, b_hh)(input, hx)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"One step of nn.{base.__name__} with these weights: the next state (or states)."
    FUNCTIONS[name] = function


for _name, _module, _kind in (("rnn_tanh_cell", rnn.RNNCell, "tanh"), ("rnn_relu_cell", rnn.RNNCell, "relu"),
                              ("gru_cell", rnn.GRUCell, ""), ("lstm_cell", rnn.LSTMCell, "")):
    _cell(_name, _module, _kind)

# Normalisations with their statistics.


def _public(fn):
    FUNCTIONS[fn.__name__] = fn
    return fn


def _mean_and_scale(x, dims, eps, keepdim):
    """The mean, and one over the standard deviation, over dims."""
    variance, mean = FUNCTIONS["var_mean"](x, dims, correction=0, keepdim=keepdim)
    return mean, (variance + eps).rsqrt()


@_public
def native_layer_norm(input, normalized_shape, weight, bias, eps) -> tuple[Tensor, Tensor, Tensor]:
    """layer_norm, with the means and one over the standard deviations that it found."""
    dims = tuple(range(input.ndim - len(tuple(normalized_shape)), input.ndim))
    return F.layer_norm(input, normalized_shape, weight, bias, eps), *_mean_and_scale(input, dims, eps, True)


@_public
def native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> tuple[Tensor, Tensor, Tensor]:
    """group_norm of N images of C channels of HxW elements, with the means and one over the standard deviations of groups."""
    if input.numel() != N * C * HxW:
        raise ShapeError(f"native_group_norm: {N} x {C} x {HxW} elements are not those of {input.aval}")
    grouped = input.reshape(N, group, C // group * HxW)
    return F.group_norm(input, group, weight, bias, eps), *_mean_and_scale(grouped, (2,), eps, False)


@_public
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) -> tuple[Tensor, Tensor, Tensor]:
    """batch_norm, with the means and one over the standard deviations that it found in training."""
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    return out, *_mean_and_scale(input, (0, *range(2, input.ndim)), eps, False)


@_public
def native_dropout(input, p, train) -> tuple[Tensor, Tensor]:
    """Dropout, and which elements it kept."""
    if train is False or p == 0:
        return input.clone(), FUNCTIONS["ones_like"](input, dtype=dt.bool_)
    kept = FUNCTIONS["rand"](*input.shape, device=input.device) >= p
    return (input * kept * (1 / (1 - p)) if p < 1 else input * kept), kept


@_public
def native_norm(self, p=2, dim=None, keepdim=False, dtype=None):
    """The vector norm of order p over dims (all unless said)."""
    return FUNCTIONS["norm"](self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@_public
def norm_except_dim(v, pow=2, dim=0):
    """The norms of order `pow` of what lies along one dimension, its other dims kept with size 1; of all for dim=-1."""
    if dim == -1:
        return v.norm(pow)
    others = tuple(d for d in range(v.ndim) if d != dim)
    return FUNCTIONS["norm"](v, pow, others, True) if others else v.abs()       # no dims would mean all of them


MODES = ("sum", "mean", "max")


@_public
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What nn.functional.embedding_bag gives (mode 0 sum, 1 mean, 2 max), the bag of each index, how many are in each bag, and
    for max the index that each element came from."""
    found = F.embedding_bag(indices, weight, offsets, None, 2.0, scale_grad_by_freq, MODES[mode], sparse, per_sample_weights,
                            include_last_offset, padding_idx)
    bag = lookups.bag_of(offsets, size=indices.shape[0])
    counted = FUNCTIONS["ones_like"](bag) if padding_idx is None else ew.cast(ew.ne(indices, padding_idx), dtype=bag.dtype)
    sizes = FUNCTIONS["zeros_like"](offsets, dtype=bag.dtype).index_add(0, bag, counted)[:found.shape[0]]
    return found, bag, sizes, _places_of_largest(found, weight, indices, bag) if mode == 2 else sizes


def _places_of_largest(found, weight, indices, bag):
    """The last index of each bag whose row holds the bag's largest element, for each column."""
    asked = bag < found.shape[0]        # a bag behind the last offset may have none
    hit = (weight.detach()[indices] == found.detach()[FUNCTIONS["where"](asked, bag, 0)]) & asked.unsqueeze(1)
    candidates = FUNCTIONS["where"](hit, indices.unsqueeze(1), -1)
    none = FUNCTIONS["full"](tuple(found.shape), -1, dtype=candidates.dtype, device=candidates.device)
    places = FUNCTIONS["where"](asked, bag, 0).unsqueeze(1).expand(candidates.shape)
    return none.scatter_reduce(0, places, candidates, "amax").clamp(min=0)
