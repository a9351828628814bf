"""Construction of modules without initial values."""

from ....ir.errors import DTypeError
from ..base import init
from ..base.module import Module

_FILLS = ("uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "xavier_uniform_", "xavier_normal_",
          "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "eye_", "dirac_", "sparse_")


def skip_init(module_cls, *args, **kwargs):
    """Return a module with uninitialised parameters, to load a state dict into."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise DTypeError(f"skip_init takes a Module class, got {module_cls!r}")
    saved = {name: getattr(init, name) for name in _FILLS if hasattr(init, name)}
    try:
        for name in saved:
            setattr(init, name, lambda tensor, *a, **k: tensor)
        return module_cls(*args, **kwargs)
    finally:
        for name, fill in saved.items():
            setattr(init, name, fill)
