"""Policies for wrapping modules into units, the base of wrappers, and queries about units."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from ....ir.errors import ArgumentError, AutogradError
from ...nn.base.container import ModuleDict, ModuleList
from ...nn.base.module import Module
from ...nn.layers.activation import MultiheadAttention

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
           "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap"]

def always_wrap_policy(*args, **kwargs) -> bool:
    """Make every module a unit."""
    return True


def lambda_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable) -> bool:
    """Make modules units if lambda_fn(module). `nonwrapped_numel` is ignored: every policy gets it, and this asks the function
    alone."""
    return recurse or bool(lambda_fn(module))


def transformer_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls) -> bool:
    """Make modules of some classes units. `nonwrapped_numel` is ignored: every policy gets it, and this looks at classes
    alone."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
                                force_leaf_modules=None, exclude_wrap_modules=None) -> bool:
    """Make modules units if they have at least `min_num_params` numbers outside of other units."""
    own = size_based_auto_wrap_policy
    leaves = own.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules  # type: ignore[attr-defined]
    never = own.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules  # type: ignore[attr-defined]
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else never))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


def _or_policy(module, recurse: bool, nonwrapped_numel: int, policies) -> bool:
    """Make modules units if one of several policies does."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class _Policy:
    """Policy object: decides about each module inside a whole one."""

    def options_for(self, module) -> bool | dict:
        """Return whether a module is a unit: False, True, or the options that differ from the enclosing unit."""
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Policy that makes modules of some classes units. `args` and `kwargs` are ignored: every policy gets the size, too."""

    def __init__(self, module_classes):
        self.module_classes = set(module_classes)

    def options_for(self, module):
        return isinstance(module, tuple(self.module_classes))

    def __call__(self, module, recurse, *args, **kwargs):
        return recurse or self.options_for(module)

    def __repr__(self):
        return f"ModuleWrapPolicy({self.module_classes})"


class CustomPolicy(_Policy):
    """Policy that makes modules units if lambda_fn(module) is True, or a dict of options."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def options_for(self, module):
        found = self._lambda_fn(module)
        if not isinstance(found, (bool, dict)):
            raise ArgumentError(f"the function of a CustomPolicy returns a bool, or a dict of options, got {found!r}")
        return found


# Wrapping by a policy.


def wrap_inside(root, policy, wrapper, ignored_modules, ignored, options, full_precision):
    """Wrap modules inside `root` by a policy. Those of the classes `full_precision` are units without mixed precision."""
    chosen, apart = _chosen(root, policy, ignored_modules, ignored, options), set()
    for module in modules_of_unit(root):
        if full_precision and isinstance(module, full_precision) and module not in ignored_modules:
            chosen[module] = {**chosen.get(module, options), "mixed_precision": None}
            apart.add(module)
    if root in chosen and full_precision and isinstance(root, full_precision):
        raise ArgumentError(f"{type(root).__name__} is among the classes that mixed precision leaves out; pass "
                            "mixed_precision=None")
    chosen.pop(root, None)
    made: dict = {}

    def visit(module):
        for name, child in module._modules.items():
            if child is None:
                continue
            if child not in made:
                visit(child)
                made[child] = wrapper(child, **chosen[child]) if child in chosen else child
                if child in apart:
                    made[child]._casts_around = True
            module._modules[name] = made[child]

    visit(root)


def _chosen(root, policy, ignored_modules, ignored, options) -> dict:
    """Return {module: its options} of the modules that become units."""
    found: dict = {}
    if isinstance(policy, _Policy):
        for module in root.modules():
            chosen = module not in ignored_modules and policy.options_for(module)
            if chosen:
                found[module] = {**options, **chosen} if isinstance(chosen, dict) else dict(options)
        return found
    seen: dict = {}

    def visit(module, is_root) -> int:
        """Return how many numbers of a module are in units."""
        size = sum([p.numel() for p in module.parameters() if id(p) not in ignored])
        if not policy(module=module, recurse=True, nonwrapped_numel=size):
            return 0
        inside = 0
        for child in module.children():
            if child not in ignored_modules:
                if child not in seen:
                    seen[child] = visit(child, False)
                inside += seen[child]
        if is_root or not policy(module=module, recurse=False, nonwrapped_numel=size - inside):
            return inside
        found[module] = dict(options)
        return size

    visit(root, True)
    return found


# Wrapping by hand.

_around = threading.local()         # wrapper and options of a thread's enable_wrap


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any):
    """Make `wrap(module)` return wrapper_cls(module, **options) inside."""
    if getattr(_around, "settings", None) is not None:
        raise AutogradError("enable_wrap is not to be used inside of another one")
    _around.settings = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _around.settings = None


def wrap(module, **wrap_overrides: Any):
    """Return the module as a unit, inside enable_wrap; elsewhere unchanged."""
    settings = getattr(_around, "settings", None)
    if settings is None:
        return module
    wrapper, options = settings
    return wrapper(module, **{**options, **wrap_overrides})


class Around(Module):
    """Module around another one, with its attributes, items and state; that one is the child named `_inside`."""

    _inside: str

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            inner = self.__dict__.get("_modules", {}).get(self._inside)
            if inner is None:
                raise
            return getattr(inner, name)

    def __getitem__(self, key):
        return self._modules[self._inside][key]

    def _children_in_state(self, prefix):
        return [(prefix, self._modules[self._inside])]


PREFIX = "_fsdp_wrapped_module."
ACTIVATIONS = "_checkpoint_wrapped_module."


def clean(name: str) -> str:
    """Return a name without wrappers."""
    return name.replace(PREFIX, "").replace(ACTIVATIONS, "")


def is_unit(module) -> bool:
    """Return whether a module is wrapped."""
    return "_unit" in module.__dict__


def named_modules_of_unit(module, path="", visited=None) -> Any:
    """Yield (prefix of state names, module) of the modules of one unit, each once."""
    visited = set() if visited is None else visited
    if module in visited or is_unit(module):
        return
    visited.add(module)
    yield path, module
    for inner, child in module._children_in_state(path):
        yield from named_modules_of_unit(child, inner, visited)


def modules_of_unit(module) -> list:
    """Return the modules of one unit."""
    return [m for _, m in named_modules_of_unit(module)]


def ignored_tensors(modules, states) -> tuple:
    """Return (modules, ids of their parameters and buffers, and of single tensors) that stay unsharded on each rank."""
    found, tensors = set(), []
    for module in modules:
        found.update(module.modules())
    for state in states:
        if hasattr(state, "_modules"):
            found.update(state.modules())
        else:
            tensors.append(state)
    for module in found:
        tensors += [t for t in (*module._parameters.values(), *module._buffers.values()) if t is not None]
    return found, {id(t) for t in tensors}
