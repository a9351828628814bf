"""Under which of PyTorch's operators a call of a public function is listed, and its arguments in that operator's order."""

import inspect
from functools import cache

from ..runtime.core.tensor import Tensor

_NO_ARGUMENTS = frozenset({"inplace", "older", "out", "out_dtype", "_stacklevel"})
_NAMES = {"H": "matrix_H", "T": "numpy_T", "data": "detach", "getitem": "slice", "cross_entropy": "cross_entropy_loss",
          "grid_sample": "grid_sampler"}
# Operators whose arguments have another order than the function's, or that take more: names of parameters, and what is fixed.
_ORDERS: dict[str, tuple] = {
    "batch_norm": ("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps", True),
    "embedding": ("weight", "input", "padding_idx", "scale_grad_by_freq", "sparse"),
    "group_norm": ("input", "num_groups", "weight", "bias", "eps", True),
    "instance_norm": ("input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps", True),
    "interpolate": ("input", "size", "align_corners", "scale_factor"),
    "layer_norm": ("input", "normalized_shape", "weight", "bias", "eps", True),
}


@cache
def _signature(func):
    return inspect.signature(func)


def operator_of(func, args, kwargs) -> tuple:
    """(`aten::name`, its arguments)"""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        name = next(name for name, value in vars(Tensor).items() if value is owner)
        return f"aten::{_NAMES.get(name, name)}", args[:1]
    name = func.__name__.strip("_") if func.__name__.startswith("__") else func.__name__
    bound = _signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    if name.startswith("conv") and "groups" in given:
        return _convolution(given, transposed="transpose" in name)
    order = _ORDERS.get(name) or [key for key in given if key not in _NO_ARGUMENTS]
    taken = [given.get(key) if isinstance(key, str) else key for key in order]
    if name == "interpolate":
        return f"aten::{_upsampling(given)}", taken
    if name == "getitem" and _picks(given["key"]):
        return "aten::index", taken
    return f"aten::{_NAMES.get(name, name)}{'_' if given.get('inplace') else ''}", taken


def _convolution(given, transposed) -> tuple:
    n = given["weight"].ndim - 2

    def sizes(key):
        value = given.get(key, 0)
        return list(value) if isinstance(value, (tuple, list)) else [value] * n

    taken = [given["input"], given["weight"], given["bias"]]
    if isinstance(given["padding"], str):
        return "aten::_convolution_mode", [*taken, sizes("stride"), given["padding"], sizes("dilation"), given["groups"]]
    taken += [sizes("stride"), sizes("padding"), sizes("dilation"), transposed, sizes("output_padding"), given["groups"]]
    return "aten::_convolution", [*taken, False, False, True, True]


def _upsampling(given) -> str:
    mode, n = given["mode"], given["input"].ndim - 2
    if mode == "area":
        return f"adaptive_avg_pool{n}d"
    if mode.startswith("nearest"):
        return f"_upsample_nearest_exact{n}d" if mode == "nearest-exact" else f"upsample_nearest{n}d"
    return f"upsample_{mode}{n}d"


def _picks(key) -> bool:
    """Whether an index has tensors or lists in it."""
    return any(isinstance(part, (Tensor, list)) for part in (key if isinstance(key, tuple) else (key,)))
