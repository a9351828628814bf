"""Devices of tensors. The CPU is always available; backends of other kinds are in `DRIVERS`."""

from functools import lru_cache

from ...ir.errors import ArgumentError, DeviceError, DTypeError
from ...ir.lazy import lazy
from ...ir.suggestions import did_you_mean
from ..state.mode import Defaults
from .backend import DRIVERS
from .device_array import BACKENDS, MESH, SAMPLE, DeviceArray
from .tensor import Tensor

KINDS = ("cpu", "cuda", "mps", "xpu", "hip", "meta")
_GPU_NAMES = frozenset(("gpu", "nvidia", "cuda0"))        # names by which users ask for the first GPU
EVERYWHERE = ("cpu", "meta")        # those that every machine has, one of each

BACKENDS.update(DRIVERS, meta=lazy(__package__, ".meta"))


class Device:
    """A device: its kind (`type`) and its `index` among devices of the kind (None for the current one). As a context manager it
    is the default device of new tensors."""

    __slots__ = ("_before", "index", "type")

    type: str
    index: int | None
    _before: list

    def __init__(self, type, index=None):
        kind, index = _parse(type, index)
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "_before", [])

    def __setattr__(self, name, value):
        raise AttributeError(f"a device cannot be changed (tried to set {name})")

    def __eq__(self, other):
        return isinstance(other, Device) and self.type == other.type and self.index == other.index

    def __hash__(self):
        return hash((self.type, self.index))

    def __repr__(self):
        return f"device(type={self.type!r}{'' if self.index is None else f', index={self.index}'})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self):
        return (Device, (self.type, self.index))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __enter__(self):
        self._before.append(Defaults.device)
        Defaults.device = str(require(self))
        return self

    def __exit__(self, *exc):
        Defaults.device = self._before.pop()


def _parse(what, index):
    """Return kind and index of a name, an index of an accelerator, or another device."""
    if isinstance(what, Device):
        return what.type, what.index if index is None else index
    if isinstance(what, int) and not isinstance(what, bool):
        what, index = next(iter(DRIVERS), "cuda"), what
    if not isinstance(what, str):
        raise DTypeError(f"device takes a name such as 'cpu' or 'cuda:0', an index or a device, got {what!r}")
    kind, colon, number = what.partition(":")
    if kind not in KINDS:
        meant = "; did you mean 'cuda'?" if kind.lower() in _GPU_NAMES else did_you_mean(kind, KINDS)
        raise DeviceError(f"unknown device {what!r}: it must begin with one of {', '.join(KINDS)}{meant}")
    if colon:
        if index is not None:
            raise ArgumentError(f"device {what!r} has an index already, so index={index} cannot be given as well")
        if not (number.isdecimal() and str(int(number)) == number):
            raise DeviceError(f"invalid device {what!r}: after the colon comes a number")
        index = int(number)
    if index is not None and index < 0:
        raise DeviceError(f"a device index must not be negative, got {index}")
    return kind, index


def available(kind: str) -> bool:
    """Return whether this machine has a device of a kind."""
    return kind in EVERYWHERE or (kind in DRIVERS and DRIVERS[kind].count() > 0)


def require(device) -> Device:
    """Return a device; raise an error that lists the available ones if it is not."""
    device = as_device(device)
    if not available(device.type):
        here = ", ".join([*EVERYWHERE, *(k for k in DRIVERS if available(k))])
        why = getattr(DRIVERS.get(device.type), "why_not", lambda: "")()
        raise DeviceError(f"device {device} is not available here{f' ({why})' if why else ''}; tensors can be on: {here}")
    if device.type not in EVERYWHERE and device.index is not None and device.index >= DRIVERS[device.type].count():
        raise DeviceError(f"there is no device {device}: this machine has {DRIVERS[device.type].count()}")
    return device


CPU = Device("cpu")
META = Device("meta")


def as_device(device) -> Device:
    """Return a Device from a name, an index or a device; None is the default device."""
    if type(device) is Device:
        return device
    if type(device) is str:
        return _named(device)
    return get_default_device() if device is None else Device(device)


@lru_cache(64)
def _named(name: str) -> Device:
    return Device(name)


def get_default_device() -> Device:
    """Return the device of new tensors."""
    return CPU if Defaults.device == "cpu" else Device(Defaults.device)


def set_default_device(device) -> None:
    """Set the device of new tensors; None is the CPU."""
    Defaults.device = "cpu" if device is None else str(require(device))


def _device(self) -> Device:
    """The device that holds this tensor."""
    a = self._a
    while a.__class__ is DeviceArray and a.kind in (SAMPLE, MESH):    # a sample of vmap is where all samples are, what a
        a = a.memory.inner                                            # mesh shares out where this process's part is
    return Device(a.kind, a.device) if a.__class__ is DeviceArray else CPU


def get_device(self) -> int:
    """Return the index of the accelerator that holds this tensor, -1 for the CPU."""
    return -1 if self.device.type == "cpu" else self.device.index or 0


Tensor.device = property(_device, doc=_device.__doc__)  # type: ignore[assignment]
Tensor.get_device = get_device



def _is_on(kind: str) -> property:
    def is_on(self) -> bool:
        return self.device.type == kind

    return property(is_on, doc=f"Whether this tensor is on a device of kind {kind}.")


for _kind in KINDS:
    setattr(Tensor, f"is_{_kind}", _is_on(_kind))
for _kind in ("ipu", "maia", "mtia", "vulkan", "xla"):      # kinds that libraries ask for, and ingot has no name for
    setattr(Tensor, f"is_{_kind}", False)
