"""Precision of float32 products by PyTorch's switches: "ieee" rounds as float32, "tf32" uses tensor cores.

Tensor cores read 11 bits of each factor and add in float32.
"""

from ...core import float32_precision


def of_products() -> str:
    """Return the precision of products and attention: "ieee" unless TF32 was allowed."""
    return _of("matmul")


def of_convolutions() -> str:
    """Return the precision of convolutions: "tf32" unless it was forbidden."""
    return _of("conv")


def of_recurrent() -> str:
    """Return the precision of recurrent layers: "tf32" unless it was forbidden."""
    return _of("rnn")


def _of(op) -> str:
    return "tf32" if float32_precision.get("cuda", op) == "tf32" else "ieee"


def of_all() -> tuple:
    """Return all three, as a key of compiled code."""
    table = float32_precision.answers
    found = table.get("cuda")
    if found is None:
        found = table["cuda"] = of_products(), of_convolutions(), of_recurrent()
    return found
