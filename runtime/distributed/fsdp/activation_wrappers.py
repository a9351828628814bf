"""Modules whose calls are checkpointed, or whose saved values wait in main memory; they have the names of what they wrap."""

from enum import Enum, auto
from functools import partial
from typing import Any

from ...autograd.checkpoint import checkpoint
from ...autograd.saved_tensor_hooks import save_on_cpu
from .wrap_policies import ACTIVATIONS, Around, clean, lambda_auto_wrap_policy, wrap_inside

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
           "checkpoint_wrapper", "offload_wrapper"]


class CheckpointImpl(Enum):
    """How a call is computed again: as one operation that goes backward itself, or by what it has saved."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Around):
    """A module around another one, whose attributes, items and names of parameters it has."""

    _inside = ACTIVATIONS[:-1]

    def __init__(self, module):
        super().__init__()
        self._checkpoint_wrapped_module = module

    def forward(self, *args, **kwargs):
        """What the module inside computes; each kind of wrapper defines it."""
        raise NotImplementedError(f"{type(self).__name__} is one of CheckpointWrapper and OffloadWrapper")

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(dotted name, parameter), by the names that the module inside has."""
        for name, p in super().named_parameters(prefix, recurse, remove_duplicate):
            yield clean(name), p

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Nothing: the module inside is loaded under the same names."""


class OffloadWrapper(ActivationWrapper):
    """What calls save waits in main memory."""

    def forward(self, *args, **kwargs):
        """Return the module's result."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """What calls save is thrown away, and computed again."""

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

        def by_place(*given):                   # as one operation, it takes arguments by their places
            return inner(*given[:len(args)], **dict(zip(names, given[len(args):])))

        return self.checkpoint_fn(by_place, *args, *kwargs.values())


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
    """Return the module, its calls checkpointed."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module):
    """Return the module, what its calls save in main memory."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True,
                                   auto_wrap_policy=None):
    """Wrap modules inside of a model: those for which check_fn(module) holds, or that a policy chooses."""
    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_inside(model, policy, checkpoint_wrapper_fn, set(), set(), {}, ())
