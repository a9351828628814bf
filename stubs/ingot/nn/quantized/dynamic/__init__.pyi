"""`ingot.ao.nn.quantized.dynamic`: modules with int8 weights, whose inputs are quantised at each call."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype
from ingot.nn import GRU as _GRU
from ingot.nn import GRUCell as _GRUCell
from ingot.nn import LSTM as _LSTM
from ingot.nn import LSTMCell as _LSTMCell
from ingot.nn import Module as _Module
from ingot.nn import RNNCell as _RNNCell

class GRU(_GRU):
    """Gated recurrent units with int8 weights."""
    bias: _t.Any
    register_buffer: _c.Callable[..., _t.Any]
    def __init__(self, *args: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 **kwargs: _t.Any) -> None: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any) -> _t.Any:
        """Return the quantised module of a float one."""
    def reset_parameters(self) -> None:
        """Do nothing: weights come from a float module."""

class GRUCell(_GRUCell):
    """One step of a GRU with int8 weights."""
    bias: _t.Any
    bias_hh: _t.Any
    bias_ih: _t.Any
    register_buffer: _c.Callable[..., _t.Any]
    def __init__(self, *args: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 **kwargs: _t.Any) -> None: ...
    def forward(self, input: _Tensor, hx: _t.Any = None) -> _Tensor:
        """Return the next state, or states."""
    @_b.classmethod
    def from_float(cls, mod: _t.Any) -> _t.Any:
        """Return the quantised module of a float one."""
    def reset_parameters(self) -> None:
        """Do nothing: weights come from a float module."""

class LSTM(_LSTM):
    """Long short-term memory with int8 weights."""
    bias: _t.Any
    register_buffer: _c.Callable[..., _t.Any]
    def __init__(self, *args: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 **kwargs: _t.Any) -> None: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any) -> _t.Any:
        """Return the quantised module of a float one."""
    def reset_parameters(self) -> None:
        """Do nothing: weights come from a float module."""

class LSTMCell(_LSTMCell):
    """One step of an LSTM with int8 weights."""
    bias: _t.Any
    bias_hh: _t.Any
    bias_ih: _t.Any
    register_buffer: _c.Callable[..., _t.Any]
    def __init__(self, *args: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 **kwargs: _t.Any) -> None: ...
    def forward(self, input: _Tensor, hx: _t.Any = None) -> _Tensor:
        """Return the next state, or states."""
    @_b.classmethod
    def from_float(cls, mod: _t.Any) -> _t.Any:
        """Return the quantised module of a float one."""
    def reset_parameters(self) -> None:
        """Do nothing: weights come from a float module."""

class Linear(_Module):
    """Linear layer y = x @ weight.T + bias with an int8 weight."""
    bias_float: _t.Any
    in_features: _b.int
    out_features: _b.int
    scale: _t.Any
    weight_int8: _t.Any
    def __init__(self, in_features: _b.int, out_features: _b.int, bias_: _b.bool = True,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...) -> None: ...
    def bias(self) -> _t.Any: ...
    def extra_repr(self) -> _b.str: ...
    def forward(self, input: _Tensor) -> _Tensor: ...
    @_b.classmethod
    def from_float(cls, mod: _t.Any) -> _t.Any:
        """Return the quantised module of a float one."""
    def set_weight_bias(self, weight: _Tensor, bias: _t.Any) -> None:
        """Quantise a float weight, and take it with a bias."""
    def weight(self) -> _t.Any: ...

class RNNCell(_RNNCell):
    """One step of an RNN with int8 weights."""
    bias: _t.Any
    bias_hh: _t.Any
    bias_ih: _t.Any
    register_buffer: _c.Callable[..., _t.Any]
    def __init__(self, *args: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] = ...,
                 **kwargs: _t.Any) -> None: ...
    def forward(self, input: _Tensor, hx: _t.Any = None) -> _Tensor:
        """Return the next state, or states."""
    @_b.classmethod
    def from_float(cls, mod: _t.Any) -> _t.Any:
        """Return the quantised module of a float one."""
    def reset_parameters(self) -> None:
        """Do nothing: weights come from a float module."""
