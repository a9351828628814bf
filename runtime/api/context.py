"""Functions about the current thread and process, published beside the operators."""

from ..autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ..state import get_default_dtype, set_default_dtype
from .register import FUNCTIONS

for _f in (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled,
           get_default_dtype, set_default_dtype):
    FUNCTIONS[_f.__name__] = _f
