"""`ingot.ao.nn.quantized.dynamic`: modules with int8 weights, whose inputs are quantised at each call."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn.quantized.dynamic import GRU as GRU
from ingot.nn.quantized.dynamic import GRUCell as GRUCell
from ingot.nn.quantized.dynamic import LSTM as LSTM
from ingot.nn.quantized.dynamic import LSTMCell as LSTMCell
from ingot.nn.quantized.dynamic import Linear as Linear
from ingot.nn.quantized.dynamic import RNNCell as RNNCell
