"""What belongs to a unit: the modules below a wrapped one, down to those that are units themselves."""

from typing import Any

PREFIX = "_fsdp_wrapped_module."
ACTIVATIONS = "_checkpoint_wrapped_module."


def clean(name: str) -> str:
    """A name without what wraps modules."""
    return name.replace(PREFIX, "").replace(ACTIVATIONS, "")


def is_unit(module) -> bool:
    """Whether a module is wrapped."""
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
    """The modules that belong to one unit."""
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
