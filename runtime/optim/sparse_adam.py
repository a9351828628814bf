"""Adam for parameters with sparse gradients, such as embeddings."""

from ...ir.errors import ArgumentError
from ..api.register.register import FUNCTIONS
from ..state.mode import tls
from .exact_powers import power, root
from .optimizer import Optimizer, check, count, options_of, put, zeros_like
from .sparse_updates import group_number, rows_of

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that leaves rows without gradient, and their running averages, unchanged. In a dense gradient these are the zero
    rows."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check(lr=lr, beta1=betas[0], beta2=betas[1], eps=eps)
        if not eps > 0 or not float(lr) > 0:
            raise ArgumentError(f"SparseAdam takes lr and eps above 0, got {lr} and {eps}")
        super().__init__(params, options_of(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                if p.dtype.is_complex:
                    raise ArgumentError(f"SparseAdam does not support complex parameters, got {p.aval}; use Adam or SGD")

    def _update(self, p, g, state, group):
        t = count(state, p, group)
        beta1, beta2 = group["betas"]
        touched = g != 0
        if g.ndim > 1:
            touched = touched.flatten(1).any(1).reshape(-1, *(1,) * (g.ndim - 1))
        mean, square = self._updated_averages(p, g, state, touched, beta1, beta2)
        step = group["lr"] * root(1 - power(beta2, t)) / (1 - power(beta1, t))
        updated = p - mean / (FUNCTIONS["sqrt"](square) + group["eps"]) * step
        put(p, FUNCTIONS["where"](touched, updated, p.detach()))

    def _update_rows(self, p, g, state, group):
        t = count(state, p, group)
        rows = rows_of(g)
        values, (beta1, beta2) = rows.values, group["betas"]
        mean, square = (rows.of(average) for average in self._averages(p, state))
        mean = mean + (values - mean) * group_number(1 - beta1, values)
        square = square + (values * values - square) * group_number(1 - beta2, values)
        rows.put(state["exp_avg"], mean)
        rows.put(state["exp_avg_sq"], square)
        rate = group["lr"] if tls.m.recorder is not None else float(group["lr"])
        step = group_number(rate * root(1 - power(beta2, t)) / (1 - power(beta1, t)), values)
        rows.put(p, rows.of(p) - mean / (rows.sqrt(square) + group_number(group["eps"], values)) * step)

    @staticmethod
    def _averages(p, state):
        for name in ("exp_avg", "exp_avg_sq"):
            if name not in state:
                state[name] = zeros_like(p)
        return state["exp_avg"], state["exp_avg_sq"]

    def _updated_averages(self, p, g, state, touched, beta1, beta2):
        """Return the running averages, updated where a row has a gradient."""
        where, (mean, square) = FUNCTIONS["where"], self._averages(p, state)
        put(mean, where(touched, mean + (g - mean) * (1 - beta1), mean))
        put(square, where(touched, square + (g * g - square) * (1 - beta2), square))
        return mean, square
