"""`ingot.func`: functions of functions, as `torch.func` has them. `transforms.py` differentiates, `runtime/batching` is vmap,
`modules.py` makes functions of modules."""

from ..batching.vmap import vmap as vmap
from .modules import functional_call as functional_call
from .modules import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from .modules import stack_module_state as stack_module_state
from .transforms import debug_unwrap as debug_unwrap
from .transforms import functionalize as functionalize
from .transforms import grad as grad
from .transforms import grad_and_value as grad_and_value
from .transforms import hessian as hessian
from .transforms import jacfwd as jacfwd
from .transforms import jacrev as jacrev
from .transforms import jvp as jvp
from .transforms import linearize as linearize
from .transforms import vjp as vjp

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]


def __dir__():
    return __all__
