"""PyTorch's functions called on tensors of ingot: `torch.nn.PairwiseDistance()(x, y)` is `ingot.pairwise_distance(x, y)`.

PyTorch calls `__torch_function__` of foreign arguments, as NumPy calls `__array_ufunc__`. So code that calls its functions by
name, among them its layers without weights, runs on our tensors, with gradients and in traces. The receiver is
`Tensor.__torch_function__` (`subclasses.py`).
"""

import importlib
import importlib.util

from ...core.tensor import Tensor
from ..register.register import FUNCTIONS

_FACE = __name__.partition(".")[0]
_PLACES = {"torch.nn.functional": "nn.functional", "torch._C._nn": "nn.functional", "torch._C._linalg": "linalg",
           "torch._C._special": "special", "torch._C._fft": "fft"}     # modules of functions beside the top level


def counterpart(function):
    """Return our function for one of PyTorch's, or None."""
    name, place = function.__name__, getattr(function, "__module__", None)
    if place in _PLACES:
        ours = _PLACES[place]
        names = importlib.import_module(f"{_FACE}.{ours}") if importlib.util.find_spec(f"{_FACE}.{ours}") else None
        return getattr(names, name.removeprefix(f"{ours}_"), None)
    if place == "torch":
        return FUNCTIONS.get(name)
    return getattr(Tensor, name, None) if hasattr(function, "__objclass__") else None
