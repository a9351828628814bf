"""Handlers of masked tensors: elementwise functions on values, moves on values and mask, reductions of selected values."""

from ...ir.errors import ArgumentError, DTypeError
from ..api.register.pointwise_names import DUNDERS, POINTWISE, is_in_place
from ..api.register.register import FUNCTIONS
from ..api.register.torch_function import attribute_of
from ..core.composite_tensors import marks_of
from ..core.tensor import Tensor
from . import masked_reductions
from .masked_tensor_class import HANDLERS, MaskedTensor, masked

handles = marks_of(HANDLERS)


def _values(x):
    return x._values if isinstance(x, MaskedTensor) else x


def _mask_of(name, arguments):
    """Return the one mask of all masked tensors among arguments."""
    there = [x for x in arguments if isinstance(x, MaskedTensor)]
    mask = there[0]._mask
    for x in there:
        if x._mask is not mask and not (x._mask.shape == mask.shape and bool(FUNCTIONS["equal"](x._mask, mask))):
            raise ArgumentError(f"{name} takes masked tensors under one mask; give it t.to_tensor(value) of one of them")
    return mask


# Elementwise.


def _pointwise(fn, *args, **kwargs):
    name = fn.__name__
    mask = _mask_of(name, (*args, *kwargs.values()))
    if "out" in kwargs:
        raise DTypeError(f"{name} of masked tensors takes no out=")
    if is_in_place(name):
        if not isinstance(args[0], MaskedTensor):
            raise DTypeError(f"{name} writes masked tensors into a masked tensor alone")
        fn(args[0]._values, *map(_values, args[1:]), **kwargs)
        return args[0]
    found = fn(*map(_values, args), **{key: _values(x) for key, x in kwargs.items()})
    if not isinstance(found, Tensor):
        return found
    return masked(found, mask if mask.shape == found.shape else mask.expand(found.shape))


handles(*POINTWISE, *[f"{name}_" for name in POINTWISE], *DUNDERS, "copy_")(_pointwise)


@handles("where")
def _where(fn, condition, input, other):
    """Select from two tensors by a condition, together with their masks."""
    if fn.__qualname__ == "Tensor.where":       # the method's first argument is the tensor, not the condition
        condition, input, fn = input, condition, FUNCTIONS["where"]
    if isinstance(condition, MaskedTensor):
        raise DTypeError("where takes a plain condition; give it t.to_tensor(False)")
    ones = FUNCTIONS["ones_like"]
    masks = [x._mask if isinstance(x, MaskedTensor) else ones(x, dtype=condition.dtype) if isinstance(x, Tensor) else True
             for x in (input, other)]
    return masked(fn(condition, _values(input), _values(other)), fn(condition, *masks))


@handles("to", "cpu", "cuda", "type_as")
def _to(fn, input, *args, **kwargs):
    """Move the mask together with the values."""
    values = fn(_values(input), *map(_values, args), **kwargs)
    return values if not isinstance(input, MaskedTensor) else masked(values, input._mask.to(values.device))


# Functions that move elements.


@handles("view", "reshape", "transpose", "swapaxes", "swapdims", "t", "permute", "movedim", "moveaxis", "unsqueeze", "squeeze",
         "expand", "broadcast_to", "flatten", "unflatten", "ravel", "select", "narrow", "index_select", "gather",
         "take_along_dim", "chunk", "split", "tensor_split", "unbind", "diagonal", "flip", "fliplr", "flipud", "roll", "rot90",
         "repeat", "tile", "repeat_interleave", "unfold", "tril", "triu", "adjoint", "atleast_1d", "atleast_2d", "atleast_3d",
         "hsplit", "vsplit")
def _rearranged(fn, input, *args, **kwargs):
    if not isinstance(input, MaskedTensor) or any(isinstance(x, MaskedTensor) for x in (*args, *kwargs.values())):
        raise DTypeError(f"{fn.__name__} takes the masked tensor first, and plain ones behind it")
    values, mask = fn(input._values, *args, **kwargs), fn(input._mask, *args, **kwargs)
    if isinstance(values, (tuple, list)):
        return type(values)([masked(*pair) for pair in zip(values, mask)])
    return masked(values, mask)


@handles("__get__")
def _attribute(fn, input):
    """Return transposes, and parts of complex numbers."""
    return masked(fn(input._values), input._mask if attribute_of(fn) in ("real", "imag") else fn(input._mask))


@handles("expand_as", "view_as", "reshape_as")
def _moved_as(fn, input, other):
    return masked(fn(_values(input), _values(other)), fn(input._mask, _values(other)))


@handles("cat", "concat", "concatenate", "stack", "vstack", "hstack", "dstack")
def _joined(fn, tensors, *args, **kwargs):
    """Join tensors; plain ones among them are selected completely."""
    full = FUNCTIONS["ones_like"]
    bools = [t._mask if isinstance(t, MaskedTensor) else full(t, dtype=FUNCTIONS["bool"]) for t in tensors]
    return masked(fn([_values(t) for t in tensors], *args, **kwargs), fn(bools, *args, **kwargs))


# Reductions of selected values. A result is selected if a selected value went into it.


def _there(input, dim, keepdim):
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        dim = tuple(range(input.ndim))
    return input._mask.any(dim, keepdim) if input.ndim else input._mask


@handles("sum", "prod", "mean", "amax", "amin", "argmax", "argmin", "logsumexp")
def _reduce(fn, input, dim=None, keepdim=False, **kwargs):
    found = getattr(masked_reductions, fn.__name__)(input._values, dim, keepdim=keepdim, mask=input._mask, **kwargs)
    return masked(found, _there(input, dim, keepdim))


@handles("max", "min")
def _extreme(fn, input, dim=None, keepdim=False):
    if dim is not None:
        raise DTypeError(f"{fn.__name__} of a masked tensor along a dim is a{fn.__name__}() and arg{fn.__name__}()")
    return _reduce(FUNCTIONS["a" + fn.__name__], input)


@handles("std", "var")
def _spread(fn, input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    found = getattr(masked_reductions, fn.__name__)(input._values, dim, unbiased, correction=correction, keepdim=keepdim,
                                                    mask=input._mask)
    return masked(found, _there(input, dim, keepdim))


@handles("norm")
def _norm(fn, input, p=2.0, dim=None, keepdim=False, dtype=None):
    order = 2.0 if p in (None, "fro") else p
    found = masked_reductions.norm(input._values, order, dim, keepdim=keepdim, dtype=dtype, mask=input._mask)
    return masked(found, _there(input, dim, keepdim))


@handles("all", "any")
def _truth(fn, input, dim=None, keepdim=False):
    filled = input.to_tensor(fn.__name__ == "all")
    return masked(fn(filled) if dim is None else fn(filled, dim, keepdim), _there(input, dim, keepdim))


@handles("softmax", "log_softmax", "softmin", "cumsum", "cumprod")
def _along(fn, input, dim, **kwargs):
    return input.like(getattr(masked_reductions, fn.__name__)(input._values, dim, mask=input._mask,
                                                              **{k: v for k, v in kwargs.items() if k == "dtype"}))


@handles("normalize")
def _normalized(fn, input, p=2.0, dim=1, eps=1e-12):
    return input.like(masked_reductions.normalize(input._values, p, dim, eps=eps, mask=input._mask))


# Questions about the values.


@handles("is_floating_point", "is_complex", "is_signed", "is_contiguous", "is_same_size", "stride", "numel", "nelement",
         "element_size", "get_device", "retain_grad")
def _query(fn, input, *args, **kwargs):
    return fn(input._values, *map(_values, args), **kwargs)
