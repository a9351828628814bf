"""Questions about dtypes and the process, and the switches of numerics."""

import warnings

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError
from ...core import float32_precision
from ...core.backend import HOST
from ...core.state import Defaults
from ...core.tensor import Tensor

__all__ = ["are_deterministic_algorithms_enabled", "can_cast", "finfo", "get_deterministic_debug_mode",
           "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "iinfo",
           "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "promote_types",
           "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads",
           "set_num_threads", "set_warn_always", "typename", "use_deterministic_algorithms"]

get_num_threads, set_num_threads = HOST.get_num_threads, HOST.set_num_threads


class finfo:
    """The limits of a floating point dtype (of its parts, for a complex one): bits eps max min tiny resolution."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type=None):
        d = Defaults.dtype if type is None else dt.as_dtype(type)
        if not d.is_inexact:
            raise DTypeError(f"finfo takes a floating point dtype, got {d}; use iinfo")
        about = dt.finfo(d)
        self.bits = about.bits
        self.dtype = about.dtype.name
        self.eps = float(about.eps)
        self.max = float(about.max)
        self.min = float(about.min)
        self.tiny = self.smallest_normal = float(about.tiny)
        self.resolution = 1.0 if d in dt.FLOAT8 else 10.0 ** -about.precision        # of decimal digits that hold

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """The limits of an integer dtype: bits max min."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type):
        d = dt.as_dtype(type)
        if not d.is_integer:
            raise DTypeError(f"iinfo takes an integer dtype, got {d}" + ("; use finfo" if d.is_inexact else ""))
        about = np.iinfo(d.np)
        self.bits, self.max, self.min, self.dtype = about.bits, int(about.max), int(about.min), d.name

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


def promote_types(type1, type2) -> dt.DType:
    """The smallest dtype that both convert to."""
    return dt.promote_types(type1, type2)


def can_cast(from_, to) -> bool:
    """Whether a value of one dtype may be written into a tensor of another."""
    return dt.can_cast(from_, to)


def typename(obj) -> str:
    """The name of an object's type, as in `ingot.FloatTensor`; of a class or a function its own, with its module."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in ("builtins", "", None) else f"{module}.{named.__qualname__}"


# Switches.


class _Switches:
    deterministic = "default"
    warn_always = False
    interop_threads = 1


_LEVELS = ("default", "warn", "error")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted and remembered: every operator of ingot is deterministic, whatever this says."""
    _Switches.deterministic = ("warn" if warn_only else "error") if mode else "default"


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms set."""
    return _Switches.deterministic != "default"


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether use_deterministic_algorithms was given warn_only."""
    return _Switches.deterministic == "warn"


def get_deterministic_debug_mode() -> int:
    """0, 1 (warn) or 2 (error)."""
    return _LEVELS.index(_Switches.deterministic)


def set_deterministic_debug_mode(debug_mode) -> None:
    """Sets what use_deterministic_algorithms sets: "default", "warn", "error", or their numbers."""
    if debug_mode not in (*_LEVELS, 0, 1, 2):
        raise ArgumentError(f"debug_mode must be one of {_LEVELS} or 0, 1, 2, got {debug_mode!r}")
    _Switches.deterministic = debug_mode if isinstance(debug_mode, str) else _LEVELS[debug_mode]


_PRECISIONS = {"highest": ("ieee", "ieee"), "high": ("tf32", "tf32"), "medium": ("tf32", "bf16")}     # on GPUs, and on CPUs


def set_float32_matmul_precision(precision: str) -> None:
    """"highest", "high" or "medium"; products of float32 are always computed in float32 on the CPU. On a GPU
    all but "highest" let them take TF32 tensor cores, which keep 10 bits of the mantissa."""
    if precision not in _PRECISIONS:
        raise ArgumentError(f"precision must be 'highest', 'high' or 'medium', got {precision!r}")
    products, on_cpus = _PRECISIONS[precision]
    float32_precision.choose("cuda", "matmul", products)
    float32_precision.choose("mkldnn", "matmul", on_cpus)


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision set, or another switch for the same (`backends.cuda.matmul.fp32_precision`)."""
    if float32_precision.get("cuda", "matmul") != "tf32":
        return "highest"
    return "medium" if float32_precision.get("mkldnn", "matmul") == "bf16" else "high"


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers could be switched to zero: ingot computes with them, so only False can be had."""
    return not mode


def set_warn_always(b: bool) -> None:
    """Whether a warning appears every time instead of once."""
    _Switches.warn_always = bool(b)
    warnings.filterwarnings("always" if b else "default", module=__name__.split(".")[0])


def is_warn_always_enabled() -> bool:
    """What set_warn_always set."""
    return _Switches.warn_always


def set_num_interop_threads(count: int) -> None:
    """Accepted: ingot runs one operator after the other."""
    if count < 1:
        raise ArgumentError(f"expected a positive number of threads, got {count}")
    _Switches.interop_threads = count


def get_num_interop_threads() -> int:
    """What set_num_interop_threads set."""
    return _Switches.interop_threads
