"""`ingot.func`: transforms of functions (`runtime/func`), and modules as functions (`runtime/nn/utils/stateless.py`)."""

from ..func.transforms import debug_unwrap, functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ..func.vmap import vmap
from ..nn.utils.stateless import functional_call, replace_all_batch_norm_modules_, stack_module_state

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]


def __dir__():
    return __all__
