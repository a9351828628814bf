"""autocast: products run in a low precision, operators that need range in float32, all others in their dtypes.

An operator's traits declare its precision: "autocast_low", "autocast_wide", or "wide_on_gpu" for float32 on GPUs alone (their
float16 has little range, bfloat16 has that of float32). "low_on_gpu" products keep their dtypes on CPUs. Functions that are
wide on CPUs by their dims or mode declare it where they are called (`type_promotion.wide_on_cpus`); so do functions whose
steps autocast ignores (same file).
"""

import weakref

from ...ir import dtype as dt
from ...ir.blocks import Block
from ...ir.errors import ArgumentError, DeviceError, DTypeError, kind_of
from ...ir.ops.core.elementwise import cast
from ..api.register.register import FUNCTIONS
from ..core.device import KINDS, available
from ..core.node import FREED, Leaf
from ..core.tensor import Tensor
from ..state.messages import warn
from ..state.mode import tls
from ..state.switches import ThreadSwitch

__all__ = ["autocast", "autocast_decorator", "is_autocast_available"]

LOW = (dt.bfloat16, dt.float16)
_CASTS = frozenset((*LOW, dt.float32))


class Casting:
    """Casts of autocast at dispatch; two are equal if they cast alike. Inside its context, casts of parameters are cached, so
    that one used many times is cast once."""

    def __init__(self, dtypes: dict, caches: bool):
        self.dtypes = dtypes                    # low dtype by kind of device
        self.cache = {} if caches else None       # id -> (weak reference, version, grad mode, dtype, cast tensor)
        self._same = tuple(sorted((kind, d.name) for kind, d in dtypes.items()))

    def __eq__(self, other):
        return isinstance(other, Casting) and self._same == other._same

    def __hash__(self):
        return hash(self._same)

    def cast(self, op, args):
        traits = op.traits
        target: dt.DType | None
        if "autocast_wide" in traits:
            target = dt.float32
        elif "autocast_low" in traits:
            target = self.dtypes.get(_kind(args))
        elif "wide_on_gpu" in traits:
            target = dt.float32 if _kind(args) == "cuda" else None
        elif "low_on_gpu" in traits:
            target = self.dtypes.get("cuda") if _kind(args) == "cuda" else None
        else:
            return args
        return args if target is None else tuple([self._one(a, target) for a in args])

    def low(self, *args):
        """Return operands of a product in the low dtype of their device."""
        wanted = self.dtypes.get(_kind(args))
        return args if wanted is None else tuple([self._one(a, wanted) for a in args])

    def _one(self, a, wanted):
        if not isinstance(a, Tensor) or a.dtype is wanted or a.dtype not in _CASTS:
            return a
        m = tls.m
        if self.cache is None or type(a._node) is not Leaf or a._base is not None or m.recorder is not None:
            return cast(a, dtype=wanted)
        entry = self.cache.get(id(a))
        if entry is not None and entry[0]() is a and entry[1:4] == (a._version, m.grad, wanted) and _has_history(entry[4]):
            return entry[4]
        result = cast(a, dtype=wanted)
        self.cache[id(a)] = (weakref.ref(a), a._version, m.grad, wanted, result)
        return result

    def forget(self):
        """Drop the cache for good."""
        self.cache = None


def _kind(args) -> str | None:
    """Return the kind of device of an operator's arguments."""
    return next((a.device.type for a in args if isinstance(a, Tensor)), None)


def _has_history(t) -> bool:
    """Return whether backward can still go through a tensor's history."""
    return t._node is None or t._node.saved is not FREED


_dtypes = {kind: ThreadSwitch(f"the dtype of autocast on {kind}", dt.bfloat16 if kind == "cpu" else dt.float16)
           for kind in KINDS}
_caches = ThreadSwitch("whether autocast caches casts of parameters", True)


def is_autocast_available(device_type: str) -> bool:
    """Return whether autocast supports a kind of device."""
    return _checked_kind(device_type) in ("cpu", "cuda")


def _checked_kind(device_type) -> str:
    if not isinstance(device_type, str):
        raise ArgumentError(f"autocast: device_type must be a name such as 'cpu' or 'cuda', got {device_type!r}")
    if device_type not in KINDS:
        raise DeviceError(f"autocast: unknown device_type {device_type!r}; it must be one of {', '.join(KINDS)}")
    return device_type


def get_autocast_dtype(device_type: str) -> dt.DType:
    """Return the low dtype that autocast uses on a kind of device."""
    return _dtypes[_checked_kind(device_type)].get()


def set_autocast_dtype(device_type: str, dtype):
    """Set the low dtype that autocast uses on a kind of device."""
    _dtypes[_checked_kind(device_type)].set(dt.as_dtype(dtype))


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return whether autocast is on for a kind of device (by default CUDA)."""
    casting = tls.m.autocast
    return casting is not None and _checked_kind(device_type or "cuda") in casting.dtypes


def set_autocast_enabled(device_type, enabled=None):
    """Switch autocast on or off for a kind of device, until the next switch."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    kind = _checked_kind(device_type)
    dtype = get_autocast_dtype(kind) if enabled else None
    _install(_with(tls.m.autocast, kind, dtype, caches=False))


def is_autocast_cache_enabled() -> bool:
    """Return whether autocast caches casts of parameters."""
    return _caches.get()


def set_autocast_cache_enabled(enabled: bool):
    """Set whether autocast caches casts of parameters."""
    _caches.set(bool(enabled))


def clear_autocast_cache():
    """Drop the cached casts of parameters."""
    casting = tls.m.autocast
    if casting is not None and casting.cache:
        casting.cache.clear()


def _with(casting, kind, dtype, caches) -> Casting | None:
    """Return the casts in force, with another low dtype (None: off) for one kind of device."""
    dtypes = dict(casting.dtypes) if casting is not None else {}
    dtypes.pop(kind, None)
    if dtype is not None:
        dtypes[kind] = dtype
    return Casting(dtypes, caches) if dtypes else None


def _install(casting):
    m = tls.m
    m.autocast = casting
    m.refresh()


class autocast(Block):
    """Context manager and decorator: matrix products, convolutions and attention run in `dtype`, losses in float32.

    `dtype` is by default bfloat16 on the CPU, float16 on GPUs. On GPUs exponentials, powers, sums and softmax are float32,
    too. Use it for a forward pass and its loss; call backward() outside. It nests, and `enabled=False` switches it off inside.

    Parameters
    ----------
    device_type : str
        Kind of device whose operators are cast: "cpu" or "cuda".
    dtype : dtype, optional
        The low dtype: bfloat16 or float16.
    enabled : bool
        Whether anything is cast; False switches an outer autocast off.
    cache_enabled : bool, optional
        Whether a parameter is cast once inside of the context.

    Examples
    --------
    >>> with amp.autocast("cpu"):
    ...     y = ingot.ones(2, 3) @ ingot.ones(3, 2)
    >>> y.dtype
    ingot.bfloat16
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        super().__init__()
        self.device = _checked_kind(device_type)
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dt.as_dtype(dtype)
        self._enabled = bool(enabled) and self._possible()
        self._cache_enabled = cache_enabled

    def _possible(self) -> bool:
        if not available(self.device):
            warn(f"autocast: there is no {self.device} device here, so it does nothing")
            return False
        if self.fast_dtype not in LOW:
            warn(f"autocast does not run in {self.fast_dtype.name}, only in bfloat16 and float16, so it does nothing")
            return False
        return True

    def __call__(self, func):
        if not callable(func):
            raise DTypeError(f"autocast() as a decorator takes a function, got {kind_of(func)}")
        return super().__call__(func)

    def around(self):
        before, switch = tls.m.autocast, _dtypes[self.device]
        set_dtype, put_back_dtype = switch.around(self.fast_dtype)

        def begin():
            keeps = _caches.peek() if self._cache_enabled is None else self._cache_enabled
            set_dtype()
            _install(_with(before, self.device, self.fast_dtype if self._enabled else None, keeps))
            return self

        def put_back():
            inside = tls.m.autocast
            if inside is not None:
                inside.forget()
            put_back_dtype()
            _install(before)

        return begin, put_back


def autocast_decorator(autocast_instance, func):
    """Return a function that runs inside an autocast."""
    return autocast_instance(func)


def is_autocast_cpu_enabled() -> bool:
    """Return whether autocast is on for the CPU."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype():
    """Return the low dtype that autocast uses on the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """Return the low dtype that autocast uses on CUDA devices."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_enabled(enabled: bool):
    """Switch autocast for the CPU on or off."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype):
    """Set the low dtype that autocast uses on the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype):
    """Set the low dtype that autocast uses on CUDA devices."""
    set_autocast_dtype("cuda", dtype)


for _f in (autocast, clear_autocast_cache, get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype,
           is_autocast_available, is_autocast_cache_enabled, is_autocast_cpu_enabled, is_autocast_enabled,
           set_autocast_cache_enabled, set_autocast_cpu_dtype, set_autocast_cpu_enabled, set_autocast_dtype,
           set_autocast_enabled, set_autocast_gpu_dtype):
    FUNCTIONS[_f.__name__] = _f
