"""Private parts of `torch.optim` that optimizers of other libraries import: `optim._functional`, and helpers of
`optim.optimizer`."""

import functools

from ..ir import dtype as dt
from ..ir.errors import DTypeError
from ..runtime.autograd.grad_mode import set_grad_enabled
from ..runtime.core.tensor import Tensor
from ..runtime.nn.base.parameter import Parameter
from ..runtime.optim.adam import adam, adamax, adamw, nadam, radam
from ..runtime.optim.adaptive import adadelta, adagrad, asgd, rmsprop, rprop
from ..runtime.optim.sgd import sgd
from ..runtime.state.mode import get_default_dtype

__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]

_foreach_supported_types = [Tensor, Parameter]


def _get_foreach_kernels_supported_devices() -> list:
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list:
    return ["cpu", "cuda"]


def _get_capturable_supported_devices(supports_xla: bool = True) -> list:
    return ["cuda"]


def _default_to_fused_or_foreach(params, differentiable: bool, use_fused: bool = False) -> tuple:
    if differentiable:
        return False, False
    given = [p for p in params if p is not None]
    kinds = {p.device.type for p in given}
    plain = all(type(p) in _foreach_supported_types for p in given)
    fused = bool(use_fused) and plain and kinds <= {*_get_fused_kernels_supported_devices()} and all(
        p.is_floating_point() for p in given)
    return fused, not fused and plain and kinds <= {*_get_foreach_kernels_supported_devices()}


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False):
    """Raise if a parameter does not accept `fused=True`."""
    kinds = [kind for kind in _get_fused_kernels_supported_devices() if not (cuda_unsupported and kind == "cuda")]
    if p.device.type not in kinds or not p.is_floating_point():
        raise DTypeError(f"fused=True takes floating point parameters on {' or '.join(kinds)}, got {p.aval} on {p.device}")


def _use_grad_for_differentiable(func):
    """Decorate a step to record gradients only if its optimizer is `differentiable`."""
    @functools.wraps(func)
    def step(self, *args, **kwargs):
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)
    return step


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """Return a decorator without effect: functional forms are traced as they are."""
    return lambda func: func


def _get_value(x):
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x):
    return x


def _get_scalar_dtype(is_fused=None) -> dt.DType:
    return dt.float64 if not is_fused and get_default_dtype() is dt.float64 else dt.float32


def _to_scalar(x):
    """Return a tensor of one element without dims, or a number unchanged."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _view_as_real(params, *state_and_grads):
    """Raise for complex parameters: real and imaginary parts are copies, which a step cannot write through."""
    for p in params:
        if p.is_complex():
            raise DTypeError(f"a step that takes complex parameters as pairs of real numbers cannot write to {p.aval}, whose "
                             "parts are copies; use one of ingot's optimizers, or keep real and imaginary parts as parameters")
