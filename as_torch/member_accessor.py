"""`torch.nn.utils._named_member_accessor`: replace tensors and children of a module without checks."""

from ..ir.errors import DTypeError
from ..runtime.core.tensor import Tensor
from ..runtime.nn.base.module import MissingAttribute, Module

__all__ = ["swap_submodule", "swap_tensor"]

_MISSING = object()     # stands for an absent tensor


def swap_tensor(module, name: str, tensor, allow_missing: bool = False):
    """Replace a tensor of a module and return the old one."""
    _check(module, name)
    for value in (tensor, None if name in module._parameters or name in module._buffers else getattr(module, name, None)):
        if value is not _MISSING and value is not None and not isinstance(value, Tensor):
            raise DTypeError(f"swap_tensor exchanges tensors, got {type(value).__name__} for '{name}'")
    for table in (module._parameters, module._buffers):
        if name in table:
            before = table.pop(name) if tensor is _MISSING else table[name]
            if tensor is not _MISSING:
                table[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise MissingAttribute(f"{type(module).__name__} has no attribute '{name}'")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module, name: str, submodule):
    """Replace a child of a module and return the old one."""
    _check(module, name)
    _check(submodule, name)
    if name not in module._modules:
        raise MissingAttribute(f"{type(module).__name__} has no child '{name}'")
    before, module._modules[name] = module._modules[name], submodule
    return before


def _check(module, name):
    if not isinstance(module, Module):
        raise DTypeError(f"{type(module).__name__} is no Module")
    if not name or "." in name:
        raise KeyError(f"{name!r} is no name of one tensor or child: it must be a word without dots")
