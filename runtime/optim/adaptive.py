"""Optimizers that adapt each element's step by its past gradients: Adadelta, Adagrad, RMSprop, Rprop; averaged SGD."""

import numpy as np

from ...ir.errors import ArgumentError, AutogradError
from ..api.register import FUNCTIONS
from . import fused
from .adam import decayed, moment, second_moment
from .optimizer import Optimizer, check, count, counts_there, put, zeros_like
from .powers import fitted, power
from .sparse_rows import group_number, put_rows, rows_of


class Adadelta(Optimizer):
    """Steps in the units of the parameter: root mean square of past steps over that of past gradients."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0 <= rho <= 1:
            raise ArgumentError(f"rho must be within 0 and 1, got {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _update(self, p, g, state, group):
        count(state, p, group)
        rho, eps = group["rho"], group["eps"]
        g = decayed(p, g, group, False)
        square = second_moment(state, "square_avg", p, g, rho)
        if "acc_delta" not in state:
            state["acc_delta"] = zeros_like(p)
        delta = FUNCTIONS["sqrt"](state["acc_delta"] + eps) / FUNCTIONS["sqrt"](square + eps) * g
        second_moment(state, "acc_delta", p, delta, rho)
        put(p, p - delta * group["lr"])


class Adagrad(Optimizer):
    """Steps by the gradient over the root of the sum of all squared gradients."""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] |= {"step": FUNCTIONS["zeros"](()), "sum": zeros_like(p) + initial_accumulator_value}

    def share_memory(self):
        """Moves the state into memory that other processes can map."""
        for state in self.state.values():
            state["step"].share_memory_()
            state["sum"].share_memory_()

    def _update(self, p, g, state, group):
        t, decay = count(state, p, group), group["weight_decay"]
        if "sum" not in state:
            state["sum"] = zeros_like(p) + group["initial_accumulator_value"]
        lr = group["lr"] / (1 + (t - 1) * group["lr_decay"])
        if type(lr) is float and fused.takes(group, p, g, state["sum"]):
            numbers = [lr, group["eps"], *((decay,) if decay else ())]
            fused.sweep(fused.adagrad_step(bool(decay)), (p, state["sum"]), (g,), numbers)
            return
        g = decayed(p, g, group, False)
        total = put(state["sum"], state["sum"] + g * g)
        put(p, p - g / (FUNCTIONS["sqrt"](total) + group["eps"]) * lr)

    def _update_rows(self, p, g, state, group):
        if group["weight_decay"]:
            raise AutogradError("Adagrad: weight_decay does not go with sparse gradients; set it to 0")
        t = count(state, p, group)
        if "sum" not in state:
            state["sum"] = zeros_like(p) + group["initial_accumulator_value"]
        at, values = rows_of(g)
        total = state["sum"]._a[at] + values * values
        put_rows(state["sum"], at, total)
        lr = group_number(group["lr"], values) / (1 + (t - 1) * group["lr_decay"])
        put_rows(p, at, p._a[at] - values / (np.sqrt(total) + group_number(group["eps"], values)) * group_number(lr, values))


class RMSprop(Optimizer):
    """Steps by the gradient over its root mean square (about its mean with `centered`)."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable})

    def _update(self, p, g, state, group):
        count(state, p, group)
        if not group["centered"] and not group["momentum"] and fused.takes(group, p, g):
            self._sweep(p, g, state, group)
            return
        g = decayed(p, g, group, False)
        square = second_moment(state, "square_avg", p, g, group["alpha"])
        if group["centered"]:
            mean = moment(state, "grad_avg", p, g, group["alpha"])
            square = square - mean * mean
        step = g / (FUNCTIONS["sqrt"](square) + group["eps"])
        if group["momentum"]:
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = zeros_like(p)
            step = put(state["momentum_buffer"], state["momentum_buffer"] * group["momentum"] + step)
        put(p, p - step * group["lr"])

    @staticmethod
    def _sweep(p, g, state, group):
        if "square_avg" not in state:
            state["square_avg"] = zeros_like(p)
        decay, alpha = group["weight_decay"], group["alpha"]
        fused.sweep(fused.rmsprop_step(bool(decay)), (p, state["square_avg"]), (g,),
                    [group["lr"], alpha, 1 - alpha, group["eps"], *((decay,) if decay else ())])


class Rprop(Optimizer):
    """Steps by the gradient's sign, longer while it keeps, shorter when it turns."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check(lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ArgumentError(f"etas must be (below 1, above 1), got {etas}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
                                  "differentiable": differentiable, "capturable": capturable})

    def _update(self, p, g, state, group):
        count(state, p, group)
        if "prev" not in state:
            state["prev"] = zeros_like(p)
            state["step_size"] = zeros_like(p) + group["lr"]
        (down, up), (least, most) = group["etas"], group["step_sizes"]
        where = FUNCTIONS["where"]
        turn = g * state["prev"]
        one = FUNCTIONS["ones_like"](turn)
        factor = where(turn > 0, one * up, where(turn < 0, one * down, one))
        size = put(state["step_size"], FUNCTIONS["clamp"](state["step_size"] * factor, least, most))
        g = where(turn < 0, FUNCTIONS["zeros_like"](g), g)
        put(p, p - FUNCTIONS["sign"](g) * size)
        put(state["prev"], g)


class ASGD(Optimizer):
    """SGD whose iterates are averaged (in state "ax")."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check(lr=lr, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def _update(self, p, g, state, group):
        if "ax" not in state:
            one = FUNCTIONS["ones"]((), dtype=p.dtype, device=p.device if counts_there(p, group) else None)
            state |= {"ax": zeros_like(p), "eta": fitted(group["lr"], one) * one, "mu": one}
        t = count(state, p, group)
        g = decayed(p, g, group, False)
        eta, mu, average = state["eta"], state["mu"], state["ax"]
        put(p, p * (1 - eta * group["lambd"]) - g * eta)
        put(average, average + (p.detach() - average) * mu)
        put(eta, eta * 0 + group["lr"] / power(1 + group["lambd"] * group["lr"] * t, group["alpha"]))
        past = t - group["t0"]
        put(mu, mu * 0 + 1 / (max(1, past) if isinstance(past, float) else past.clamp(min=1)))
