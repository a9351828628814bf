"""`ingot.utils._python_dispatch`: modes that hear of what runs.

ingot asks nobody below its public functions, so a mode hears of these: each call of the program is one call of
`__torch_dispatch__`, with the public function (`ingot.add`, `ingot.nn.functional.linear`), whatever operators it is made of.
What backward runs is not heard of. `profiler.profile` and `utils.flop_counter` hear of operators.
"""

from .api import asking
from .overrides import TorchFunctionMode
from .tensor import Tensor

__all__ = ["TorchDispatchMode", "is_in_torch_dispatch_mode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode(TorchFunctionMode):
    """What is asked about every public function of a thread inside of a `with` block. It is not asked while it answers."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """What a call gives; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does: define "
                                  f"__torch_dispatch__(self, func, types, args=(), kwargs=None)")

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.__torch_dispatch__(func, types, args, kwargs or {})


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether this thread is in such a mode."""
    return any(isinstance(mode, TorchDispatchMode) for mode in asking.modes())


def is_traceable_wrapper_subclass(t) -> bool:
    """Whether a tensor says what it is made of (`__tensor_flatten__`, `__tensor_unflatten__`)."""
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def _get_current_dispatch_mode():
    """The last such mode that was entered, or None."""
    return next((mode for mode in reversed(asking.modes()) if isinstance(mode, TorchDispatchMode)), None)
