"""`ingot.masked`: reductions of the elements that a mask selects, and tensors with a mask.

Way in: `masked_tensor`, `as_masked_tensor`, `masked.sum` and others. Elements that are not selected influence neither results
nor gradients.
"""

from . import masked_functions  # noqa: F401  (its handlers)
from .masked_reductions import *
from .masked_tensor_class import MaskedTensor, check, masked

__all__ = ["MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
           "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax",
           "softmin", "std", "sum", "var"]


def masked_tensor(data, mask, requires_grad=False) -> MaskedTensor:
    """Return a masked tensor that is a leaf: a copy of values, and of a mask that selects some of them."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask) -> MaskedTensor:
    """Return a masked tensor with the history of `data`; gradients reach selected values, others get zeros."""
    check(data, mask)
    return masked(data.where(mask, data.detach()) if data.requires_grad else data.clone(), mask.clone())


def is_masked_tensor(obj) -> bool:
    """Return whether an object is a masked tensor."""
    return isinstance(obj, MaskedTensor)
