"""`torch.utils._python_dispatch`: modes that intercept calls.

A mode intercepts public functions, not operators: each call of the program is one call of `__torch_dispatch__` with the public
function (`ingot.add`, `ingot.nn.functional.linear`). It does not see backward. `profiler.profile` and `utils.flop_counter` see
operators.
"""

from ..ir.errors import ShapeError
from ..runtime.api.register import torch_function
from ..runtime.api.register.overrides import TorchFunctionMode
from ..runtime.core.tensor import Tensor

__all__ = ["TorchDispatchMode", "any_torch_dispatch_mode_on_stack", "is_in_torch_dispatch_mode",
           "is_traceable_wrapper_subclass", "return_and_correct_aliasing", "transform_subclass"]


class TorchDispatchMode(TorchFunctionMode):
    """A mode that intercepts every public function of its thread in a `with` block, but not those that it calls itself."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Return the result of a call; subclasses override it."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does: define "
                                  f"__torch_dispatch__(self, func, types, args=(), kwargs=None)")

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.__torch_dispatch__(func, types, args, kwargs or {})


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a mode is active in this thread."""
    return any(isinstance(mode, TorchDispatchMode) for mode in torch_function.modes())


def is_traceable_wrapper_subclass(t) -> bool:
    """Return whether a tensor can be taken apart (`__tensor_flatten__`, `__tensor_unflatten__`)."""
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def _get_current_dispatch_mode():
    return next((mode for mode in reversed(torch_function.modes()) if isinstance(mode, TorchDispatchMode)), None)


def any_torch_dispatch_mode_on_stack(*, include_infra_modes: bool = True) -> bool:
    """Return whether a mode is active in this thread."""
    return is_in_torch_dispatch_mode(include_infra_modes)


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """Rebuild a wrapper tensor from `callback(name, part)` of each part."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(parts, context, outer_size, outer_stride)
    if tuple(made.shape) != tuple(outer_size):
        raise ShapeError(f"{type(t).__name__}.__tensor_unflatten__ gave a tensor of shape {list(made.shape)}, asked for "
                         f"{list(outer_size)}")
    return made


def return_and_correct_aliasing(func, args, kwargs, out):
    """Return the result of a wrapper's function for its caller: the argument that was written to, if there is one, else
    `out`."""
    name = getattr(func, "__name__", "")
    if args and isinstance(args[0], Tensor) and name.endswith("_") and not name.endswith("__"):
        return args[0]
    given = (kwargs or {}).get("out")
    return out if given is None else given
