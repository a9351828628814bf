"""Gradient modes, defaults of the process, constants and types under `ingot.*`; methods of autograd on Tensor."""

import math

from ....ir.dtype import ALIASES, DType
from ...autograd import backward, hooks
from ...autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from ...autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ...core.printing import set_printoptions
from ...state.mode import get_default_dtype, set_default_dtype
from .register import FUNCTIONS

__all__ = ["backward", "hooks"]

for _f in (is_anomaly_enabled, is_anomaly_check_nan_enabled, enable_grad, inference_mode, is_grad_enabled,
           is_inference_mode_enabled, no_grad, set_grad_enabled, get_default_dtype, set_default_dtype, set_printoptions):
    FUNCTIONS[_f.__name__] = _f
FUNCTIONS.update(ALIASES, dtype=DType, pi=math.pi, e=math.e, inf=math.inf, nan=math.nan, newaxis=None)
