"""`ingot.utils.hooks`: parts for libraries with hooks of their own."""

from ..nn.base.hooks import RemovableHandle
from ..state.messages import warn

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f):
    """Mark a hook that is lost when its tensor or module is pickled."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warn about a tensor whose hooks are lost when it is pickled."""
    if getattr(tensor, "_backward_hooks", None):
        warn("hooks of a tensor are not pickled with it")
