"""Whole parameters outside of forward."""

import contextlib

from ....ir.errors import ArgumentError, AutogradError
from ...autograd.grad_mode import no_grad
from ...state.mode import tls
from .flat_parameter import units_below
from .wrap_policies import is_unit


@contextlib.contextmanager
def summoned(module, recurse=True, writeback=True, rank0_only=False, offload_to_cpu=False, with_grads=False):
    """Implement `FullyShardedDataParallel.summon_full_params`."""
    if tls.m.recorder is not None:
        tls.m.recorder.refuse("it calls summon_full_params()", "call that outside of the function")
    if rank0_only and writeback:
        raise ArgumentError("summon_full_params(rank0_only=True) takes writeback=False: other ranks would not have what is "
                            "written")
    if tls.m.backward is not None:
        raise AutogradError("summon_full_params() is for the time outside of forward and backward")
    units = units_below(module) if recurse else [module] if is_unit(module) else []
    with contextlib.ExitStack() as stack:
        for one in units:
            stack.enter_context(_summon_unit(one, writeback, rank0_only, offload_to_cpu, with_grads))
        yield


@contextlib.contextmanager
def _summon_unit(sharded, writeback, rank0_only, offload_to_cpu, with_grads):
    unit = sharded._unit
    if unit.is_summoned or not unit.entries:
        yield
        return
    if with_grads and sharded._reducer.has_stored:
        raise AutogradError("the gradients are those of this rank alone, of a backward within no_sync(); go backward outside "
                            "of it first")
    unit.reshard()
    flat = sharded._parameters.pop("_flat_param", None)
    unit.unshard(device="cpu" if offload_to_cpu else None, apart=True)
    shows = not rank0_only or unit.group_rank() == 0
    if with_grads:
        _show_gradients(unit)
    if not shows:
        unit.reshard()
        _show_flat(sharded, flat)
    unit.is_summoned = True
    try:
        yield
    finally:
        try:
            if shows and writeback:
                _write_back(unit, with_grads)
        finally:
            for leaf in unit.leaves:
                leaf.grad = None
            unit.reshard()
            unit.is_summoned = False
            _show_flat(sharded, flat)


def _show_flat(sharded, flat):
    if flat is not None:
        sharded._parameters["_flat_param"] = flat


def _show_gradients(unit):
    """Give whole parameters their whole gradients, if any."""
    grad = unit.gradient_part()
    everyone = unit.collect_objects([p.grad is not None for p in unit.params])
    if not any(map(any, everyone)):
        return
    with no_grad():
        whole = unit.collect(grad, "gradients").to(unit.whole.device)
        for i, (leaf, g) in enumerate(zip(unit.leaves, unit.cut(whole))):
            there = any(one[i if unit.use_orig_params else 0] for one in everyone)
            if leaf.requires_grad and there:
                leaf.grad = g.clone()


def _write_back(unit, with_grads):
    """Keep this rank's part of writes."""
    with no_grad():
        unit.write(unit._part_of([leaf.detach() for leaf in unit.leaves]))
        if with_grads and any(leaf.grad is not None for leaf in unit.leaves):
            grads = [leaf.detach() * 0 if leaf.grad is None else leaf.grad for leaf in unit.leaves]
            unit.write_gradient(unit._part_of(grads), [leaf.grad is not None for leaf in unit.leaves])
