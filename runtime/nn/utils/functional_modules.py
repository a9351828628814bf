"""Modules as functions of their parameters."""

from ....ir.errors import ArgumentError
from ....ir.ops.core.shape import cat, reshape
from ...core.tensor import shape_of
from ..layers.norm import _BatchNorm
from .stateless import functional_call

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def stack_module_state(models):
    """(parameters, buffers) of models of one class: dicts by name, each tensor those of all models along a new first dimension.
    The stacked parameters are leaves."""
    if not models:
        raise ArgumentError("stack_module_state needs at least one model")
    if len({model.training for model in models}) != 1:
        raise ArgumentError("stack_module_state: all models must be in the same mode, train() or eval()")
    if len({type(model) for model in models}) != 1:
        raise ArgumentError("stack_module_state: all models must be of one class")
    params = {name: _stacked([dict(m.named_parameters())[name] for m in models]) for name, _ in models[0].named_parameters()}
    buffers = {name: _stacked([dict(m.named_buffers())[name] for m in models]) for name, _ in models[0].named_buffers()}
    return params, buffers


def _stacked(tensors):
    wanted = {t.requires_grad for t in tensors}
    if len(wanted) != 1:
        raise ArgumentError("stack_module_state: a parameter must require grad in all models, or in none")
    stacked = cat(*[reshape(t.detach(), shape=(1, *shape_of(t))) for t in tensors], dim=0)
    return stacked.requires_grad_() if wanted.pop() else stacked


def replace_all_batch_norm_modules_(root):
    """Makes every batch normalisation of a module do without running statistics, which vmap cannot write; gives the module."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
