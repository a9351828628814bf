"""`torch._functorch.make_functional`: modules as functions of their parameters and buffers."""

import copy

from ..ir.errors import ArgumentError
from ..runtime.nn.base.module import Module
from ..runtime.nn.utils.stateless import functional_call, stack_module_state, swapped_tensors

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "make_functional",
           "make_functional_with_buffers"]


class FunctionalModuleWithBuffers(Module):
    """A module as a function `f(params, buffers, *args)`, in the order of `named_parameters` and `named_buffers`."""

    def __init__(self, stateless_model: Module, param_names: tuple, buffer_names: tuple):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking=False):
        """Return (function, parameters, buffers) of copies of a module."""
        own = copy.deepcopy(model)
        params, buffers = dict(own.named_parameters()), dict(own.named_buffers())
        if disable_autograd_tracking:
            for p in params.values():
                p.requires_grad_(False)
        skeleton = copy.deepcopy(model).to("meta")
        return cls(skeleton, tuple(params), tuple(buffers)), tuple(params.values()), tuple(buffers.values())

    def forward(self, params, buffers, *args, **kwargs):
        """Compute the module with these parameters and buffers."""
        if len(params) != len(self.param_names) or len(buffers) != len(self.buffer_names):
            raise ArgumentError(f"{type(self.stateless_model).__name__} takes {len(self.param_names)} parameters and "
                                f"{len(self.buffer_names)} buffers, got {len(params)} and {len(buffers)}")
        values = {**dict(zip(self.param_names, params)), **dict(zip(self.buffer_names, buffers))}
        return functional_call(self.stateless_model, values, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function: `f(params, *args)`."""

    def forward(self, params, *args, **kwargs):
        """Compute the module with these parameters and buffers."""
        return super().forward(params, (), *args, **kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple:
    """Return (f, params): `f(params, *args)` computes the module; params are copies of its parameters."""
    if any(True for _ in model.buffers()):
        raise ArgumentError(f"make_functional is for modules without buffers, and {type(model).__name__} has some: call "
                            f"make_functional_with_buffers")
    f, params, _ = FunctionalModule._create_from(model, disable_autograd_tracking)
    return f, params


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple:
    """Return (f, params, buffers): `f(params, buffers, *args)` computes the module."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models) -> tuple:
    """Return (f, params, buffers) of modules of one class, stacked for `vmap(f, in_dims=(0, 0, None))`."""
    models = list(models)
    params, buffers = stack_module_state(models)
    f, _, _ = make_functional_with_buffers(models[0])
    return f, tuple(params.values()), tuple(buffers.values())


def _reparametrize_module(module, parameters_and_buffers, *, tie_weights=False, strict=False, stack_weights=False):
    """Replace tensors of a module inside, under PyTorch's private name of `swapped_tensors`."""
    return swapped_tensors(module, parameters_and_buffers, tie_weights, strict)
