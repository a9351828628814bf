"""`ingot.utils` and `ingot.testing`: benchmark, FLOP counter, hub, progress bars, weak references, comparison of tensors.

Way in: each module by itself. Nothing below imports the room.
"""

from .. import data
from ..autograd import checkpoint
from . import benchmark, cpp_extension, flop_counter, hub
from . import dlpack_functions as dlpack
from . import hook_handles as hooks
from . import hub as model_zoo
from .progress import progress
from .tensor_swap import swap_tensors

__all__ = ["benchmark", "checkpoint", "cpp_extension", "data", "dlpack", "flop_counter", "hooks", "hub", "model_zoo",
           "progress", "swap_tensors"]
