"""Optimizers with a step size per element from past gradients: Adadelta, Adagrad, RMSprop, Rprop; averaged SGD."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, AutogradError
from ..api.register.register import FUNCTIONS
from .exact_powers import fitted, number_in, power
from .functional_optimizers import form
from .optimizer import check, count, device_of_scalars, options_of, set_scalar, zeros_like
from .sparse_updates import group_number, rows_of
from .update_rules import Elementwise, decay_of, decayed


class Adadelta(Elementwise):
    """Steps in units of the parameter: root mean square of past steps over that of past gradients.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Factor of steps.
    rho : float
        Weight of the past in both running means.
    eps : float
        Added below the roots.
    weight_decay : float
        Factor of the parameter that is added to its gradient.
    maximize : bool
        Whether steps go up instead of down.
    capturable : bool
        Whether counts of steps stay on the GPU, as CUDA graphs need.
    differentiable : bool
        Whether gradients flow through the step.
    foreach : bool, optional
        Changes nothing: updates run as fused kernels wherever they can.

    Examples
    --------
    >>> w = nn.Parameter(ingot.tensor([1.0]))
    >>> opt = optim.Adadelta([w])
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0 <= rho <= 1:
            raise ArgumentError(f"rho must be within 0 and 1, got {rho}")
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return "square_avg", "acc_delta"

    def _numbers(self, t, group):
        rho = group["rho"]
        return decay_of(group) | {"keep": rho, "add": 1 - rho, "eps": group["eps"], "lr": group["lr"]}

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        s.square_avg = s.square_avg * n.keep
        s.square_avg = s.square_avg + g * g * n.add
        delta = fn.sqrt(s.acc_delta + n.eps) / fn.sqrt(s.square_avg + n.eps) * g
        s.acc_delta = s.acc_delta * n.keep
        s.acc_delta = s.acc_delta + delta * delta * n.add
        s.p = s.p - delta * n.lr


def _first_sum(p, value):
    """Return Adagrad's initial sum of squares, one per part of a complex number."""
    return zeros_like(p) + (complex(value, value) if p.dtype.is_complex else value)


class Adagrad(Elementwise):
    """Steps by the gradient over the root of the sum of all squared gradients.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    lr_decay : float
        Decay of the rate over steps.
    weight_decay : float
        Factor of the parameter that is added to its gradient.
    initial_accumulator_value : float
        First value of the sums of squares.
    eps : float
        Added to the root.
    maximize : bool
        Whether steps go up instead of down.
    differentiable : bool
        Whether gradients flow through the step.
    foreach, fused : bool, optional
        Change nothing: updates run as fused kernels wherever they can.

    Examples
    --------
    >>> w = nn.Parameter(ingot.tensor([1.0]))
    >>> opt = optim.Adagrad([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, options_of(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] |= {"step": FUNCTIONS["zeros"]((), dtype=dt.float32, device="cpu"),
                                  "sum": _first_sum(p, initial_accumulator_value)}

    def share_memory(self):
        """Move the state into memory that other processes can map."""
        for state in self.state.values():
            state["step"].share_memory_()
            state["sum"].share_memory_()

    def _names(self, group):
        return ("sum",)

    def _begin(self, p, state, group):
        if "sum" not in state:
            state["sum"] = _first_sum(p, group["initial_accumulator_value"])
        return count(state, p, group)

    def _numbers(self, t, group):
        return decay_of(group) | {"eps": group["eps"], "lr": group["lr"] / (1 + (t - 1) * group["lr_decay"])}

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        s.sum = s.sum + g * g
        s.p = s.p - g / (fn.sqrt(s.sum) + n.eps) * n.lr

    def _update_rows(self, p, g, state, group):
        if group["weight_decay"]:
            raise AutogradError("Adagrad: weight_decay does not go with sparse gradients; set it to 0")
        t = count(state, p, group)
        if "sum" not in state:
            state["sum"] = _first_sum(p, group["initial_accumulator_value"])
        rows = rows_of(g)
        values = rows.values
        total = rows.of(state["sum"]) + values * values
        rows.put(state["sum"], total)
        lr = group_number(group["lr"], values) / group_number(1 + (t - 1) * group["lr_decay"], values)
        rows.put(p, rows.of(p) - values / (rows.sqrt(total) + group_number(group["eps"], values)) * lr)


class RMSprop(Elementwise):
    """Steps by the gradient over its root mean square (around its mean with `centered`).

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    alpha : float
        Weight of the past in the running mean of squares.
    eps : float
        Added to the root.
    weight_decay : float
        Factor of the parameter that is added to its gradient.
    momentum : float
        Weight of past steps.
    centered : bool
        Whether squares are taken around the running mean of gradients.
    maximize : bool
        Whether steps go up instead of down.
    capturable : bool
        Whether counts of steps stay on the GPU, as CUDA graphs need.
    differentiable : bool
        Whether gradients flow through the step.
    foreach : bool, optional
        Changes nothing: updates run as fused kernels wherever they can.

    Examples
    --------
    >>> w = nn.Parameter(ingot.tensor([1.0]))
    >>> opt = optim.RMSprop([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        more = (("grad_avg",) if group["centered"] else ()) + (("momentum_buffer",) if group["momentum"] else ())
        return "square_avg", *more

    def _numbers(self, t, group):
        alpha, momentum = group["alpha"], group["momentum"]
        return decay_of(group) | {"keep": alpha, "add": 1 - alpha, "eps": group["eps"], "lr": group["lr"]} \
            | ({"momentum": momentum} if momentum else {})

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        s.square_avg = s.square_avg * n.keep
        s.square_avg = s.square_avg + g * g * n.add
        square = s.square_avg
        if s.grad_avg is not None:
            s.grad_avg = s.grad_avg + (g - s.grad_avg) * n.add
            square = square - s.grad_avg * s.grad_avg
        step = g / (fn.sqrt(square) + n.eps)
        if s.momentum_buffer is not None:
            s.momentum_buffer = s.momentum_buffer * n.momentum + step
            step = s.momentum_buffer
        s.p = s.p - step * n.lr


class Rprop(Elementwise):
    """Steps by the sign of the gradient: longer while the sign stays, shorter when it changes."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check(lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ArgumentError(f"etas must be (below 1, above 1), got {etas}")
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return "prev", "step_size"

    def _begin(self, p, state, group):
        if "step_size" not in state:
            state["step_size"] = zeros_like(p) + group["lr"]
        return count(state, p, group)

    def _numbers(self, t, group):
        (down, up), (least, most) = group["etas"], group["step_sizes"]
        return {"down": down, "up": up, "least": least, "most": most}

    @staticmethod
    def _rule(fn, s, g, n):
        turn, size = g * s.prev, s.step_size
        size = fn.where(fn.gt(turn, 0.0), size * n.up, fn.where(fn.lt(turn, 0.0), size * n.down, size))
        s.step_size = fn.clamp(size, n.least, n.most)
        s.prev = fn.where(fn.lt(turn, 0.0), 0.0, g)
        s.p = s.p - fn.sign(s.prev) * s.step_size


class ASGD(Elementwise):
    """SGD with averaged iterates (state "ax")."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check(lr=lr, weight_decay=weight_decay)
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return ("ax",)

    def _begin(self, p, state, group):
        """Return the learning rate and the averaging weight of a step, saved per parameter."""
        if "eta" not in state:
            one = FUNCTIONS["ones"]((), dtype=p.dtype, device=device_of_scalars(p, group))
            state["eta"], state["mu"] = fitted(group["lr"], one) * one, one
        t, eta, mu = count(state, p, group), number_in(state["eta"]), number_in(state["mu"])
        set_scalar(state["eta"], group["lr"] / power(1 + group["lambd"] * group["lr"] * t, group["alpha"]))
        past = t - group["t0"]
        set_scalar(state["mu"], 1 / (max(1, past) if isinstance(past, float) else past.clamp(min=1)))
        return eta, mu

    def _numbers(self, at, group):
        eta, mu = at
        return decay_of(group) | {"shrunk": 1 - eta * group["lambd"], "eta": eta, "mu": mu}

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        s.p = s.p * n.shrunk - g * n.eta
        s.ax = s.ax + (s.p - s.ax) * n.mu


adadelta = form(Adadelta, ("square_avg", "acc_delta"), "lr rho eps weight_decay")
adagrad = form(Adagrad, ("sum",), "lr weight_decay lr_decay eps")
rmsprop = form(RMSprop, ("square_avg", "grad_avg", "momentum_buffer"), "lr alpha eps weight_decay", momentum=0, centered=False)
rprop = form(Rprop, ("prev", "step_size"), "step_size_min step_size_max etaminus etaplus", lr=1e-2)
asgd = form(ASGD, ("ax", "mu", "eta"), "lambd lr t0 alpha weight_decay")
