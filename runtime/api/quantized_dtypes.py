"""The name of the dtype of quantised weights. No tensor has it: weights are tensors of int8 beside their scales."""

from .register import FUNCTIONS


class QuantizedDType:
    """What `quantize_dynamic` is asked for as `dtype`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"ingot.{self.name}"

    def __reduce__(self):
        return self.name                # the one there is


qint8 = QuantizedDType("qint8")
FUNCTIONS["qint8"] = qint8
