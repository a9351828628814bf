"""Functions of PyTorch's private modules that have no counterpart in ingot.

They stand for `_prims_common`, `_tensor_str`, `_utils`, `utils._contextlib` and `utils._foreach_utils`, and for single names of
`autograd`, `nn.functional` and `grad_fn` (see `private_names.py`).
"""

import importlib
import math
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any

from ..ir import dtype as dt
from ..ir.errors import ArgumentError, DeviceError
from ..ir.opdef.aval import Aval
from ..runtime.api.register.process_settings import (
    are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled,
)
from ..runtime.api.register.register import FUNCTIONS
from ..runtime.autograd.grad_mode import around_steps
from ..runtime.backends.accelerator import current_accelerator
from ..runtime.core.printing import array_text, closed, options
from ..runtime.core.tensor import Tensor, wrap
from ..runtime.state.messages import warn
from ..runtime.state.mode import OPEN_PROFILES

# Names of values that a gradient rule saved: place among the result (0) and the arguments.
_SAVED = {"_saved_result": 0, "_saved_self": 1, "_saved_other": 2}
_PUBLIC_DEVICES = ("cpu", "cuda", "mps", "mtia", "xpu")
_FACE = __package__.partition(".")[0]


# _prims_common


def alert_not_deterministic(caller: str) -> None:
    """Raise (or warn, with `warn_only`) under `use_deterministic_algorithms`, for code whose results vary."""
    if not are_deterministic_algorithms_enabled():
        return
    message = f"{caller} does not have a deterministic implementation, but use_deterministic_algorithms(True) was called"
    if not is_deterministic_algorithms_warn_only_enabled():
        raise ArgumentError(message)
    warn(message)


def is_contiguous_or_false(a: Tensor) -> bool:
    """Return whether a tensor is contiguous."""
    return a.is_contiguous()


# _tensor_str


class _PrintOptions:
    """Options of printed numbers, as they are now."""

    def __getattr__(self, name):
        return getattr(options.get(), name)


PRINT_OPTS = _PrintOptions()


def _tensor_str(self: Tensor, indent: int) -> str:
    """Return the values of a tensor as text; rows after the first are indented."""
    return array_text(self.detach().resolve_conj().resolve_neg().cpu().numpy(), indent)


def _add_suffixes(tensor_str: str, suffixes: list, indent: int, force_newline: bool) -> str:
    return closed(tensor_str, suffixes, indent, force_newline)


# _utils


def _flatten_dense_tensors(tensors) -> Tensor:
    return FUNCTIONS["cat"]([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors) -> tuple:
    """Return views of a vector, in the shapes of the tensors."""
    return tuple([part.view_as(t) for part, t in zip(flat.split([t.numel() for t in tensors]), tensors)])


def _get_available_device_type() -> str | None:
    found = current_accelerator()
    return None if found is None else found.type


def _get_device_module(device_type: str):
    """Return the module of a kind of device (`ingot.cuda`)."""
    if device_type not in _PUBLIC_DEVICES:
        raise DeviceError(f"there is no module about devices {device_type!r}, only about {', '.join(_PUBLIC_DEVICES)}")
    return importlib.import_module(f"{_FACE}.{device_type}")


# utils._foreach_utils


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices: bool = False) -> dict:
    """Return {(device, dtype): (lists, indices)}: lists of equal length, split by the kinds of tensors in the first one."""
    indices: dict = {}
    for i, t in enumerate(tensorlistlist[0]):
        indices.setdefault((t.device, t.dtype), []).append(i)
    return {kind: ([[some[i] for i in own] if some else [] for some in tensorlistlist], own if with_indices else [])
            for kind, own in indices.items()}


def _get_foreach_kernels_supported_devices() -> list:
    """Return the kinds of devices on which functions of lists take fewer launches."""
    return ["cuda"]


def _device_has_foreach_support(device) -> bool:
    return device.type in _get_foreach_kernels_supported_devices()


# utils._contextlib


class _DecoratorContextManager:
    """A context manager that also decorates functions: each call, and each step of a generator, runs in one of its own."""

    def __call__(self, func):
        if isgeneratorfunction(func):
            return around_steps(func, self.clone)

        @wraps(func)
        def inside(*args, **kwargs):
            with self.clone():
                return func(*args, **kwargs)

        return inside

    def __enter__(self):
        raise NotImplementedError(f"{type(self).__name__} does not say what __enter__ does")

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
        raise NotImplementedError(f"{type(self).__name__} does not say what __exit__ does")

    def clone(self):
        """Return a new manager with the same options; classes whose `__init__` takes options override it."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A manager without options, which decorates as a class as well: `@manager` instead of `@manager()`."""

    def __new__(cls, orig_func=None):
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


# Single names


def _profiler_enabled() -> bool:
    return bool(OPEN_PROFILES)


def _none_or_dtype(input):
    return None if input is None else input.dtype


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """Return a mask to add: True in a boolean mask becomes -inf."""
    if mask is None or mask.dtype.is_floating_point:
        same = mask is None or other_type is None or not check_other or mask.dtype is other_type
    elif mask.dtype is dt.bool_:
        same = other_type is None or not check_other or other_type is dt.bool_
        mask = FUNCTIONS["zeros_like"](mask, dtype=target_type).masked_fill_(mask, -math.inf)
    else:
        raise ArgumentError(f"{mask_name} holds booleans or floating-point numbers, got {mask.dtype.name}")
    if not same:
        warn(f"{mask_name} and {other_name} should be of one dtype")
    return mask


def saved_value(node, name):
    """Return `grad_fn._saved_self` and the like: a value that the gradient rule saved."""
    place = _SAVED.get(name)
    values = () if place is None or node.op is None else node.values()
    saved = values[place] if place is not None and place < len(values) else None
    if saved is None or isinstance(saved, Aval):
        raise AttributeError(f"{node.label} has no attribute {name!r}" + ("" if place is None else ": it keeps no such value"))
    return wrap(saved) if hasattr(saved, "dtype") else saved
