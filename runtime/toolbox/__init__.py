"""`ingot.utils`: what programs around models use."""

from .. import data
from .. import pytree as _pytree  # noqa: F401  (a name of PyTorch's)
from ..autograd import checkpoint
from . import dlpack
from .progress import progress

__all__ = ["checkpoint", "data", "dlpack", "progress"]
