"""Names of the dtypes of quantised weights and inputs. Tensors are of int8 and uint8, beside scales."""

from .register import FUNCTIONS


class QuantizedDType:
    """What quantisation is asked for as `dtype`."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"ingot.{self.name}"

    def __reduce__(self):
        return self.name                # the one there is


qint8, quint8 = QuantizedDType("qint8"), QuantizedDType("quint8")
FUNCTIONS["qint8"], FUNCTIONS["quint8"] = qint8, quint8
