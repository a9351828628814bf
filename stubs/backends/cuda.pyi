"""The names of `ingot.backends.cuda`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

import builtins
from typing import Any

from ..runtime.backends.cuda import allow_fp16_bf16_reduction_math_sdp as allow_fp16_bf16_reduction_math_sdp
from ..runtime.backends.cuda import cufft_plan_cache as cufft_plan_cache
from ..runtime.backends.cuda import fp16_bf16_reduction_math_sdp_allowed as fp16_bf16_reduction_math_sdp_allowed
from ..runtime.backends.cuda import is_built as is_built
from ..runtime.backends.cuda import is_flash_attention_available as is_flash_attention_available
from ..runtime.backends.cuda import matmul as matmul
from ..runtime.backends.cuda import sdp_kernel as sdp_kernel

def cudnn_sdp_enabled() -> builtins.bool:
    """Return the value of enable_cudnn_sdp."""
def enable_cudnn_sdp(enabled: builtins.bool) -> Any:
    """Store the switch, which has no effect."""
def enable_flash_sdp(enabled: builtins.bool) -> Any:
    """Store the switch, which has no effect."""
def enable_math_sdp(enabled: builtins.bool) -> Any:
    """Store the switch, which has no effect."""
def enable_mem_efficient_sdp(enabled: builtins.bool) -> Any:
    """Store the switch, which has no effect."""
def flash_sdp_enabled() -> builtins.bool:
    """Return the value of enable_flash_sdp."""
def math_sdp_enabled() -> builtins.bool:
    """Return the value of enable_math_sdp."""
def mem_efficient_sdp_enabled() -> builtins.bool:
    """Return the value of enable_mem_efficient_sdp."""
def preferred_blas_library(backend: builtins.str | None = None) -> builtins.str:
    """'default': ingot makes its own kernels, whichever library is asked for."""
def preferred_linalg_library(backend: builtins.str | None = None) -> builtins.str:
    """'default': ingot makes its own kernels, whichever library is asked for."""
