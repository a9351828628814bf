"""`ingot.backends.cuda`: switches of the CUDA backend."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.backends.cudnn import _Operation as _Operation
import contextlib as _contextlib

cufft_plan_cache: _PlanCache
matmul: _Products
def allow_fp16_bf16_reduction_math_sdp(enabled: _b.bool) -> None:
    """Do nothing: attention sums in float32."""
def cudnn_sdp_enabled() -> _b.bool:
    """Return the value of enable_cudnn_sdp."""
def enable_cudnn_sdp(enabled: _b.bool) -> None:
    """Store the switch, which has no effect."""
def enable_flash_sdp(enabled: _b.bool) -> None:
    """Store the switch, which has no effect."""
def enable_math_sdp(enabled: _b.bool) -> None:
    """Store the switch, which has no effect."""
def enable_mem_efficient_sdp(enabled: _b.bool) -> None:
    """Store the switch, which has no effect."""
def flash_sdp_enabled() -> _b.bool:
    """Return the value of enable_flash_sdp."""
def fp16_bf16_reduction_math_sdp_allowed() -> _b.bool:
    """Return False."""
def is_built() -> _b.bool:
    """Return whether a CUDA backend is loaded."""
def is_flash_attention_available() -> _b.bool:
    """Return True: attention is one kernel without a score matrix."""
def math_sdp_enabled() -> _b.bool:
    """Return the value of enable_math_sdp."""
def mem_efficient_sdp_enabled() -> _b.bool:
    """Return the value of enable_mem_efficient_sdp."""
def preferred_blas_library(backend: _b.str | None = None) -> _b.str:
    """'default': ingot makes its own kernels, whichever library is asked for."""
def preferred_linalg_library(backend: _b.str | None = None) -> _b.str:
    """'default': ingot makes its own kernels, whichever library is asked for."""
def sdp_kernel(enable_flash: _b.bool = True, enable_math: _b.bool = True,
               enable_mem_efficient: _b.bool = True,
               enable_cudnn: _b.bool = True) -> _contextlib._GeneratorContextManager[_t.Any]:
    """Set the four switches inside."""

class _PlanCache:
    """The plan cache of Fourier transforms; ingot's kernels have no plans."""
    def __getitem__(self, device: _t.Any) -> _t.Self: ...
    def clear(self) -> None:
        """Do nothing: the cache is empty."""
    max_size: _Setting
    size: _b.int

class _Products(_Operation):
    """Switches of matrix products. Those of half precision change nothing: sums are in float32."""
    fp32_precision: _t.Any
    allow_bf16_reduced_precision_reduction: _Setting
    allow_fp16_accumulation: _Setting
    allow_fp16_reduced_precision_reduction: _Setting
    @_b.property
    def allow_tf32(self) -> _b.bool:
        """Return whether float32 products may use TF32."""
    @allow_tf32.setter
    def allow_tf32(self, value: _t.Any) -> None: ...

class _Setting:
    """Attribute of a class, or of a module of that class, that is a switch."""
    switch: _t.Any
    def __get__(self, owner: _t.Any, kind: _t.Any = None) -> _t.Any: ...
    def __init__(self, name: _b.str, value: _t.Any) -> None: ...
    def __set__(self, owner: _t.Any, value: _t.Any) -> None: ...
