"""Policies: which modules inside of a module become units of their own."""

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
    """Return every module is a unit."""
    return True


def lambda_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable) -> bool:
    """Return modules are units for which lambda_fn(module) holds."""
    return recurse or bool(lambda_fn(module))


def transformer_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls) -> bool:
    """Return modules of some classes are units."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
                                force_leaf_modules=None, exclude_wrap_modules=None) -> bool:
    """Return modules are units in which so many numbers are left that are not yet in others."""
    own = size_based_auto_wrap_policy
    leaves = own.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules  # type: ignore[attr-defined]
    never = own.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules  # type: ignore[attr-defined]
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else never))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


def _or_policy(module, recurse: bool, nonwrapped_numel: int, policies) -> bool:
    """Return modules are units for which one of several policies holds."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class _Policy:
    """A policy that is an object: it says for a whole module at once which of those inside are units."""

    def options_for(self, module) -> bool | dict:
        """Return whether a module is a unit: False, True, or the options in which it differs from the one around."""
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Modules of some classes are units."""

    def __init__(self, module_classes):
        self.module_classes = set(module_classes)

    def options_for(self, module):
        return isinstance(module, tuple(self.module_classes))

    def __call__(self, module, recurse, *args, **kwargs):
        return recurse or self.options_for(module)

    def __repr__(self):
        return f"ModuleWrapPolicy({self.module_classes})"


class CustomPolicy(_Policy):
    """Modules are units for which lambda_fn(module) gives True, or a dict of options of their own."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def options_for(self, module):
        found = self._lambda_fn(module)
        if not isinstance(found, (bool, dict)):
            raise ArgumentError("the function of a CustomPolicy returns a bool, or a dict of options, got "
                                f"{found!r}")
        return found


# Wrapping by a policy.


def wrap_inside(root, policy, wrapper, ignored_modules, ignored, options, full_precision):
    """Wrap modules inside of `root` as a policy says. Those of the classes `full_precision` are units, too, without mixed
    precision."""
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
    """{module: its options} of those that become units."""
    found: dict = {}
    if isinstance(policy, _Policy):
        for module in root.modules():
            said = module not in ignored_modules and policy.options_for(module)
            if said:
                found[module] = {**options, **said} if isinstance(said, dict) else dict(options)
        return found
    seen: dict = {}

    def visit(module, is_root) -> int:
        """How many numbers of a module are in units."""
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

_around = threading.local()         # wrapper and options of the enable_wrap that a thread is in


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any):
    """Inside, `wrap(module)` gives wrapper_cls(module, **options)."""
    if getattr(_around, "settings", None) is not None:
        raise AutogradError("enable_wrap is not to be used inside of another one")
    _around.settings = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _around.settings = None


def wrap(module, **wrap_overrides: Any):
    """Return the module as a unit, inside of enable_wrap; elsewhere as it is."""
    settings = getattr(_around, "settings", None)
    if settings is None:
        return module
    wrapper, options = settings
    return wrapper(module, **{**options, **wrap_overrides})


class Around(Module):
    """A module around another one, whose attributes, items and state it has; that one is the child named `_inside`."""

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
    """Return a name without what wraps modules."""
    return name.replace(PREFIX, "").replace(ACTIVATIONS, "")


def is_unit(module) -> bool:
    """Return whether a module is wrapped."""
    return "_unit" in module.__dict__


def named_modules_of_unit(module, path="", seen=None) -> Any:
    """(what the names of its state begin with, module) of those that belong to one unit, each once."""
    seen = set() if seen is None else seen
    if module in seen or is_unit(module):
        return
    seen.add(module)
    yield path, module
    for inner, child in module._children_in_state(path):
        yield from named_modules_of_unit(child, inner, seen)


def modules_of_unit(module) -> list:
    """Return the modules that belong to one unit."""
    return [m for _, m in named_modules_of_unit(module)]


def ignored_tensors(modules, states) -> tuple:
    """(modules, ids of their parameters and buffers and of those named by themselves): what is left as it is on each rank."""
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
