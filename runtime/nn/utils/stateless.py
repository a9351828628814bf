"""Modules as functions of their parameters and buffers."""

from contextlib import contextmanager

from ....ir.errors import ArgumentError, DTypeError
from ....ir.ops.core.shape import cat, reshape
from ...core.tensor import Tensor, shape_of
from ...state.structure import Structure
from ..layers.norm import _BatchNorm

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state", "swapped_tensors"]


def _table_of(module, name):
    """Return (table, key) of a parameter or buffer by its dotted name."""
    path, _, key = name.rpartition(".")
    owner = module.get_submodule(path)
    for table in (owner._parameters, owner._buffers):
        if key in table:
            return table, key
    raise ArgumentError(f"{type(module).__name__} has no parameter or buffer '{name}'")


def _tied_names(module, names) -> dict:
    """Return, for each name, all names of the same tensor."""
    everything = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    by_tensor: dict = {}
    for name, t in everything:
        by_tensor.setdefault(id(t), []).append(name)
    groups = {name: group for group in by_tensor.values() for name in group}
    return {name: groups.get(name, [name]) for name in names}


def _merge_dicts(parameters_and_buffers) -> dict:
    if isinstance(parameters_and_buffers, dict):
        return parameters_and_buffers
    if isinstance(parameters_and_buffers, (tuple, list)) and all(isinstance(d, dict) for d in parameters_and_buffers):
        merged: dict = {}
        for part in parameters_and_buffers:
            twice = sorted(set(merged) & set(part))
            if twice:
                raise ArgumentError(f"functional_call got {twice} in more than one dict")
            merged.update(part)
        return merged
    raise DTypeError("functional_call takes a dict of tensors by name, or several of them, got "
                     f"{type(parameters_and_buffers).__name__}")


@contextmanager
def swapped_tensors(module, values: dict, tie_weights: bool = True, strict: bool = False):
    """Replace tensors of a module inside a `with` block."""
    known = {n for n, _ in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False))}
    tied = _tied_names(module, values) if tie_weights else {name: [name] for name in values}
    given = {other for name in values for other in tied[name]}
    for name, value in values.items():
        if any(values.get(other, value) is not value for other in tied[name]):
            raise ArgumentError(f"functional_call got different values for {sorted(set(tied[name]) & set(values))}, which are "
                                "one tensor; give one of them, or tie_weights=False")
    if strict and (given - known or known - given):
        raise ArgumentError(f"functional_call: unexpected {sorted(given - known)}, missing {sorted(known - given)}")
    before = []
    try:
        for name, value in values.items():
            if not isinstance(value, Tensor):
                raise DTypeError(f"functional_call takes tensors, '{name}' is a {type(value).__name__}")
            for other in tied[name]:
                table, key = _table_of(module, other)
                before.append((table, key, table[key]))
                table[key] = values.get(other, value)
        Structure.version += 1
        yield module
    finally:
        for table, key, value in reversed(before):
            table[key] = value
        Structure.version += 1


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call the module with other tensors in place of its parameters and buffers.

    The module's own tensors stay; gradients go to the given ones. Names that share one tensor are replaced together, unless
    `tie_weights` is false. `strict` requires all names.
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with swapped_tensors(module, _merge_dicts(parameter_and_buffer_dicts), tie_weights, strict):
        return module(*args, **(kwargs or {}))


def stack_module_state(models):
    """Return (parameters, buffers) of models of one class: dicts by name, stacked along a new first dimension. Stacked
    parameters are leaves."""
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
    flags = {t.requires_grad for t in tensors}
    if len(flags) != 1:
        raise ArgumentError("stack_module_state: a parameter must require grad in all models, or in none")
    stacked = cat(*[reshape(t.detach(), shape=(1, *shape_of(t))) for t in tensors], dim=0)
    return stacked.requires_grad_() if flags.pop() else stacked


def replace_all_batch_norm_modules_(root):
    """Remove running statistics, which vmap cannot write, from all batch norms of a module; return the module."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
