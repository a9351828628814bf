"""Pruning: weights held at zero by a mask.

A pruned tensor `weight` becomes the parameter `weight_orig` and the buffer `weight_mask`. Their product is computed before
every forward. `remove` makes it plain again.
"""

import numbers
from abc import ABC, abstractmethod
from typing import Any

from ....ir.errors import ArgumentError, DTypeError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]


def _count_of(amount: Any, size: int) -> int:
    """Return the number of elements or channels of an amount: a fraction or a count."""
    is_count = isinstance(amount, numbers.Integral)
    if not (is_count or isinstance(amount, float)) or amount < 0 or (not is_count and amount > 1):
        raise ArgumentError(f"amount must be a share within 0 and 1 or a count of 0 or more, got {amount!r}")
    if is_count:
        if amount > size:
            raise ArgumentError(f"amount={amount} is more than the {size} there are to prune")
        return int(amount)
    return round(amount * size)


class BasePruningMethod(ABC):
    """Base of pruning methods: `compute_mask` chooses what stays. The object is the forward hook that applies the mask."""

    _tensor_name: str
    PRUNING_TYPE = "unstructured"

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """Return a mask within `default_mask`: 1 where values of `t` stay, else 0."""

    def apply_mask(self, module):
        name = self._tensor_name
        original = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune module.name, after earlier prunings."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = _method_of(module, name)
        scores = getattr(module, name) if importance_scores is None else importance_scores      # masked by earlier prunings
        if earlier is None:
            original = getattr(module, name)
            mask = FUNCTIONS["ones_like"](original.detach())
            delattr(module, name)
            module.register_parameter(name + "_orig", original)
        else:
            original, mask = getattr(module, name + "_orig"), getattr(module, name + "_mask")
            key, old = earlier
            module._hooks.forward_pre.pop(key)
            chain = old if isinstance(old, PruningContainer) else PruningContainer(old)
            chain.add_pruning_method(method)
            method = chain
        if scores.shape != original.shape:
            raise ArgumentError(f"importance_scores of shape {list(scores.shape)} do not fit '{name}' of "
                                f"{list(original.shape)}")
        with no_grad():
            mask = method.compute_mask(scores.detach(), mask)
        if name + "_mask" in module._buffers:
            module._buffers[name + "_mask"] = mask
        else:
            module.register_buffer(name + "_mask", mask)
        method(module, ())
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """Return a pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        mask = FUNCTIONS["ones_like"](t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module):
        """Make the tensor plain again, with zeros where it was pruned."""
        name = self._tensor_name
        with no_grad():
            pruned = self.apply_mask(module)
        original = module._parameters.pop(name + "_orig")
        del module._buffers[name + "_mask"]
        original.data = pruned.data
        module.__dict__.pop(name, None)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other."""

    PRUNING_TYPE = "global"

    def __init__(self, *methods):
        self._methods: tuple = ()
        for method in methods:
            self._tensor_name = method._tensor_name
            self._methods += (method,)

    def add_pruning_method(self, method):
        if not isinstance(method, BasePruningMethod):
            raise DTypeError(f"{type(method).__name__} is not a BasePruningMethod")
        if self._methods and method._tensor_name != self._tensor_name:
            raise ArgumentError(f"a container prunes one tensor, '{self._tensor_name}', not '{method._tensor_name}'")
        self._tensor_name = method._tensor_name
        self._methods += (method,)

    def __len__(self):
        return len(self._methods)

    def __iter__(self):
        return iter(self._methods)

    def __getitem__(self, i):
        return self._methods[i]

    def compute_mask(self, t, default_mask):
        """Return the mask of the last method, within the current one."""
        method = self._methods[-1]
        if method.PRUNING_TYPE == "global":
            return default_mask * method.compute_mask(t, default_mask)
        if method.PRUNING_TYPE == "structured":
            left = (default_mask.transpose(0, method.dim).flatten(1) if t.ndim > 1 else default_mask.reshape(-1, 1)).any(1)
            remaining = left.nonzero().squeeze(1)
            part = method.compute_mask(t.index_select(method.dim, remaining), default_mask.index_select(method.dim, remaining))
            return default_mask.index_copy(method.dim, remaining, part)
        remaining = default_mask.reshape(-1).nonzero().squeeze(1)
        flat_mask = default_mask.reshape(-1)
        part = method.compute_mask(t.reshape(-1).index_select(0, remaining), flat_mask.index_select(0, remaining))
        return default_mask.reshape(-1).index_copy(0, remaining, part).reshape(default_mask.shape)


class Identity(BasePruningMethod):
    """Pruning of nothing: a mask of ones."""

    def compute_mask(self, t, default_mask):
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Pruning of random elements."""

    def __init__(self, amount):
        _count_of(amount, 1 << 62)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        scores = FUNCTIONS["rand_like"](t)
        return _without_smallest(scores, default_mask, _count_of(self.amount, t.numel()))


class L1Unstructured(RandomUnstructured):
    """Pruning of the elements nearest to zero."""

    def compute_mask(self, t, default_mask):
        return _without_smallest(t.abs(), default_mask, _count_of(self.amount, t.numel()))


def _without_smallest(scores, mask, count):
    if not count:
        return mask.clone()
    worst = scores.reshape(-1).topk(count, largest=False).indices
    return mask.clone().reshape(-1).index_fill(0, worst, 0).reshape(mask.shape)


class RandomStructured(BasePruningMethod):
    """Pruning of random channels along `dim`."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _count_of(amount, 1 << 62)
        self.amount, self.dim = amount, dim

    def _scores(self, t):
        return FUNCTIONS["rand"](t.shape[self.dim], device=t.device)

    def compute_mask(self, t, default_mask):
        if t.ndim < 2:
            raise ArgumentError(f"structured pruning needs a tensor of 2 dimensions or more, got {t.aval}")
        count = _count_of(self.amount, t.shape[self.dim])
        shape = [1] * t.ndim
        shape[self.dim] = -1
        ones = FUNCTIONS["ones"](t.shape[self.dim], dtype=default_mask.dtype, device=default_mask.device)
        remaining = _without_smallest(self._scores(t), ones, count)
        return default_mask * remaining.reshape(shape)


class LnStructured(RandomStructured):
    """Pruning of the channels along `dim` with the smallest n-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t):
        dims = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        return FUNCTIONS["norm"](t, self.n, dims)


class CustomFromMask(BasePruningMethod):
    """Pruning by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if self.mask.shape != default_mask.shape:
            raise ArgumentError(f"a mask of shape {list(self.mask.shape)} does not fit a tensor of "
                                f"{list(default_mask.shape)}")
        return default_mask * self.mask.to(default_mask.dtype)


def _method_of(module, name):
    for key, hook in module._hooks.forward_pre.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


def is_pruned(module) -> bool:
    """Return whether a tensor of the module, or of one below, is pruned."""
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._hooks.forward_pre.values())


def identity(module, name):
    """Put a mask of ones on a tensor."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune random elements: a fraction or a count."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements nearest to zero, or with the lowest scores."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune random channels."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the channels with the smallest n-norm, or norm of scores."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune where the mask is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune the elements that a method chooses among several (module, name) pairs together."""
    if getattr(pruning_method, "PRUNING_TYPE", None) != "unstructured":
        raise DTypeError("global_unstructured takes a method that prunes single elements, such as L1Unstructured")
    pairs, scores = list(parameters), importance_scores or {}

    def flat(module, name):
        given: Tensor = scores.get((module, name), getattr(module, name)).detach()
        return given.reshape(-1)

    def mask_of(module, name):
        mask = getattr(module, name + "_mask", None)
        return (FUNCTIONS["ones_like"](getattr(module, name)) if mask is None else mask).detach().reshape(-1)

    method = PruningContainer()
    inner = pruning_method(**kwargs)
    inner._tensor_name = method._tensor_name = "temp"
    method.add_pruning_method(inner)
    with no_grad():
        whole = method.compute_mask(FUNCTIONS["cat"]([flat(*p) for p in pairs]), FUNCTIONS["cat"]([mask_of(*p) for p in pairs]))
    at = 0
    for module, name in pairs:
        t = getattr(module, name)
        custom_from_mask(module, name, whole[at: at + t.numel()].reshape(t.shape))
        at += t.numel()


def remove(module, name):
    """Make a pruned tensor plain again; pruned elements stay zero."""
    found = _method_of(module, name)
    if found is None:
        raise ArgumentError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    key, method = found
    method.remove(module)
    del module._hooks.forward_pre[key]
    return module
