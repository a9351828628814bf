"""`ingot.masked`: reductions of the elements that a mask selects, and tensors that carry their mask with them."""

from . import masked_functions  # noqa: F401  (its handlers)
from .masked_reductions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from .masked_tensor_class import MaskedTensor, check, masked

__all__ = ["MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
           "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax",
           "softmin", "std", "sum", "var"]


def masked_tensor(data, mask, requires_grad=False) -> MaskedTensor:
    """Return a masked tensor that is a leaf: copies of values, and of a mask that selects those which count."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data, mask) -> MaskedTensor:
    """Return the same with the history of `data`, to which gradients of what counts go, and zeros."""
    check(data, mask)
    return masked(data.where(mask, data.detach()) if data.requires_grad else data.clone(), mask.clone())


def is_masked_tensor(obj) -> bool:
    """Return whether something is a masked tensor."""
    return isinstance(obj, MaskedTensor)
