"""Precision of float32 products by PyTorch's switches: "ieee" rounds as float32, "tf32" uses tensor cores.

Tensor cores read 11 bits of each factor and add in float32.
"""

import functools

from ...state import float32_precision


def _of(operation: str) -> str:
    return "tf32" if float32_precision.get("cuda", operation) == "tf32" else "ieee"


of_products = functools.partial(_of, "matmul")          # and of attention: "ieee" unless TF32 was allowed
of_convolutions = functools.partial(_of, "conv")        # "tf32" unless it was forbidden
of_recurrent = functools.partial(_of, "rnn")            # "tf32" unless it was forbidden


def of_all() -> tuple:
    """Return all three, as a key of compiled code."""
    table = float32_precision.answers
    precisions = table.get("cuda")
    if precisions is None:
        precisions = table["cuda"] = of_products(), of_convolutions(), of_recurrent()
    return precisions
