"""Handlers of sparse tensors by name of function or method; other functions raise.

A function `name_` (or `__iname__`) that writes in place needs no handler of its own: it writes the result of `name`.
"""

from collections.abc import Callable
from typing import Any

from ....ir.dtype import can_cast
from ....ir.errors import AutogradError, DTypeError
from ...core.composite_tensors import PARTS
from ...core.tensor import Tensor
from ...state.mode import tls
from ..register.register import FUNCTIONS
from ..register.torch_function import without_asking

HANDLERS: dict[str, Callable] = {}      # name -> handler, called with the function and its arguments
_SHAPED = ("squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_")     # in place, these change the shape


def handles(*names, several=False):
    """Enter a handler of functions and methods with these names. Its first argument is a sparse tensor, and no other one unless
    it takes `several`."""

    def mark(fn):
        HANDLERS.update(dict.fromkeys(names, fn if several else _of_the_first(fn)))
        return fn

    return mark


def is_sparse(x) -> bool:
    """Return whether an object is a sparse tensor of any layout."""
    return type(x) in PARTS


def _of_the_first(fn):

    def handler(function, input, *args, **kwargs):
        if not is_sparse(input) or any(map(is_sparse, (*args, *kwargs.values()))):
            raise DTypeError(f"{function.__name__} takes one sparse tensor, as its first argument; call to_dense() on others")
        return fn(function, input, *args, **kwargs)

    return handler


def handles_sparse(fn):
    """Mark a public function that handles sparse tensors itself."""
    HANDLERS[fn.__name__] = lambda function, *args, **kwargs: unasking(fn)(*args, **kwargs)
    return fn


def unasking(fn) -> Callable:
    """Return the plain form of a public function, which does not dispatch."""
    return without_asking(fn) or fn


def answer(function, args, kwargs) -> Any:
    """Handle a function with a sparse argument."""
    name, out = getattr(function, "_asks_for", function).__name__, kwargs.get("out")
    if is_sparse(out):
        rest = {key: x for key, x in kwargs.items() if key != "out"}
        if name in ("empty", "zeros"):
            rest = {**rest, "dtype": rest.get("dtype") or out.dtype, "layout": rest.get("layout") or out.layout}
        return _into_out(name, out, function(*args, **rest))
    for known in (function.__name__, name):
        if known in HANDLERS:
            return HANDLERS[known](function, *args, **kwargs)
    own = own_method(args[0], name) if args and is_sparse(args[0]) else None
    if own is not None:
        return own(*args, **kwargs)
    plain = _plain_name(name)
    if plain not in HANDLERS:
        raise DTypeError(f"{name} does not take sparse tensors; call to_dense()")
    first, rest = args[0], args[1:]
    fn = FUNCTIONS[plain] if plain in FUNCTIONS else getattr(Tensor, plain)
    return _in_place(name, first, HANDLERS[plain](fn, first, *rest, **kwargs))


def own_method(x, name):
    """Return the member with a name in the sparse classes themselves, for calls such as ingot.numel(x)."""
    own = [cls for cls in type(x).__mro__ if cls.__module__.startswith(__package__)]
    return next((vars(cls)[name] for cls in own if name in vars(cls)), None)


def _into_out(name, out, result):
    """Write a result into `out`, which takes over its entries and size."""
    if not is_sparse(result) or result.layout != out.layout or not can_cast(result.dtype, out.dtype):
        raise DTypeError(f"{name}: the result is a {result.layout} tensor of {result.dtype.name}, and out a {out.layout} one "
                         f"of {out.dtype.name}")
    if tls.m.grad and (result.requires_grad or out.requires_grad):
        raise AutogradError(f"{name}: out= has no gradient, and an argument requires grad; use no_grad(), or no out")
    return out.become(result if result.dtype is out.dtype else result.to(out.dtype))


def _plain_name(name) -> str:
    """Return the name of the out-of-place form of a function."""
    if name[:3] == "__i" and name[-2:] == "__":
        return f"__{name[3:]}"
    return name[:-1] if name[-1] == "_" and name[-2] != "_" else ""


def _in_place(name, target, result):
    """Write a result into the target, in the memory of its values if positions are equal."""
    if not can_cast(result.dtype, target.dtype):
        raise DTypeError(f"{name}: the result is {result.dtype.name}, which {target.dtype.name} cannot hold; use the function "
                         "without _")
    if target.layout == "strided":
        return target.copy_(result.to_dense())
    if result.layout != target.layout or (result.shape != target.shape and name not in _SHAPED):
        raise DTypeError(f"{name}: the result is a {result.layout} tensor of shape {list(result.shape)}, which is not written "
                         f"over a {target.layout} one of shape {list(target.shape)}")
    if result.has_positions_of(target):
        target._v.copy_(result._v)
        return target
    if target.requires_grad and target.is_leaf and tls.m.grad:
        raise AutogradError(f"{name}: a leaf that requires grad cannot be written in place; use no_grad() or the function "
                            f"without _")
    return target.become(result if result.dtype is target.dtype else result.to(target.dtype))
