"""Hooks on what modules are given: every parameter, buffer or child of any module goes by those of its kind."""

from typing import Any

from ...core.structure import HookTable, RemovableHandle, add_hook

__all__ = ["register_module_buffer_registration_hook", "register_module_module_registration_hook",
           "register_module_parameter_registration_hook"]

# As libraries that put entries into the tables themselves know them.
_global_parameter_registration_hooks = HookTable()
_global_buffer_registration_hooks = HookTable()
_global_module_registration_hooks = HookTable()


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Calls `hook(module, name, parameter)` whenever a module is given a parameter; what it returns, if anything, is kept."""
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Calls `hook(module, name, buffer)` whenever a module is given a buffer; what it returns, if anything, is kept."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Calls `hook(module, name, child)` whenever a module is given a child; what it returns, if anything, is kept."""
    return add_hook(_global_module_registration_hooks, hook)


def kept(hooks: HookTable, module, name: str, value) -> Any:
    """What a module keeps of what it is given."""
    for hook in list(hooks.values()):
        found = hook(module, name, value)
        value = value if found is None else found
    return value
