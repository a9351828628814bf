"""Wrappers of modules: activation checkpointing, and offload of saved values. Parameter names stay those inside."""

from enum import Enum, auto
from functools import partial
from typing import Any

from ...autograd.checkpoint import checkpoint
from ...autograd.saved_tensor_hooks import save_on_cpu
from .wrap_policies import ACTIVATIONS, Around, clean, lambda_auto_wrap_policy, wrap_inside

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
           "checkpoint_wrapper", "offload_wrapper"]


class CheckpointImpl(Enum):
    """Way of recomputing a call: as one operation that runs backward itself, or by saved-tensor hooks."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Around):
    """Wrapper of a module, with its attributes, items and parameter names."""

    _inside = ACTIVATIONS[:-1]

    def __init__(self, module):
        super().__init__()
        self._checkpoint_wrapped_module = module

    def forward(self, *args, **kwargs):
        """Call the module inside; each kind of wrapper defines it."""
        raise NotImplementedError(f"{type(self).__name__} is one of CheckpointWrapper and OffloadWrapper")

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (dotted name, parameter) by the names of the module inside."""
        for name, p in super().named_parameters(prefix, recurse, remove_duplicate):
            yield clean(name), p

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Do nothing: the module inside loads under the same names."""


class OffloadWrapper(ActivationWrapper):
    """Wrapper whose saved values are kept in main memory."""

    def forward(self, *args, **kwargs):
        """Return the module's result."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """Wrapper whose saved values are dropped and recomputed."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        reentrant = {"use_reentrant": checkpoint_impl is CheckpointImpl.REENTRANT} if checkpoint_fn is None else {}
        self.checkpoint_fn: Any = partial(checkpoint_fn or checkpoint, **reentrant, **checkpoint_fn_kwargs)

    def forward(self, *args, **kwargs):
        """Return the module's result."""
        inner, names = self._checkpoint_wrapped_module, list(kwargs)
        if not kwargs or self.checkpoint_impl is not CheckpointImpl.REENTRANT:
            return self.checkpoint_fn(inner, *args, **kwargs)

        def by_position(*values):                   # one operation takes arguments by position
            return inner(*values[:len(args)], **dict(zip(names, values[len(args):])))

        return self.checkpoint_fn(by_position, *args, *kwargs.values())


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
    """Return the module with its calls checkpointed."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module):
    """Return the module with its saved values kept in main memory."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True,
                                   auto_wrap_policy=None):
    """Wrap modules inside a model: those with check_fn(module), or chosen by a policy."""
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_inside(model, policy, checkpoint_wrapper_fn, set(), set(), {}, ())
