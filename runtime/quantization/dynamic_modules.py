"""`ingot.ao.nn.quantized.dynamic`: modules with int8 weights, whose inputs are quantised at each call.

A weight has whole numbers from -127 to 127 and a scale for each row. Each row of an input has 255 steps between its smallest
and largest number, so rows are independent (`ir/ops/quantized/int8_linear.py`). Inputs and results are float32; there are no
gradients.
"""

from ...ir import dtype as dt
from ...ir.dtype import qint8
from ...ir.errors import DTypeError
from ...ir.ops.quantized.int8_linear import linear_int8
from ..api.register.register import FUNCTIONS
from ..nn.base.module import Module
from ..nn.layers.linear import Linear as FloatLinear
from ..nn.utils.parametrize import type_before_parametrizations
from .dynamic_recurrent import GRU, LSTM, GRUCell, LSTMCell, RNNCell
from .int8_weights import quantized, require_int8

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "Linear", "RNNCell"]


class Linear(Module):
    """Linear layer y = x @ weight.T + bias with an int8 weight."""

    _float_module = FloatLinear

    def __init__(self, in_features, out_features, bias_=True, dtype=qint8):
        super().__init__()
        require_int8(dtype)
        self.in_features, self.out_features = in_features, out_features
        self.register_buffer("weight_int8", FUNCTIONS["zeros"]((out_features, in_features), dtype=dt.int8))
        self.register_buffer("scale", FUNCTIONS["ones"]((out_features,), dtype=dt.float32))
        self.register_buffer("bias_float", FUNCTIONS["zeros"]((out_features,), dtype=dt.float32) if bias_ else None)

    @classmethod
    def from_float(cls, mod):
        """Return the quantised module of a float one."""
        if type_before_parametrizations(mod) is not cls._float_module:
            raise DTypeError(f"{cls.__module__}.{cls.__name__}.from_float takes nn.{cls._float_module.__name__}, got "
                             f"{type(mod).__name__}")
        module = cls(mod.in_features, mod.out_features, mod.bias is not None)
        module.set_weight_bias(mod.weight, mod.bias)
        return module

    def set_weight_bias(self, weight, bias):
        """Quantise a float weight, and take it with a bias."""
        self.weight_int8, self.scale = quantized(weight, "Linear")
        self.bias_float = None if bias is None else bias.detach().clone()

    def weight(self):
        return self.weight_int8.to(dt.float32) * self.scale.unsqueeze(1)

    def bias(self):
        return self.bias_float

    def forward(self, input):
        return linear_int8(input, self.weight_int8, self.scale, self.bias_float)

    def _get_name(self):
        return "DynamicQuantizedLinear"

    def extra_repr(self):
        bias = "" if self.bias_float is not None else ", bias=False"
        return f"in_features={self.in_features}, out_features={self.out_features}{bias}, dtype=ingot.qint8"
