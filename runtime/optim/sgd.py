"""Stochastic gradient descent."""

from ...ir.errors import ArgumentError
from .functional_optimizers import form
from .optimizer import check, options_of
from .sparse_updates import group_number, rows_of
from .update_rules import Elementwise, decay_of, decayed


class SGD(Elementwise):
    """The step p -= lr * g, with momentum, Nesterov momentum and weight decay.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    momentum, dampening : float
        Weight of past steps, and the share by which the new gradient is reduced beside them.
    weight_decay : float
        Factor of the parameter that is added to its gradient.
    nesterov : bool
        Whether the gradient is taken ahead along the momentum.
    maximize : bool
        Whether steps go up instead of down.
    differentiable : bool
        Whether gradients flow through the step.
    foreach, fused : bool, optional
        Change nothing: updates run as fused kernels wherever they can.

    Examples
    --------
    >>> w = nn.Parameter(ingot.tensor([1.0]))
    >>> opt = optim.SGD([w], lr=0.1, momentum=0.9)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("nesterov needs a momentum above 0 and no dampening")
        self._begins: dict = {}     # id of a repeated parameter -> first steps left
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return ("momentum_buffer",) if group["momentum"] else ()

    def _begin(self, p, state, group):
        """Return whether the parameter has had a gradient. A repeated one starts twice: momentum is then the last gradient."""
        buffer = state.get("momentum_buffer")
        if self._repeats and group["momentum"]:
            if buffer is None:
                self._begins[id(p)] = sum(q is p for q in group["params"]) - 1
            elif self._begins.get(id(p)):
                self._begins[id(p)] -= 1
                buffer.zero_()
                return False
        return buffer is not None

    def _numbers(self, moves, group):
        momentum, dampening = group["momentum"], group["dampening"]
        numbers = decay_of(group) | {"lr": group["lr"]}
        if momentum:
            numbers["keep"] = momentum
        if moves and dampening:
            numbers["add"] = 1 - dampening
        return numbers | ({"ahead": momentum} if momentum and group["nesterov"] else {})

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        if n.keep is not None:
            s.momentum_buffer = s.momentum_buffer * n.keep + (g if n.add is None else g * n.add)
            g = s.momentum_buffer if n.ahead is None else g + s.momentum_buffer * n.ahead
        s.p = s.p - g * n.lr

    def _update_rows(self, p, g, state, group):
        if group["momentum"] or group["weight_decay"] or group["differentiable"]:
            self._update(p, g.to_dense(), state, group)    # every row moves
        else:
            rows = rows_of(g)
            rows.put(p, rows.of(p) - rows.values * group_number(group["lr"], rows.values))


sgd = form(SGD, ("momentum_buffer",), "lr", counts=False, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
