"""Recurrent layers and cells."""

import math
from typing import Any

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.nn import recurrent as ops
from ....ir.suggestions import unknown_choice
from ...api.register.register import FUNCTIONS, memoised
from ...api.register.type_promotion import widened, without_autocast
from ...api.views.tensor_factories import filled
from ...core.tensor import shape_of
from ...state.messages import warn
from ...state.mode import tls
from .. import functional as F
from ..base import init
from ..base.module import Module
from ..base.packed_sequence import PackedSequence, packed_rows, padded_steps
from .linear import empty_parameter


def _reorder(x, order, dim=1):
    return x if order is None else FUNCTIONS["index_select"](x, dim, order)


def _bias_of(first, second):
    return None if first is None else first + second


def _wants_gradient(*tensors):
    return tls.m.grad and any(t is not None and t.requires_grad for t in tensors)


def _keeps_float32(state) -> bool:
    """Return whether autocast leaves gates in float32: on CPUs the state's dtype is the result's."""
    casting = tls.m.autocast
    return casting is not None and state.dtype is dt.float32 and state.device.type == "cpu" and "cpu" in casting.dtypes


def _run_step(step, state, *args):
    """Compute one step of gates, in float32 where autocast keeps it."""
    if not _keeps_float32(state):
        return step(*args)
    with without_autocast():
        return step(*map(widened, args))


def lstm_over_time(z, mask, h, c, w_hh, w_hr, reverse):
    """Return (all states, last cells)."""
    if not _wants_gradient(z, h, c, w_hh, w_hr):
        return ops.lstm_states(z, mask, h, c, w_hh, w_hr, reverse=reverse)
    y, cells, _ = ops.lstm_sequence(z, mask, h, c, w_hh, w_hr, reverse=reverse)
    return y, cells[0 if reverse else -1]


def gru_over_time(z, mask, h, w_hh, b_hh, reverse):
    """Return all states."""
    if not _wants_gradient(z, h, w_hh, b_hh):
        return ops.gru_states(z, mask, h, w_hh, b_hh, reverse=reverse)
    return ops.gru_sequence(z, mask, h, w_hh, b_hh, reverse=reverse)[0]


class RNNBase(Module):
    """Base of recurrent layers: weights by layer and direction, batches, packed sequences."""

    _gates = 1

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 proj_size=0, device=None, dtype=None):
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ArgumentError(f"dropout must be within 0 and 1, got {dropout}")
        for name, value in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(value, bool):
                raise DTypeError(f"{name} is True or False, got {value!r}")
        if input_size <= 0 or hidden_size <= 0 or num_layers <= 0 or not 0 <= proj_size < hidden_size:
            raise ArgumentError("need input_size > 0, hidden_size > 0, num_layers > 0 and 0 <= proj_size < hidden_size, got "
                                f"{input_size}, {hidden_size}, {num_layers} and {proj_size}")
        if dropout and num_layers == 1:
            warn("dropout stands between layers and num_layers is 1, so it does nothing")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._add_weights(device, dtype)
        self.reset_parameters()

    def _directions(self):
        return ("", "_reverse") if self.bidirectional else ("",)

    def _add_weights(self, device, dtype):
        for name, shape in self._shapes_of_weights():
            self.register_parameter(name, empty_parameter(shape, device, dtype))

    def _shapes_of_weights(self):
        out = self.proj_size or self.hidden_size
        rows = self._gates * self.hidden_size
        for layer in range(self.num_layers):
            size = self.input_size if layer == 0 else out * len(self._directions())
            for tail in self._directions():
                shapes: dict[str, tuple] = {"weight_ih": (rows, size), "weight_hh": (rows, out)}
                if self.bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if self.proj_size:
                    shapes["weight_hr"] = (self.proj_size, self.hidden_size)
                for name, shape in shapes.items():
                    yield f"{name}_l{layer}{tail}", shape

    def _weights(self, layer, tail):
        """Return (weight_ih, weight_hh, bias_ih, bias_hh, weight_hr) or None; parametrised and pruned ones are attributes."""
        own, end = self._parameters, f"_l{layer}{tail}"
        biases = ("bias_ih", "bias_hh") if self.bias else (None, None)
        names = [n and n + end for n in ("weight_ih", "weight_hh", *biases, "weight_hr" if self.proj_size else None)]
        return [None if n is None else own[n] if n in own else getattr(self, n) for n in names]

    @property
    def all_weights(self):
        """Return the weights of each layer and direction."""
        return [[w for w in self._weights(layer, tail) if w is not None]
                for layer in range(self.num_layers) for tail in self._directions()]

    def flatten_parameters(self):
        """Do nothing: kernels read weights in place."""

    def reset_parameters(self):
        """Initialise uniformly in +-1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(max(self.hidden_size, 1))
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _zero_state(self, batch, like):
        layers = self.num_layers * len(self._directions())
        return [FUNCTIONS["zeros"]((layers, batch, size), dtype=like.dtype, device=like.device) for size in self._state_sizes()]

    def _state_sizes(self):
        return (self.proj_size or self.hidden_size,)

    def _check_states(self, states, batch, single=False):
        layers, sizes = self.num_layers * len(self._directions()), self._state_sizes()
        if len(states) != len(sizes):
            raise ShapeError(f"{self._get_name()} takes {'one state, h_0' if len(sizes) == 1 else 'the states (h_0, c_0)'}, "
                             f"got {len(states)}")
        for name, state, size in zip(("h_0", "c_0"), states, sizes):
            if tuple(state.shape) != (layers, batch, size):
                wanted, got = [layers, batch, size], list(state.shape)
                if single:
                    del wanted[1], got[1:2]
                raise ShapeError(f"{self._get_name()} takes {name} of shape {wanted}, that is [layers * directions, "
                                 f"{'' if single else 'batch, '}size], got {got}")

    def _refuse_input(self, input):
        """Raise for an input of another layout."""
        layout = "batch, time" if self.batch_first else "time, batch"
        why = (f"its last size is {input.shape[-1]}, input_size is {self.input_size}" if input.ndim in (2, 3) else
               f"it has {input.ndim} dimension{'s' * (input.ndim != 1)}")
        raise ShapeError(f"{self._get_name()} with batch_first={self.batch_first} takes [{layout}, {self.input_size}], or "
                         f"[time, {self.input_size}] without a batch, got {input.aval}: {why}")

    def _project_input(self, x, weight, bias):
        return F.linear(x, weight, bias)

    def _run(self, z, mask, states, weights, reverse):
        """Return (all outputs, last states) of one layer in one direction."""
        raise NotImplementedError(f"{self._get_name()} does not define _run()")

    def _run_layers(self, x, mask, states):
        if self._gates == 1 or not _keeps_float32(states[-1]):
            return self._each_layer(x, mask, states, self._weights)
        with without_autocast():
            return self._each_layer(widened(x), mask, [widened(s) for s in states],
                                    lambda layer, tail: [widened(w) for w in self._weights(layer, tail)])

    def _each_layer(self, x, mask, states, weights_of):
        last = []
        for layer in range(self.num_layers):
            outputs = []
            for d, tail in enumerate(self._directions()):
                weights = weights_of(layer, tail)
                start = [s[layer * len(self._directions()) + d] for s in states]
                bias = weights[2] if self._gates == 3 else _bias_of(weights[2], weights[3])
                y, ends = self._run(self._project_input(x, weights[0], bias), mask, start, weights, d == 1)
                outputs.append(y)
                last.append(ends)
            x = outputs[0] if len(outputs) == 1 else FUNCTIONS["cat"](outputs, 2)
            if self.dropout and self.training and layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout)
        return x, [FUNCTIONS["stack"](each) for each in zip(*last)]

    def forward(self, input, hx=None):
        """Return (outputs of the last layer, last states); the input is (T, B, size), (T, size), or packed."""
        states = None if hx is None else list(hx) if isinstance(hx, (tuple, list)) else [hx]
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, states)
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            self._refuse_input(input)
        single = input.ndim == 2
        x = input.unsqueeze(1) if single else input.transpose(0, 1) if self.batch_first else input
        if not x.shape[0]:
            raise ShapeError(f"{self._get_name()} takes at least one step, got {input.aval}")
        if states is None:
            states = self._zero_state(x.shape[1], x)
        elif single:
            states = [s.unsqueeze(1) for s in states]
        self._check_states(states, x.shape[1], single)
        y, ends = self._run_layers(x, None, states)
        if single:
            return y.squeeze(1), self._delivered([s.squeeze(1) for s in ends])
        return (y.transpose(0, 1) if self.batch_first else y), self._delivered(ends)

    def _forward_packed(self, packed, states):
        x, live = padded_steps(packed)
        steps, batch, count = *shape_of(live), shape_of(packed.data)[0]
        states = self._zero_state(batch, x) if states is None else [_reorder(s, packed.sorted_indices) for s in states]
        self._check_states(states, batch)
        mask = None if count == steps * batch else live.to(x.device)
        y, ends = self._run_layers(x, mask, states)
        data = packed_rows(y, live, count)
        ends = [_reorder(s, packed.unsorted_indices) for s in ends]
        return PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices), self._delivered(ends)

    def _delivered(self, ends):
        return ends[0]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
                              ("bidirectional", False)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """h = tanh(W x + b + U h), or with relu, along time.

    Parameters
    ----------
    input_size, hidden_size : int
        Size of an input and of a hidden state at one time.
    num_layers : int
        Number of layers, each of which reads the results of the one below.
    nonlinearity : {"tanh", "relu"}
        Function of the sum.
    bias : bool
        Whether gates have biases.
    batch_first : bool
        Whether the batch is the first dimension of input and output, instead of time.
    dropout : float
        Probability of dropout on the results of all layers but the last one.
    bidirectional : bool
        Whether a second set of weights reads the sequence backwards.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (L, N, input_size), or (N, L, input_size) with `batch_first`, or (L, input_size), or a `PackedSequence`.
    Output: (L, N, D * hidden_size), and the last states (D * num_layers, N, hidden_size); D is 2 if bidirectional, else 1.

    Examples
    --------
    >>> y, h = nn.RNN(3, 5)(ingot.ones(7, 2, 3))
    >>> y.shape, h.shape
    (ingot.Size([7, 2, 5]), ingot.Size([1, 2, 5]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise unknown_choice("nonlinearity", nonlinearity, ("tanh", "relu"))
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity

    def _run(self, z, mask, states, weights, reverse):
        y = ops.rnn_sequence(z, mask, states[0], weights[1], activation=self.nonlinearity, reverse=reverse)
        return y, (y[0 if reverse else -1],)


class LSTM(RNNBase):
    """Long short-term memory; states are (h, c).

    Parameters
    ----------
    input_size, hidden_size : int
        Size of an input and of a hidden state at one time.
    num_layers : int
        Number of layers, each of which reads the results of the one below.
    bias : bool
        Whether gates have biases.
    batch_first : bool
        Whether the batch is the first dimension of input and output, instead of time.
    dropout : float
        Probability of dropout on the results of all layers but the last one.
    bidirectional : bool
        Whether a second set of weights reads the sequence backwards.
    proj_size : int
        Size to which hidden states are projected; 0 for none.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (L, N, input_size), or (N, L, input_size) with `batch_first`, or (L, input_size), or a `PackedSequence`.
    Output: (L, N, D * hidden_size), and the last states (D * num_layers, N, hidden_size); D is 2 if bidirectional, else 1.

    Examples
    --------
    >>> y, (h, c) = nn.LSTM(3, 5, num_layers=2, bidirectional=True)(ingot.ones(7, 2, 3))
    >>> y.shape, h.shape, c.shape
    (ingot.Size([7, 2, 10]), ingot.Size([4, 2, 5]), ingot.Size([4, 2, 5]))
    """

    _gates = 4

    def _state_sizes(self):
        return (self.proj_size or self.hidden_size, self.hidden_size)

    def _run(self, z, mask, states, weights, reverse):
        y, cell = lstm_over_time(z, mask, states[0], states[1], weights[1], weights[4], reverse)
        return y, (y[0 if reverse else -1], cell)

    def _delivered(self, ends):
        return tuple(ends)


class GRU(RNNBase):
    """Gated recurrent units.

    Parameters
    ----------
    input_size, hidden_size : int
        Size of an input and of a hidden state at one time.
    num_layers : int
        Number of layers, each of which reads the results of the one below.
    bias : bool
        Whether gates have biases.
    batch_first : bool
        Whether the batch is the first dimension of input and output, instead of time.
    dropout : float
        Probability of dropout on the results of all layers but the last one.
    bidirectional : bool
        Whether a second set of weights reads the sequence backwards.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (L, N, input_size), or (N, L, input_size) with `batch_first`, or (L, input_size), or a `PackedSequence`.
    Output: (L, N, D * hidden_size), and the last states (D * num_layers, N, hidden_size); D is 2 if bidirectional, else 1.

    Examples
    --------
    >>> y, h = nn.GRU(3, 5, batch_first=True)(ingot.ones(2, 7, 3))
    >>> y.shape, h.shape
    (ingot.Size([2, 7, 5]), ingot.Size([1, 2, 5]))
    """

    _gates = 3

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
                 device=None, dtype=None):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)

    def _run(self, z, mask, states, weights, reverse):
        y = gru_over_time(z, mask, states[0], weights[1], weights[3], reverse)
        return y, (y[0 if reverse else -1],)


class RNNCellBase(Module):
    """Base of cells: one step of a recurrent layer."""

    _gates = 1
    _states = 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._add_weights(device, dtype)
        self.reset_parameters()

    reset_parameters: Any = RNNBase.reset_parameters

    def _add_weights(self, device, dtype):
        for name, shape in self._shapes_of_weights():
            self.register_parameter(name, empty_parameter(shape, device, dtype))
        if not self.bias:
            for name in ("bias_ih", "bias_hh"):
                self.register_parameter(name, None)

    def _shapes_of_weights(self):
        rows = self._gates * self.hidden_size
        yield "weight_ih", (rows, self.input_size)
        yield "weight_hh", (rows, self.hidden_size)
        if self.bias:
            yield "bias_ih", (rows,)
            yield "bias_hh", (rows,)

    def _batched(self, input, hx):
        """Return (input (B, size), states (B, H), whether a batch was given)."""
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ShapeError(f"{self._get_name()} takes [batch, {self.input_size}] or [{self.input_size}] (input_size), got "
                             f"{input.aval}")
        single = input.ndim == 1
        x = input.unsqueeze(0) if single else input
        states = [None] * self._states if hx is None else list(hx) if isinstance(hx, (tuple, list)) else [hx]
        states = [filled(x, (x.shape[0], self.hidden_size), 0, x.dtype) if s is None else s.unsqueeze(0) if single else s
                  for s in states]
        return x, states, single

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


# Steps of cells on batches.


@memoised
def rnn_step(x, h, w_ih, w_hh, b_ih, b_hh, activation):
    """Return the next state."""
    z = F.linear(x, w_ih, _bias_of(b_ih, b_hh)).unsqueeze(0)
    return ops.rnn_sequence(z, None, h, w_hh, activation=activation, reverse=False)[0]


@memoised
def lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh):
    """Return the next (h, c)."""
    z = F.linear(x, w_ih, _bias_of(b_ih, b_hh)).unsqueeze(0)
    y, cell = lstm_over_time(z, None, h, c, w_hh, None, False)
    return y[0], cell


@memoised
def gru_step(x, h, w_ih, w_hh, b_ih, b_hh):
    """Return the next state."""
    return gru_over_time(F.linear(x, w_ih, b_ih).unsqueeze(0), None, h, w_hh, b_hh, False)[0]


class RNNCell(RNNCellBase):
    """One step of an RNN."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self):
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")

    def forward(self, input, hx=None):
        """Return the next state."""
        x, (h,), single = self._batched(input, hx)
        h = rnn_step(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, self.nonlinearity)
        return h[0] if single else h


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    Parameters
    ----------
    input_size, hidden_size : int
        Size of an input and of a state.
    bias : bool
        Whether gates have biases.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (N, input_size) and a pair of states (N, hidden_size), zero if left out. Output: the new pair.

    Examples
    --------
    >>> h, c = nn.LSTMCell(3, 5)(ingot.ones(2, 3))
    >>> h.shape
    ingot.Size([2, 5])
    """

    _gates, _states = 4, 2

    def forward(self, input, hx=None):
        """Return the next (h, c)."""
        x, (h, c), single = self._batched(input, hx)
        h, c = _run_step(lstm_step, c, x, h, c, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h[0], c[0]) if single else (h, c)


class GRUCell(RNNCellBase):
    """One step of a GRU.

    Parameters
    ----------
    input_size, hidden_size : int
        Size of an input and of a state.
    bias : bool
        Whether gates have biases.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (N, input_size) and a state (N, hidden_size), zero if left out. Output: the new state.

    Examples
    --------
    >>> nn.GRUCell(3, 5)(ingot.ones(2, 3)).shape
    ingot.Size([2, 5])
    """

    _gates = 3

    def forward(self, input, hx=None):
        """Return the next state."""
        x, (h,), single = self._batched(input, hx)
        h = _run_step(gru_step, h, x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return h[0] if single else h
