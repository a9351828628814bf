"""Stochastic gradient descent."""

from ...ir.errors import ArgumentError
from ..api.register import FUNCTIONS
from . import fused
from .optimizer import Optimizer, check, put
from .sparse_rows import group_number, put_rows, rows_of


class SGD(Optimizer):
    """p -= lr * g, with momentum, Nesterov's look ahead and weight decay."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("nesterov needs a momentum above 0 and no dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
                                  "differentiable": differentiable, "fused": fused})

    def _update(self, p, g, state, group):
        self._update_each([(p, g, state)], group)

    def _update_each(self, rows, group):
        swept, sweeps, moves = [], fused.sweeps(group), group["momentum"]
        for p, g, state in rows:
            buffer = state.get("momentum_buffer") if moves else None
            if sweeps and (buffer is not None or not moves) and fused.are_alike(p, (g,) if buffer is None else (g, buffer)):
                swept.append(((p,) if buffer is None else (p, buffer), (g,)))
            else:
                self._by_operators(p, g, state, group)
        if swept:
            self._sweep(swept, group)

    def _sweep(self, rows, group):
        decay, momentum, dampening = group["weight_decay"], group["momentum"], group["dampening"]
        numbers = [group["lr"], *((decay,) if decay else ())]
        if momentum:
            numbers += [momentum, *((1 - dampening,) if dampening else ())]
        build = fused.sgd_step(bool(decay), bool(momentum), bool(momentum and dampening), bool(momentum and group["nesterov"]))
        fused.sweep_each(build, rows, numbers)

    def _update_rows(self, p, g, state, group):
        if group["momentum"] or group["weight_decay"] or group["differentiable"]:
            self._update(p, g.to_dense(), state, group)    # every row moves
        else:
            at, values = rows_of(g)
            put_rows(p, at, p._a[at] - values * group_number(group["lr"], values))

    def _by_operators(self, p, g, state, group):
        if group["weight_decay"]:
            g = g + p.detach() * group["weight_decay"]
        momentum = group["momentum"]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = FUNCTIONS["clone"](g)
            else:
                put(buffer, buffer * momentum + (g if not group["dampening"] else g * (1 - group["dampening"])))
            g = g + buffer * momentum if group["nesterov"] else buffer
        put(p, p - g * group["lr"])
