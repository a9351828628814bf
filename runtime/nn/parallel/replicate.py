"""Copies of a module on several devices, which are functions of its parameters: gradients come back to these."""

from ....ir.errors import ArgumentError
from ...core.structure import Table
from ..base.parameter import is_lazy
from . import comm

__all__ = ["replicate"]


def replicate(network, devices, detach=False) -> list:
    """A copy of a module for each device.

    The first one holds the very parameters and buffers of a module that is there already, so what it writes to buffers (running
    statistics) stays; the others hold copies. A copy's parameters are tensors with histories, not leaves. `detach` makes them
    tensors without.
    """
    modules = list(network.modules())
    tables: list[dict] = [{} for _ in devices]             # for each device: what is there in place of a tensor
    for t in (t for m in modules for t in (*m._parameters.values(), *m._buffers.values()) if t is not None):
        if is_lazy(t):
            raise ArgumentError("replicate: the module has parameters without sizes; call it once first")
        if id(t) not in tables[0]:
            for table, there in zip(tables, comm.broadcast(t.detach() if detach and t.requires_grad else t, devices)):
                table[id(t)] = there
    return [_replica(network, modules, table) for table in tables]


def _replica(network, modules, there):
    """A copy of `network` whose tensors are those of the table."""
    made = {id(m): m._replicate_for_data_parallel() for m in modules}
    for module in modules:
        own = made[id(module)].__dict__
        for name in ("_parameters", "_buffers"):
            own[name] = Table((k, None if t is None else there[id(t)]) for k, t in module.__dict__[name].items())
        own["_modules"] = Table((k, made.get(id(m))) for k, m in module._modules.items())
    return made[id(network)]
