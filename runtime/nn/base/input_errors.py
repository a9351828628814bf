"""Error messages for layers called with an array, a list or None in place of a tensor."""

import inspect

import numpy as np

from ....ir.errors import DTypeError, IngotError, NoTensorError

_WRONG_TYPES = (type(None), np.ndarray, np.generic, list, bool, int, float, str)


def refuse_mistaken(module, args, error):
    """Raise a clear error if a wrong argument made one of ingot's layers fail. The check runs only after a failure."""
    forward = type(module).forward
    is_explained = isinstance(error, IngotError) and not isinstance(error, NoTensorError)
    if is_explained or not forward.__module__.startswith(f"{__package__.rpartition('.')[0]}."):
        return
    _, *taken = inspect.signature(forward).parameters.values()
    names = getattr(module, "_inputs", None) or [p.name for p in taken if p.default is p.empty]
    for name, value in zip(names, args):
        if isinstance(value, _WRONG_TYPES):
            way_out = ("did the layer before return its result?" if value is None else
                       "make it a tensor first, with as_tensor() or tensor()")
            raise DTypeError(f"{type(module).__name__} takes a tensor as {name}, got {_described(value)}; {way_out}"
                             ) from error


def _described(value):
    if isinstance(value, np.ndarray):
        return f"a numpy array {value.dtype}{list(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"
