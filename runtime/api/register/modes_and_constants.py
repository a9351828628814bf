"""Functions about the current thread and process, constants and types, published beside the operators."""

import math

from ....ir.dtype import ALIASES, DType
from ...autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ...core.printing import set_printoptions
from ...core.state import get_default_dtype, set_default_dtype
from .register import FUNCTIONS

for _f in (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled,
           get_default_dtype, set_default_dtype, set_printoptions):
    FUNCTIONS[_f.__name__] = _f
FUNCTIONS.update(ALIASES, dtype=DType, pi=math.pi, e=math.e, inf=math.inf, nan=math.nan, newaxis=None)
