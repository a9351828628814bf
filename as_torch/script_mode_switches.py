"""Switches of PyTorch's compiler for `jit.script`, which libraries set by `ingot._C`: each remembers what it was set to, and
answers what it was before. None changes what ingot does."""

from collections.abc import Callable

__all__ = ["SWITCHES"]


def _switch(name: str) -> Callable[[bool], bool]:
    """A function that sets one switch."""
    def setting(value: bool = True) -> bool:
        before, state[0] = state[0], bool(value)
        return before

    state = [False]
    setting.__name__, setting.__doc__ = name, "Remembers what it is given, and returns what it was given before."
    return setting


SWITCHES = {name: _switch(name) for name in (
    "_jit_override_can_fuse_on_cpu", "_jit_override_can_fuse_on_gpu", "_jit_set_nvfuser_enabled", "_jit_set_profiling_executor",
    "_jit_set_profiling_mode", "_jit_set_texpr_fuser_enabled")}
