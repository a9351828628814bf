"""Optimizers that use the shape of a parameter: Adafactor, Muon."""

from ...ir.errors import ArgumentError
from ...ir.suggestions import unknown_choice
from ..api.register.register import FUNCTIONS
from .exact_powers import fitted, power
from .optimizer import Optimizer, check, count, options_of, put, zeros_like


def _mean_square(g, dim):
    return FUNCTIONS["mean"](g * g, dim, keepdim=True)


class Adafactor(Optimizer):
    """Adam without a mean: squares are stored as one row and one column, and steps are relative to the parameter's size."""

    _takes_complex = False

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        check(lr=lr, weight_decay=weight_decay)
        if beta2_decay > 0:
            raise ArgumentError(f"beta2_decay must be at most 0, got {beta2_decay}")
        if d < 1:
            raise ArgumentError(f"d must be at least 1, got {d}")
        super().__init__(params, options_of(locals()))

    def _update(self, p, g, state, group):
        t = count(state, p, group)
        lr, norm = group["lr"], FUNCTIONS["norm"]
        least, relative = group["eps"]
        least = FUNCTIONS["finfo"](p.dtype).eps if least is None else least
        fresh = power(t, group["beta2_decay"])
        size = p._a.size ** 0.5
        rate = FUNCTIONS["clamp"](norm(p.detach()) / size, min=relative) * fitted(_smaller(lr, power(t, -0.5)), p)
        if group["weight_decay"]:
            put(p, p * (1 - lr * group["weight_decay"]))
        square = self._square(p, g, state, fresh, least)
        update = g * FUNCTIONS["rsqrt"](FUNCTIONS["clamp"](square, min=least * least))
        limit = FUNCTIONS["clamp"](norm(update) / (size * group["d"]), min=1.0)
        put(p, p - update * (rate / limit))

    def _square(self, p, g, state, fresh, least):
        """Return the estimated mean square gradient of each element."""
        if p.ndim < 2:
            return _update_average(state, "variance", g * g, fresh)
        rows = _update_average(state, "row_var", _mean_square(g, -1), fresh)
        cols = _update_average(state, "col_var", _mean_square(g, -2), fresh)
        scale = FUNCTIONS["clamp"](FUNCTIONS["mean"](rows, -2, keepdim=True), min=least)
        return (rows @ cols) / scale


def _smaller(a, b):
    return min(a, b) if isinstance(b, float) else FUNCTIONS["clamp"](b, max=a)


def _update_average(state, name, value, share):
    if name not in state:
        state[name] = zeros_like(value)
    return put(state[name], state[name] + (value - state[name]) * share)


# Factor of the learning rate for a matrix of this shape.
_RATES = {"original": lambda rows, cols: max(1, rows / cols) ** 0.5,
          "match_rms_adamw": lambda rows, cols: 0.2 * max(rows, cols) ** 0.5,
          "spectral_unclamped": lambda rows, cols: (rows / cols) ** 0.5}


class Muon(Optimizer):
    """Momentum with updates brought close to an orthogonal matrix, for matrices."""

    _takes_complex = False

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        check(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn is not None and adjust_lr_fn not in _RATES:
            raise unknown_choice("adjust_lr_fn", adjust_lr_fn, _RATES)
        super().__init__(params, options_of(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ArgumentError(f"Muon takes parameters of two dimensions, got {p.aval}")

    def _update(self, p, g, state, group):
        momentum = group["momentum"]
        buffer = _update_average(state, "momentum_buffer", g, 1 - momentum)
        step = g + (buffer - g) * momentum if group["nesterov"] else buffer
        step = orthogonalised(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
        ratio = _RATES[group["adjust_lr_fn"] or "original"](*p.shape)
        put(p, p * (1 - group["lr"] * group["weight_decay"]) - step * (group["lr"] * ratio))


def orthogonalised(g, coefficients, steps, eps):
    """Run Newton-Schulz iterations towards the nearest (semi-)orthogonal matrix."""
    a, b, c = coefficients
    wide = g.shape[0] <= g.shape[1]
    x = g if wide else g.t()
    x = x / FUNCTIONS["clamp"](FUNCTIONS["norm"](x), min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        x = x * a + (gram * b + (gram @ gram) * c) @ x
    return x if wide else x.t()
