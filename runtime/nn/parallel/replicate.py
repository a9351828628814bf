"""Replicas of a module on several devices, differentiable with respect to its parameters."""

from ....ir.errors import ArgumentError
from ...state.structure import Table
from ..base.parameter import is_lazy
from . import comm

__all__ = ["replicate"]


def replicate(network, devices, detach=False) -> list:
    """Return a replica of a module for each device.

    The first holds the module's own parameters and buffers on that device, so its writes to buffers (running statistics) stay.
    The others hold copies, whose parameters are tensors with histories, not leaves. `detach` cuts the histories.
    """
    modules = list(network.modules())
    tables: list[dict] = [{} for _ in devices]             # for each device: original tensor -> its replacement
    for t in (t for m in modules for t in (*m._parameters.values(), *m._buffers.values()) if t is not None):
        if is_lazy(t):
            raise ArgumentError("replicate: the module has parameters without sizes; call it once first")
        if id(t) not in tables[0]:
            for table, copied in zip(tables, comm.broadcast(t.detach() if detach and t.requires_grad else t, devices)):
                table[id(t)] = copied
    return [_replica(network, modules, table) for table in tables]


def _replica(network, modules, copied):
    made = {id(m): m._replicate_for_data_parallel() for m in modules}
    for module in modules:
        own = made[id(module)].__dict__
        for name in ("_parameters", "_buffers"):
            own[name] = Table((k, None if t is None else copied[id(t)]) for k, t in module.__dict__[name].items())
        own["_modules"] = Table((k, made.get(id(m))) for k, m in module._modules.items())
    return made[id(network)]
