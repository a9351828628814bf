"""What optimizers that are written elsewhere take from `torch.optim.optimizer`: which implementation suits, and small parts.

Ingot's functions of lists (`_foreach_add_` and the like) are as good for few tensors as for many, on all devices.
"""

import functools

from ..ir import dtype as dt
from ..ir.errors import DTypeError
from ..runtime.autograd.grad_mode import set_grad_enabled
from ..runtime.core.state import get_default_dtype
from ..runtime.core.tensor import Tensor
from ..runtime.nn.base.parameter import Parameter

_foreach_supported_types = [Tensor, Parameter]
_params_doc = "params: the parameters, or groups of them as dictionaries"
_foreach_doc = "foreach (bool, optional): whether to go by functions of lists of tensors"
_fused_doc = "fused (bool, optional): whether one kernel does a parameter's step"
_capturable_doc = "capturable (bool, optional): whether steps can be captured in a CUDA graph"
_differentiable_doc = "differentiable (bool, optional): whether steps record gradients"
_maximize_doc = "maximize (bool, optional): whether to go up instead of down"


def _get_foreach_kernels_supported_devices() -> list:
    """The kinds of devices on which functions of lists are chosen unasked."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list:
    """The kinds of devices that take `fused=True`."""
    return ["cpu", "cuda"]


def _get_capturable_supported_devices(supports_xla: bool = True) -> list:
    """The kinds of devices whose steps can be captured with `capturable=True`."""
    return ["cuda"]


def _default_to_fused_or_foreach(params, differentiable: bool, use_fused: bool = False) -> tuple:
    """(whether a fused step is to be taken, whether functions of lists), where nobody has said so."""
    if differentiable:
        return False, False
    given = [p for p in params if p is not None]
    kinds = {p.device.type for p in given}
    plain = all(type(p) in _foreach_supported_types for p in given)
    fused = bool(use_fused) and plain and kinds <= {*_get_fused_kernels_supported_devices()} and all(
        p.is_floating_point() for p in given)
    return fused, not fused and plain and kinds <= {*_get_foreach_kernels_supported_devices()}


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False):
    """Raises where a parameter does not take `fused=True`."""
    kinds = [kind for kind in _get_fused_kernels_supported_devices() if not (cuda_unsupported and kind == "cuda")]
    if p.device.type not in kinds or not p.is_floating_point():
        raise DTypeError(f"fused=True takes floating point parameters on {' or '.join(kinds)}, got {p.aval} on {p.device}")


def _use_grad_for_differentiable(func):
    """Lets a step record gradients if its optimizer is `differentiable`, else not."""
    @functools.wraps(func)
    def step(self, *args, **kwargs):
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)
    return step


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """A decorator of functional forms, which changes nothing: they are traced as they are."""
    return lambda func: func


def _get_value(x):
    """A tensor of one element as a number."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x):
    """Numbers as they are."""
    return x


def _get_scalar_dtype(is_fused=None) -> dt.DType:
    """The dtype of counts of steps."""
    return dt.float64 if not is_fused and get_default_dtype() is dt.float64 else dt.float32


def _to_scalar(x):
    """A tensor of one element without dims; a number as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _view_as_real(params, *state_and_grads):
    """Raises where parameters are complex: parts of complex tensors are copies, which a step could not write through."""
    for p in params:
        if p.is_complex():
            raise DTypeError(f"a step that takes complex parameters as pairs of real numbers cannot write to {p.aval}, whose "
                             "parts are copies; use one of ingot's optimizers, or keep real and imaginary parts as parameters")
