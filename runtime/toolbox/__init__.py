"""`ingot.utils`: what programs around models use."""

from .. import data
from .. import pytree as _pytree  # noqa: F401  (a name of PyTorch's)
from ..autograd import checkpoint
from . import benchmark, cpp_extension, dlpack, flop_counter, hooks, hub
from . import hub as model_zoo
from .progress import progress
from .swapped import swap_tensors

__all__ = ["benchmark", "checkpoint", "cpp_extension", "data", "dlpack", "flop_counter", "hooks", "hub", "model_zoo",
           "progress", "swap_tensors"]
