"""`ingot.func`: functions of functions, as `torch.func` has them. `transforms.py` differentiates, `runtime/batching` is vmap,
`functional_modules.py` makes functions of modules."""

from ..func.transforms import debug_unwrap as debug_unwrap
from ..func.transforms import functionalize as functionalize
from ..func.transforms import grad as grad
from ..func.transforms import grad_and_value as grad_and_value
from ..func.transforms import hessian as hessian
from ..func.transforms import jacfwd as jacfwd
from ..func.transforms import jacrev as jacrev
from ..func.transforms import jvp as jvp
from ..func.transforms import linearize as linearize
from ..func.transforms import vjp as vjp
from ..func.vmap import vmap as vmap
from ..nn.utils.functional_modules import functional_call as functional_call
from ..nn.utils.functional_modules import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from ..nn.utils.functional_modules import stack_module_state as stack_module_state

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]


def __dir__():
    return __all__
