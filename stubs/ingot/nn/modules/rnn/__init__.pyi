"""Recurrent layers and cells."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot.nn import GRU as GRU
from ingot.nn import GRUCell as GRUCell
from ingot.nn import LSTM as LSTM
from ingot.nn import LSTMCell as LSTMCell
from ingot.nn import RNN as RNN
from ingot.nn import RNNBase as RNNBase
from ingot.nn import RNNCell as RNNCell
from ingot.nn import RNNCellBase as RNNCellBase

def gru_over_time(z: _t.Any, mask: _Tensor, h: _t.Any, w_hh: _Tensor, b_hh: _Tensor, reverse: _t.Any) -> _t.Any:
    """Return all states."""
def gru_step(x: _t.Any, h: _t.Any, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor, b_hh: _Tensor) -> _t.Any:
    """Return the next state."""
def lstm_over_time(z: _t.Any, mask: _Tensor, h: _t.Any, c: _t.Any, w_hh: _Tensor, w_hr: _t.Any, reverse: _t.Any) -> _t.Any:
    """Return (all states, last cells)."""
def lstm_step(x: _t.Any, h: _t.Any, c: _t.Any, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor,
              b_hh: _Tensor) -> _b.tuple[_t.Any, ...]:
    """Return the next (h, c)."""
def rnn_step(x: _t.Any, h: _t.Any, w_ih: _Tensor, w_hh: _Tensor, b_ih: _Tensor, b_hh: _Tensor,
             activation: _t.Any) -> _t.Any:
    """Return the next state."""
