"""How float32 is multiplied on a device, by PyTorch's switches: "ieee" rounds as float32 does, "tf32" takes the tensor cores,
which read 11 bits of each factor and add up in float32.
"""

from ..backends import cudnn
from ..backends.cuda import matmul as SWITCHES
from ..info import get_float32_matmul_precision


def of_products() -> str:
    """In products and attention: as float32, unless TF32 was allowed."""
    return "tf32" if SWITCHES.allow_tf32 or get_float32_matmul_precision() != "highest" else "ieee"


def of_convolutions() -> str:
    """In convolutions, and in the steps of recurrent layers: TF32, unless it was forbidden."""
    return "tf32" if cudnn.allow_tf32 else "ieee"


def of_all() -> tuple:
    """Both, for what was compiled by them."""
    return of_products(), of_convolutions()
