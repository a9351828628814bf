"""`ingot.autograd`: the public names of `runtime/autograd`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import IngotError as _IngotError
from ingot import enable_grad as enable_grad
from ingot import inference_mode as inference_mode
from ingot import no_grad as no_grad
from ingot import set_grad_enabled as set_grad_enabled
from ingot.autograd import anomaly_mode as anomaly_mode
from ingot.autograd import forward_ad as forward_ad
from ingot.autograd import function as function
from ingot.autograd import functional as functional
from ingot.autograd import grad_mode as grad_mode
from ingot.autograd import graph as graph
from ingot.autograd import profiler as profiler

from ingot import Tensor as _Tensor
_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

class Function:
    """Base of user-defined operations with static methods `forward` and `backward`, called as `MyFunction.apply(...)`."""
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    generate_vmap_rule: _b.bool
    @_b.staticmethod
    def vjp(ctx: _t.Any, *grad_outputs: _t.Any) -> _t.Any:
        """Compute the gradients of the arguments; override it."""
    @_b.classmethod
    def apply(cls, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Run forward on the arguments and record it."""
    @_b.staticmethod
    def backward(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Compute the gradients of the arguments; override it."""
    @_b.staticmethod
    def forward(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Compute the results; override it."""
    @_b.staticmethod
    def jvp(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Compute the tangents of the results from those of the arguments; its transpose replaces a missing backward."""
    @_b.staticmethod
    def setup_context(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Save values for backward, if forward takes no ctx."""
    @_b.staticmethod
    def vmap(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Compute (results, their mapped dimensions) of whole batches in vmap; without it samples run one by one."""

class GradcheckError(_IngotError, _b.RuntimeError):
    """A gradient disagrees with differences, or cannot be checked as requested."""

class Variable:
    """Old name of the class of tensors. `Variable(data, requires_grad=False)` returns a tensor over the memory of
    `data`."""

def backward(tensors: _t.Any, grad_tensors: _t.Any = None, retain_graph: _b.bool | None = None,
             create_graph: _b.bool = False, inputs: _t.Any = None) -> None:
    """Add the gradients of `tensors` to the `.grad` of their leaves, or of `inputs` alone."""
_set_detect_anomaly: _t.TypeAlias = set_detect_anomaly

class detect_anomaly(_set_detect_anomaly):
    """Anomaly mode inside a `with` block or a decorated function."""
    def __init__(self, check_nan: _b.bool = True) -> None: ...
    def around(self) -> _b.tuple[_t.Any, ...]: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

def grad(outputs: _Tensor | _c.Sequence[_Tensor], inputs: _Tensor | _c.Sequence[_Tensor],
         grad_outputs: _Tensor | _c.Sequence[_Tensor | None] | None = None, retain_graph: _b.bool | None = None, create_graph: _b.bool = False,
         only_inputs: _b.bool = True, allow_unused: _b.bool | None = None, is_grads_batched: _b.bool = False,
         materialize_grads: _b.bool = False) -> _b.tuple[_Tensor, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, as a tuple. Nothing is accumulated, so `only_inputs` is True."""
def gradcheck(func: _t.Any, inputs: _t.Any, *, eps: _b.float = 1e-06, atol: _b.float = 1e-05,
              rtol: _b.float = 0.001, raise_exception: _b.bool = True, nondet_tol: _b.float = 0.0,
              check_undefined_grad: _b.bool = True, check_grad_dtypes: _b.bool = False,
              check_batched_grad: _b.bool = False, check_batched_forward_grad: _b.bool = False,
              check_forward_ad: _b.bool = False, check_backward_ad: _b.bool = True, fast_mode: _b.bool = False,
              masked: _t.Any = None) -> _b.bool:
    """Return whether the gradients of `func(*inputs)` agree with central differences within `atol + rtol * |expected|`."""
def gradgradcheck(func: _t.Any, inputs: _t.Any, grad_outputs: _t.Any = None, *, eps: _b.float = 1e-06,
                  atol: _b.float = 1e-05, rtol: _b.float = 0.001, gen_non_contig_grad_outputs: _b.bool = False,
                  raise_exception: _b.bool = True, nondet_tol: _b.float = 0.0,
                  check_undefined_grad: _b.bool = True, check_grad_dtypes: _b.bool = False,
                  check_batched_grad: _b.bool = False, check_fwd_over_rev: _b.bool = False,
                  check_rev_over_rev: _b.bool = True, fast_mode: _b.bool = False, masked: _b.bool = False) -> _t.Any:
    """Return whether the second derivatives of `func` agree with central differences of the first. `masked` is ignored:
    composite tensors are checked by their values."""
def is_multithreading_enabled() -> _b.bool:
    """Return False: see `set_multithreading_enabled`."""

class set_detect_anomaly:
    """Switch of anomaly mode for the current thread, at once and as a context manager. An error in backward then names the
    line that recorded the operation."""
    def __init__(self, mode: _b.bool, check_nan: _b.bool = True) -> None: ...
    def around(self) -> _b.tuple[_t.Any, ...]: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...

class set_multithreading_enabled:
    """Switch without effect: backward stays in its thread, and kernels use the thread pool."""
    mode: _b.bool
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *error: _t.Any) -> None: ...
    def __init__(self, mode: _b.bool) -> None: ...
