"""Pruning: weights held at zero by a mask."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor

class BasePruningMethod:
    """Base of pruning methods: `compute_mask` chooses what stays. The object is the forward hook that applies the mask."""
    PRUNING_TYPE: _b.str
    def __call__(self, module: _t.Any, inputs: _t.Any) -> None: ...
    @_b.classmethod
    def apply(cls, module: _t.Any, name: _t.Any, *args: _t.Any, importance_scores: _t.Any = None, **kwargs: _t.Any) -> _t.Any:
        """Prune module.name, after earlier prunings."""
    def apply_mask(self, module: _t.Any) -> _t.Any: ...
    def compute_mask(self, t: _t.Any, default_mask: _t.Any) -> None:
        """Return a mask within `default_mask`: 1 where values of `t` stay, else 0."""
    def prune(self, t: _t.Any, default_mask: _t.Any = None, importance_scores: _t.Any = None) -> _t.Any:
        """Return a pruned copy of a tensor."""
    def remove(self, module: _t.Any) -> None:
        """Make the tensor plain again, with zeros where it was pruned."""

class CustomFromMask(BasePruningMethod):
    """Pruning by a given mask."""
    mask: _Tensor
    PRUNING_TYPE: _b.str
    def __init__(self, mask: _Tensor) -> None: ...
    def compute_mask(self, t: _t.Any, default_mask: _t.Any) -> _t.Any: ...

class Identity(BasePruningMethod):
    """Pruning of nothing: a mask of ones."""
    def compute_mask(self, t: _t.Any, default_mask: _t.Any) -> _t.Any: ...

class L1Unstructured(RandomUnstructured):
    """Pruning of the elements nearest to zero."""
    def compute_mask(self, t: _t.Any, default_mask: _t.Any) -> _t.Any: ...

class LnStructured(RandomStructured):
    """Pruning of the channels along `dim` with the smallest n-norm."""
    n: _t.Any
    def __init__(self, amount: _t.Any, n: _t.Any, dim: _b.int | _c.Sequence[_b.int] = -1) -> None: ...

class PruningContainer(BasePruningMethod):
    """Several methods, one after the other."""
    PRUNING_TYPE: _b.str
    def __getitem__(self, i: _t.Any) -> _t.Any: ...
    def __init__(self, *methods: _t.Any) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int: ...
    def add_pruning_method(self, method: _t.Any) -> None: ...
    def compute_mask(self, t: _t.Any, default_mask: _t.Any) -> _t.Any:
        """Return the mask of the last method, within the current one."""

class RandomStructured(BasePruningMethod):
    """Pruning of random channels along `dim`."""
    amount: _t.Any
    dim: _b.int | _c.Sequence[_b.int]
    PRUNING_TYPE: _b.str
    def __init__(self, amount: _t.Any, dim: _b.int | _c.Sequence[_b.int] = -1) -> None: ...
    def compute_mask(self, t: _t.Any, default_mask: _t.Any) -> _t.Any: ...

class RandomUnstructured(BasePruningMethod):
    """Pruning of random elements."""
    amount: _t.Any
    def __init__(self, amount: _t.Any) -> None: ...
    def compute_mask(self, t: _t.Any, default_mask: _t.Any) -> _t.Any: ...

def custom_from_mask(module: _t.Any, name: _t.Any, mask: _Tensor) -> _t.Any:
    """Prune where the mask is zero."""
def global_unstructured(parameters: _t.Any, pruning_method: _t.Any, importance_scores: _t.Any = None,
                        **kwargs: _t.Any) -> None:
    """Prune the elements that a method chooses among several (module, name) pairs together."""
def identity(module: _t.Any, name: _t.Any) -> _t.Any:
    """Put a mask of ones on a tensor."""
def is_pruned(module: _t.Any) -> _b.bool:
    """Return whether a tensor of the module, or of one below, is pruned."""
def l1_unstructured(module: _t.Any, name: _t.Any, amount: _t.Any, importance_scores: _t.Any = None) -> _t.Any:
    """Prune the elements nearest to zero, or with the lowest scores."""
def ln_structured(module: _t.Any, name: _t.Any, amount: _t.Any, n: _t.Any, dim: _b.int | _c.Sequence[_b.int],
                  importance_scores: _t.Any = None) -> _t.Any:
    """Prune the channels with the smallest n-norm, or norm of scores."""
def random_structured(module: _t.Any, name: _t.Any, amount: _t.Any, dim: _b.int | _c.Sequence[_b.int]) -> _t.Any:
    """Prune random channels."""
def random_unstructured(module: _t.Any, name: _t.Any, amount: _t.Any) -> _t.Any:
    """Prune random elements: a fraction or a count."""
def remove(module: _t.Any, name: _t.Any) -> _t.Any:
    """Make a pruned tensor plain again; pruned elements stay zero."""
