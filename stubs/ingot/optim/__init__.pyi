"""`ingot.optim`: optimizers and learning rate schedules."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot.optim import adadelta as adadelta
from ingot.optim import adagrad as adagrad
from ingot.optim import adam as adam
from ingot.optim import adamax as adamax
from ingot.optim import adamw as adamw
from ingot.optim import asgd as asgd
from ingot.optim import lbfgs as lbfgs
from ingot.optim import lr_scheduler as lr_scheduler
from ingot.optim import nadam as nadam
from ingot.optim import optimizer as optimizer
from ingot.optim import radam as radam
from ingot.optim import rmsprop as rmsprop
from ingot.optim import rprop as rprop
from ingot.optim import sgd as sgd
from ingot.optim import sparse_adam as sparse_adam
from ingot.optim import swa_utils as swa_utils
from ingot.utils.hooks import RemovableHandle as _RemovableHandle

_T = _t.TypeVar("_T")

class ASGD(Optimizer):
    """SGD with averaged iterates (state "ax")."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.01, lambd: _b.float = 0.0001, alpha: _b.float = 0.75,
                 t0: _b.float = 1000000.0, weight_decay: _t.Any = 0, foreach: _b.bool | None = None,
                 maximize: _b.bool = False, differentiable: _b.bool = False, capturable: _b.bool = False) -> None: ...

class Adadelta(Optimizer):
    """Steps in units of the parameter: root mean square of past steps over that of past gradients."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 1.0, rho: _b.float = 0.9, eps: _b.float = 1e-06, weight_decay: _t.Any = 0,
                 foreach: _b.bool | None = None, *, capturable: _b.bool = False, maximize: _b.bool = False,
                 differentiable: _b.bool = False) -> None: ...

class Adafactor(Optimizer):
    """Adam without a mean: squares are stored as one row and one column, and steps are relative to the parameter's size."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.01, beta2_decay: _b.float = -0.8, eps: _t.Any = ..., d: _b.float = 1.0,
                 weight_decay: _b.float = 0.0, *, foreach: _b.bool | None = None, maximize: _b.bool = False) -> None: ...

class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of all squared gradients."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.01, lr_decay: _t.Any = 0, weight_decay: _t.Any = 0,
                 initial_accumulator_value: _t.Any = 0, eps: _b.float = 1e-10, foreach: _b.bool | None = None, *,
                 maximize: _b.bool = False, differentiable: _b.bool = False, fused: _b.bool | None = None) -> None: ...
    def share_memory(self) -> None:
        """Move the state into memory that other processes can map."""

class Adam(Optimizer):
    """Steps by the running mean of gradients over the root of the running mean square."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.001, betas: _t.Any = ..., eps: _b.float = 1e-08, weight_decay: _t.Any = 0,
                 amsgrad: _b.bool = False, *, foreach: _b.bool | None = None, maximize: _b.bool = False,
                 capturable: _b.bool = False, differentiable: _b.bool = False, fused: _b.bool | None = None,
                 decoupled_weight_decay: _b.bool = False) -> None: ...

class AdamW(Adam):
    """Adam with decoupled weight decay."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.001, betas: _t.Any = ..., eps: _b.float = 1e-08,
                 weight_decay: _b.float = 0.01, amsgrad: _b.bool = False, *, maximize: _b.bool = False,
                 foreach: _b.bool | None = None, capturable: _b.bool = False, differentiable: _b.bool = False,
                 fused: _b.bool | None = None) -> None: ...

class Adamax(Optimizer):
    """Adam with the largest recent gradient in place of the root mean square."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.002, betas: _t.Any = ..., eps: _b.float = 1e-08, weight_decay: _t.Any = 0,
                 foreach: _b.bool | None = None, *, maximize: _b.bool = False, differentiable: _b.bool = False,
                 capturable: _b.bool = False) -> None: ...

class LBFGS(Optimizer):
    """L-BFGS for one group of parameters; `step` takes a closure that clears gradients, computes the loss and calls
    backward."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 1, max_iter: _t.Any = 20, max_eval: _t.Any = None,
                 tolerance_grad: _b.float = 1e-07, tolerance_change: _b.float = 1e-09, history_size: _t.Any = 100,
                 line_search_fn: _t.Any = None, *, maximize: _b.bool = False) -> None: ...
    def step(self, closure: _c.Callable[[], _T]) -> _T: ...  # type: ignore[override]

class Muon(Optimizer):
    """Momentum with updates brought close to an orthogonal matrix, for matrices."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.001, weight_decay: _b.float = 0.1, momentum: _b.float = 0.95,
                 nesterov: _b.bool = True, ns_coefficients: _t.Any = ..., eps: _b.float = 1e-07, ns_steps: _t.Any = 5,
                 adjust_lr_fn: _t.Any = None) -> None: ...

class NAdam(Optimizer):
    """Adam with Nesterov momentum."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.002, betas: _t.Any = ..., eps: _b.float = 1e-08, weight_decay: _t.Any = 0,
                 momentum_decay: _b.float = 0.004, decoupled_weight_decay: _b.bool = False, *,
                 foreach: _b.bool | None = None, maximize: _b.bool = False, capturable: _b.bool = False,
                 differentiable: _b.bool = False) -> None: ...

class Optimizer:
    """Base of optimizers: subclasses define `_update(p, g, state, group)`, and `_update_rows` for sparse gradients."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 defaults: _t.Any) -> None: ...
    def add_param_group(self, param_group: _t.Any) -> None:
        """Add parameters with their own options."""
    def layout(self) -> _b.list[_t.Any]:
        """Return the layout a trace must find again: (None or (id of state, name), group, parameter or state tensor)."""
    @_b.staticmethod
    def profile_hook_step(step: _t.Any) -> _t.Any:
        """Decorate `step` to run the hooks around it; subclasses get it for their own `step` too."""
    def register_load_state_dict_post_hook(self, hook: _t.Any, prepend: _b.bool = False) -> _RemovableHandle:
        """Call hook(optimizer) after loading."""
    def register_load_state_dict_pre_hook(self, hook: _t.Any, prepend: _b.bool = False) -> _RemovableHandle:
        """Call hook(optimizer, state_dict) before loading; a result replaces the state dict."""
    def register_state_dict_post_hook(self, hook: _t.Any, prepend: _b.bool = False) -> _RemovableHandle:
        """Call hook(optimizer, state_dict) after the state is collected; a result replaces it."""
    def register_state_dict_pre_hook(self, hook: _t.Any, prepend: _b.bool = False) -> _RemovableHandle:
        """Call hook(optimizer) before the state is collected."""
    def register_step_post_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
    def register_step_pre_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; args begin with the optimizer, a result replaces both."""
    def zero_grad(self, set_to_none: _b.bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero."""
    defaults: _b.dict[_b.str, _t.Any]
    def load_state_dict(self, state_dict: _c.Mapping[_b.str, _t.Any]) -> None:
        """Load options and state from a state_dict() of another optimizer."""
    param_groups: _b.list[_b.dict[_b.str, _t.Any]]
    state: _b.dict[_t.Any, _t.Any]
    def state_dict(self) -> _b.dict[_b.str, _t.Any]:
        """Return {"state": states by parameter number, "param_groups": options with parameter numbers}."""
    @_t.overload
    def step(self, closure: None = None) -> None: ...
    @_t.overload
    def step(self, closure: _c.Callable[[], _T]) -> _T:
        """Update all parameters that have gradients; `closure` recomputes the loss and is returned."""

class RAdam(Optimizer):
    """Adam with rectified variance in its first steps."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.001, betas: _t.Any = ..., eps: _b.float = 1e-08, weight_decay: _t.Any = 0,
                 decoupled_weight_decay: _b.bool = False, *, foreach: _b.bool | None = None,
                 maximize: _b.bool = False, capturable: _b.bool = False, differentiable: _b.bool = False) -> None: ...

class RMSprop(Optimizer):
    """Steps by the gradient over its root mean square (around its mean with `centered`)."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.01, alpha: _b.float = 0.99, eps: _b.float = 1e-08,
                 weight_decay: _t.Any = 0, momentum: _b.float = 0, centered: _b.bool = False,
                 capturable: _b.bool = False, foreach: _b.bool | None = None, maximize: _b.bool = False,
                 differentiable: _b.bool = False) -> None: ...

class Rprop(Optimizer):
    """Steps by the sign of the gradient: longer while the sign stays, shorter when it changes."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.01, etas: _t.Any = ..., step_sizes: _t.Any = ..., *,
                 capturable: _b.bool = False, foreach: _b.bool | None = None, maximize: _b.bool = False,
                 differentiable: _b.bool = False) -> None: ...

class SGD(Optimizer):
    """The step p -= lr * g, with momentum, Nesterov momentum and weight decay."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.001, momentum: _b.float = 0, dampening: _t.Any = 0,
                 weight_decay: _t.Any = 0, nesterov: _b.bool = False, *, maximize: _b.bool = False,
                 foreach: _b.bool | None = None, differentiable: _b.bool = False, fused: _b.bool | None = None) -> None: ...

class SparseAdam(Optimizer):
    """Adam that leaves rows without gradient, and their running averages, unchanged. In a dense gradient these are the zero
    rows."""
    def __init__(self, params: _c.Iterable[_Tensor | _b.dict[_b.str, _t.Any] | _b.tuple[_b.str, _Tensor]],
                 lr: _b.float | _Tensor = 0.001, betas: _t.Any = ..., eps: _b.float = 1e-08, maximize: _b.bool = False) -> None: ...
