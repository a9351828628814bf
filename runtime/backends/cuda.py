"""`ingot.backends.cuda`: switches of the CUDA backend."""

from ...ir.blocks import block
from ...ir.suggestions import unknown_choice
from ..core.device import DRIVERS
from ..state import float32_precision
from ..state.switches import Setting, Switch

__all__ = ["allow_fp16_bf16_reduction_math_sdp", "cudnn_sdp_enabled", "cufft_plan_cache", "enable_cudnn_sdp",
           "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled",
           "fp16_bf16_reduction_math_sdp_allowed", "is_built", "is_flash_attention_available", "math_sdp_enabled", "matmul",
           "mem_efficient_sdp_enabled", "preferred_blas_library", "preferred_linalg_library", "sdp_kernel"]


class Products(float32_precision.Operation):
    """Switches of matrix products. Those of half precision change nothing: sums are in float32."""

    __slots__ = ()
    allow_fp16_reduced_precision_reduction = Setting("cuda.matmul.allow_fp16_reduced_precision_reduction", True)
    allow_bf16_reduced_precision_reduction = Setting("cuda.matmul.allow_bf16_reduced_precision_reduction", True)
    allow_fp16_accumulation = Setting("cuda.matmul.allow_fp16_accumulation", False)

    @property
    def allow_tf32(self) -> bool:
        """Return whether float32 products may use TF32."""
        return self.fp32_precision == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool):
        self.fp32_precision = "tf32" if allowed else "ieee"


matmul = Products("cuda", "matmul")


class _PlanCache:
    """The plan cache of Fourier transforms; ingot's kernels have no plans."""

    max_size, size = Setting("cuda.cufft_plan_cache.max_size", 4096), 0

    def __getitem__(self, device):
        return self

    def clear(self):
        """Do nothing: the cache is empty."""


cufft_plan_cache = _PlanCache()


def _preferred(what, known):
    def preferred(backend: str | None = None) -> str:
        if backend is not None and backend not in known:
            raise unknown_choice(what, backend, known)
        return "default"

    preferred.__name__ = preferred.__qualname__ = what
    preferred.__doc__ = "'default': ingot makes its own kernels, whichever library is asked for."
    return preferred


preferred_linalg_library = _preferred("preferred_linalg_library", ("default", "cusolver", "magma"))
preferred_blas_library = _preferred("preferred_blas_library", ("default", "cublas", "cublaslt", "hipblaslt", "ck"))


def allow_fp16_bf16_reduction_math_sdp(enabled: bool):
    """Do nothing: attention sums in float32."""


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return False."""
    return False


def is_flash_attention_available() -> bool:
    """Return True: attention is one kernel without a score matrix."""
    return True


def is_built() -> bool:
    """Return whether a CUDA backend is loaded."""
    return "cuda" in DRIVERS


_attention = {kernel: Switch(f"whether attention takes the kernel {kernel!r}", True)
              for kernel in ("cudnn", "flash", "math", "mem_efficient")}


def _attention_switch(kernel: str):
    """Return (function that stores a switch without effect, function that returns it); each device has one attention kernel."""
    def enable(enabled: bool):
        _attention[kernel].set(bool(enabled))

    def is_enabled() -> bool:
        return _attention[kernel].get()

    enable.__name__, enable.__doc__ = f"enable_{kernel}_sdp", "Store the switch, which has no effect."
    is_enabled.__name__, is_enabled.__doc__ = f"{kernel}_sdp_enabled", f"Return the value of enable_{kernel}_sdp."
    return enable, is_enabled


enable_cudnn_sdp, cudnn_sdp_enabled = _attention_switch("cudnn")
enable_flash_sdp, flash_sdp_enabled = _attention_switch("flash")
enable_math_sdp, math_sdp_enabled = _attention_switch("math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _attention_switch("mem_efficient")


@block
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Set the four switches inside."""
    chosen = {"flash": enable_flash, "math": enable_math, "mem_efficient": enable_mem_efficient, "cudnn": enable_cudnn}
    before = {kernel: _attention[kernel].peek() for kernel in chosen}

    def begin():
        for kernel, enabled in chosen.items():
            _attention[kernel].set(enabled, is_restored=True)

    def put_back():
        for kernel, enabled in before.items():
            _attention[kernel].put(enabled)

    return begin, put_back
