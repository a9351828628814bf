"""How float32 is multiplied on a device, by PyTorch's switches: "ieee" rounds as float32 does, "tf32" takes the tensor cores,
which read 11 bits of each factor and add up in float32.
"""

from ...core import float32_precision


def of_products() -> str:
    """In products and attention: as float32, unless TF32 was allowed."""
    return _of("matmul")


def of_convolutions() -> str:
    """In convolutions: TF32, unless it was forbidden."""
    return _of("conv")


def of_recurrent() -> str:
    """In the steps of recurrent layers: TF32, unless it was forbidden."""
    return _of("rnn")


def _of(op) -> str:
    return "tf32" if float32_precision.get("cuda", op) == "tf32" else "ieee"


def of_all() -> tuple:
    """All, for what was compiled by them."""
    table = float32_precision.answers
    found = table.get("cuda")
    if found is None:
        found = table["cuda"] = of_products(), of_convolutions(), of_recurrent()
    return found
