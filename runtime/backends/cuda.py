"""Switches of the CUDA backend."""

from contextlib import contextmanager
from types import SimpleNamespace

from ..device import DRIVERS

__all__ = ["cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
           "flash_sdp_enabled", "is_built", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "sdp_kernel"]

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                         allow_bf16_reduced_precision_reduction=True)
_attention = {"cudnn": True, "flash": True, "math": True, "mem_efficient": True}


def is_built() -> bool:
    """Whether a CUDA backend is loaded."""
    return "cuda" in DRIVERS


def enable_cudnn_sdp(enabled: bool):
    """Accepted: ingot has one attention kernel for each device."""
    _attention["cudnn"] = bool(enabled)


def enable_flash_sdp(enabled: bool):
    """Accepted: ingot has one attention kernel for each device."""
    _attention["flash"] = bool(enabled)


def enable_math_sdp(enabled: bool):
    """Accepted: ingot has one attention kernel for each device."""
    _attention["math"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool):
    """Accepted: ingot has one attention kernel for each device."""
    _attention["mem_efficient"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """What enable_cudnn_sdp set."""
    return _attention["cudnn"]


def flash_sdp_enabled() -> bool:
    """What enable_flash_sdp set."""
    return _attention["flash"]


def math_sdp_enabled() -> bool:
    """What enable_math_sdp set."""
    return _attention["math"]


def mem_efficient_sdp_enabled() -> bool:
    """What enable_mem_efficient_sdp set."""
    return _attention["mem_efficient"]


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Sets the four switches inside."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)
