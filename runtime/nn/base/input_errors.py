"""Error messages for layers called with an array, a list or None in place of a tensor."""

import inspect

import numpy as np

from ....ir.error_texts.call_errors import explain_call
from ....ir.errors import DTypeError, IngotError, NoTensorError
from .module_path import locate

_WRONG_TYPES = (type(None), np.ndarray, np.generic, list, bool, int, float, str)


def explain(module, args, kwargs, error) -> None:
    """Say in the error of a call which module failed. Raise a clearer error if one of ingot's layers got a wrong argument."""
    clearer = _mistake(module, args, kwargs, error) if isinstance(error, (AttributeError, TypeError)) else None
    locate(error if clearer is None else clearer, module)
    if clearer is not None:
        raise clearer from error


def _mistake(module, args, kwargs, error):
    """Return a clear error if a wrong argument made one of ingot's layers fail, or None."""
    forward = type(module).forward
    if isinstance(error, TypeError) and inspect.isfunction(forward):
        trace = error.__traceback__
        if trace is not None and trace.tb_next is None:
            explain_call(error, forward, (module, *args), kwargs, f"{type(module).__name__}.forward")
            return None
    is_explained = isinstance(error, IngotError) and not isinstance(error, NoTensorError)
    if is_explained or not forward.__module__.startswith(f"{__package__.rpartition('.')[0]}."):
        return None
    _, *taken = inspect.signature(forward).parameters.values()
    names = getattr(module, "_inputs", None) or [p.name for p in taken if p.default is p.empty]
    for name, value in zip(names, args):
        if isinstance(value, _WRONG_TYPES):
            way_out = ("did the layer before return its result?" if value is None else
                       "make it a tensor first, with as_tensor() or tensor()")
            return DTypeError(f"{type(module).__name__} takes a tensor as {name}, got {_described(value)}; {way_out}")
    return None


def _described(value):
    if isinstance(value, np.ndarray):
        return f"a numpy array {value.dtype}{list(value.shape)}"
    return "None" if value is None else type(value).__name__
