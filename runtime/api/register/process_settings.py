"""Settings of the process: determinism, precision of float32 products, threads, warnings."""

from ....ir.errors import ArgumentError
from ....ir.suggestions import unknown_choice
from ...core.backend import HOST
from ...core.warn_once import ALWAYS
from ...state import float32_precision
from ...state.switches import LentSwitch, Switch

__all__ = ["are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
           "get_num_interop_threads", "get_num_threads", "is_deterministic_algorithms_warn_only_enabled",
           "is_warn_always_enabled", "set_deterministic_debug_mode", "set_float32_matmul_precision",
           "set_flush_denormal", "set_num_interop_threads", "set_num_threads", "set_warn_always",
           "use_deterministic_algorithms"]

_threads = LentSwitch("the number of threads", HOST.get_num_threads, HOST.set_num_threads)
DETERMINISTIC = Switch("the mode of deterministic algorithms", "default")
_interop_threads = Switch("the number of threads between operators", 1)


def get_num_threads() -> int:
    """Return the number of threads of a kernel, the calling one included."""
    return _threads.get()


def set_num_threads(count: int) -> None:
    """Set the number of threads of kernels. Results do not depend on it. Running calls of other Python threads finish with at
    most as many threads as they were planned for."""
    _threads.set(count)


_LEVELS = ("default", "warn", "error")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Record the mode. Every operator of ingot is deterministic in any mode."""
    DETERMINISTIC.set(("warn" if warn_only else "error") if mode else "default")


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` was switched on."""
    return DETERMINISTIC.get() != "default"


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether use_deterministic_algorithms was given warn_only."""
    return DETERMINISTIC.get() == "warn"


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 (warn) or 2 (error)."""
    return _LEVELS.index(DETERMINISTIC.get())


def set_deterministic_debug_mode(debug_mode) -> None:
    """Set the mode of `use_deterministic_algorithms`: "default", "warn", "error", or 0, 1, 2."""
    if debug_mode not in (*_LEVELS, 0, 1, 2):
        raise ArgumentError(f"debug_mode must be one of {_LEVELS} or 0, 1, 2, got {debug_mode!r}")
    DETERMINISTIC.set(debug_mode if isinstance(debug_mode, str) else _LEVELS[debug_mode])


_PRECISIONS = {"highest": ("ieee", "ieee"), "high": ("tf32", "tf32"), "medium": ("tf32", "bf16")}     # for GPUs, for CPUs


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 products: "highest", "high" or "medium". CPUs always compute them in float32. On a GPU all
    but "highest" allow TF32 tensor cores, which keep 10 bits of the mantissa."""
    if precision not in _PRECISIONS:
        raise unknown_choice("precision", precision, ("highest", "high", "medium"))
    products, on_cpus = _PRECISIONS[precision]
    float32_precision.choose("cuda", "matmul", products)
    float32_precision.choose("mkldnn", "matmul", on_cpus)


def get_float32_matmul_precision() -> str:
    """Return the precision that was set here or by an equivalent switch, such as `backends.cuda.matmul.fp32_precision`."""
    if float32_precision.ask("cuda", "matmul") != "tf32":
        return "highest"
    return "medium" if float32_precision.get("mkldnn", "matmul") == "bf16" else "high"


def set_flush_denormal(mode: bool) -> bool:
    """Return whether the mode is possible. ingot computes with denormal numbers, so only False is."""
    return not mode


def set_warn_always(b: bool) -> None:
    """Set whether warnings that ingot gives once in a process, such as of a GPU's work that the host does, appear every time.
    Python's filters decide about all others."""
    ALWAYS.set(bool(b))


def is_warn_always_enabled() -> bool:
    """Return what `set_warn_always` set."""
    return ALWAYS.get()


def set_num_interop_threads(count: int) -> None:
    """Record the number of threads. ingot runs one operator after the other."""
    if count < 1:
        raise ArgumentError(f"expected a positive number of threads, got {count}")
    _interop_threads.set(count)


def get_num_interop_threads() -> int:
    """Return what `set_num_interop_threads` set."""
    return _interop_threads.get()
