"""Recurrent modules with int8 weights: input and state are quantised row by row at each step."""

from collections.abc import Callable
from typing import Any

from ...ir import dtype as dt
from ...ir.dtype import qint8
from ...ir.errors import ArgumentError, DTypeError
from ...ir.ops.quantized.int8_linear import linear_int8, recurrent_int8
from ..api.register.register import FUNCTIONS
from ..nn.layers import rnn
from ..nn.utils.parametrize import type_before_parametrizations
from .int8_weights import quantized, require_int8

_SCALE = "_scale"       # suffix of a weight's scales


class _Quantized:
    """Base of quantised modules: int8 weights are buffers, each with scales beside it; biases are buffers of float32."""

    _float_module: type
    _layer: Any
    _gates: int
    _buffers: dict
    bias: Any
    register_buffer: Callable
    _options: Callable
    _shapes_of_weights: Callable

    def __init__(self, *args, dtype=qint8, **kwargs):
        require_int8(dtype)
        super().__init__(*args, **kwargs)

    def reset_parameters(self):
        """Do nothing: weights come from a float module."""

    def _add(self, name, shape):
        """Add a weight with its scales, or a bias."""
        if len(shape) == 1:
            self.register_buffer(name, FUNCTIONS["zeros"](shape, dtype=dt.float32))
            return
        self.register_buffer(name, FUNCTIONS["zeros"](shape, dtype=dt.int8))
        self.register_buffer(name + _SCALE, FUNCTIONS["ones"](shape[:1], dtype=dt.float32))

    def _pair(self, name):
        """Return a weight and its scales."""
        return self._buffers[name], self._buffers[name + _SCALE]

    @classmethod
    def from_float(cls, mod):
        """Return the quantised module of a float one."""
        if type_before_parametrizations(mod) is not cls._float_module:
            raise DTypeError(f"{cls.__name__}.from_float takes nn.{cls._float_module.__name__}, got {type(mod).__name__}")
        made = cls(**cls._options(mod))
        for name in list(made._buffers):
            if name.startswith("bias"):
                setattr(made, name, getattr(mod, name).detach().clone())
            elif not name.endswith(_SCALE):
                whole, scale = quantized(getattr(mod, name), f"{cls._float_module.__name__}.{name}")
                setattr(made, name, whole)
                setattr(made, name + _SCALE, scale)
        return made

    def _over_time(self, z, mask, states, weight, bias, reverse):
        """Return (all states, last cells of an LSTM) from a weight and its scales."""
        cells = states[1] if len(states) == 2 else None
        return recurrent_int8(z, mask, states[0], cells, *weight, bias if self._gates == 3 else None, layer=self._layer,
                              reverse=reverse)

    def _get_name(self):
        return f"DynamicQuantized{type(self).__name__}"


# Layers.


class _Layers(_Quantized):
    """Layers that process whole sequences."""

    @staticmethod
    def _options(mod):
        if mod.proj_size:
            raise ArgumentError("an LSTM with proj_size is not quantised; leave it out with {'its name': None} as qconfig_spec")
        return {name: getattr(mod, name) for name in ("input_size", "hidden_size", "num_layers", "bias", "batch_first",
                                                      "dropout", "bidirectional")}

    def _add_weights(self, device, dtype):
        for name, shape in self._shapes_of_weights():
            self._add(name, shape)

    def _weights(self, layer, tail):
        own, end = self._buffers, f"_l{layer}{tail}"
        return [self._pair(f"weight_ih{end}"), self._pair(f"weight_hh{end}"), own.get(f"bias_ih{end}"),
                own.get(f"bias_hh{end}"), None]

    def _project_input(self, x, weight, bias):
        return linear_int8(x, *weight, bias)

    def _run(self, z, mask, states, weights, reverse):
        y, *cells = self._over_time(z, mask, states, weights[1], weights[3], reverse)
        return y, (y[0 if reverse else -1], *cells)


class LSTM(_Layers, rnn.LSTM):
    """Long short-term memory with int8 weights."""

    _float_module, _layer = rnn.LSTM, "lstm"


class GRU(_Layers, rnn.GRU):
    """Gated recurrent units with int8 weights."""

    _float_module, _layer = rnn.GRU, "gru"


# Cells.


class _Cells(_Quantized):
    """Cells that process one step."""

    bias_ih: Any
    bias_hh: Any
    _batched: Callable

    @staticmethod
    def _options(mod):
        return {"input_size": mod.input_size, "hidden_size": mod.hidden_size, "bias": mod.bias}

    def _add_weights(self, device, dtype):
        for name, shape in self._shapes_of_weights():
            self._add(name, shape)
        if not self.bias:
            self.bias_ih = self.bias_hh = None

    def forward(self, input, hx=None):
        """Return the next state, or states."""
        x, states, single = self._batched(input, hx)
        joined = self.bias_ih is None or self._layer == "gru"
        z = linear_int8(x, *self._pair("weight_ih"), self.bias_ih if joined else self.bias_ih + self.bias_hh).unsqueeze(0)
        y, *cells = self._over_time(z, None, states, self._pair("weight_hh"), self.bias_hh, False)
        found = [y[0], *cells]
        if single:
            found = [state[0] for state in found]
        return tuple(found) if cells else found[0]


class LSTMCell(_Cells, rnn.LSTMCell):
    """One step of an LSTM with int8 weights."""

    _float_module, _layer = rnn.LSTMCell, "lstm"


class GRUCell(_Cells, rnn.GRUCell):
    """One step of a GRU with int8 weights."""

    _float_module, _layer = rnn.GRUCell, "gru"


class RNNCell(_Cells, rnn.RNNCell):
    """One step of an RNN with int8 weights."""

    _float_module = rnn.RNNCell

    @staticmethod
    def _options(mod):
        return {**_Cells._options(mod), "nonlinearity": mod.nonlinearity}

    _layer = property(lambda self: f"rnn_{self.nonlinearity}")
