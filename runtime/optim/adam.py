"""Adam and its relatives."""

from ..api.register import FUNCTIONS
from ..tensor import Tensor
from . import fused
from .optimizer import Optimizer, check, count, counts_there, put, zeros_like
from .powers import number_in, power, root


def moment(state, name, p, value, beta):
    """Moves a running average by (1 - beta) towards a value; it starts at 0."""
    average = state.get(name)
    if average is None:
        average = state[name] = zeros_like(p)
    return put(average, average + (value - average) * (1 - beta))


def second_moment(state, name, p, g, beta):
    """The running average of squares: average * beta + g * g * (1 - beta)."""
    average = state.get(name)
    if average is None:
        average = state[name] = zeros_like(p)
    put(average, average * beta)        # written in between, so that two arrays of its size are alive at most
    return put(average, average + g * g * (1 - beta))


def decayed(p, g, group, decoupled):
    """The gradient with weight decay: added to it, or (decoupled) taken off the parameter at once."""
    decay = group["weight_decay"]
    if not decay:
        return g
    if decoupled:
        put(p, p * (1 - group["lr"] * decay))
        return g
    return g + p.detach() * decay


def _check(lr, betas, eps, weight_decay):
    check(lr=lr, beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay)


class Adam(Optimizer):
    """Steps by the running mean of gradients over the root of the running mean of their squares."""

    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable, "fused": fused,
                                  "decoupled_weight_decay": decoupled_weight_decay})

    def _update(self, p, g, state, group):
        self._update_each([(p, g, state)], group)

    def _update_each(self, rows, group):
        names = ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ()))
        swept: dict = {}            # what the same numbers move, by how many steps were made
        for p, g, state in rows:
            t = count(state, p, group)
            if not isinstance(t, Tensor) and fused.takes(group, p, g):
                for name in names:
                    if name not in state:
                        state[name] = zeros_like(p)
                swept.setdefault(t, []).append(((p, *[state[name] for name in names]), (g,)))
            else:
                self._by_operators(p, g, state, group, t)
        for t, some in swept.items():
            self._sweep(some, group, t)

    def _sweep(self, rows, group, t):
        beta1, beta2 = group["betas"]
        numbers = [1 - beta1, beta2, 1 - beta2, root(1 - power(beta2, t)), group["eps"], group["lr"] / (1 - power(beta1, t))]
        decay, decoupled = group["weight_decay"], bool(group.get("decoupled_weight_decay", False))
        if decay:
            numbers.append(1 - group["lr"] * decay if decoupled else decay)
        build = fused.adam_step(bool(decay), decoupled, bool(group["amsgrad"]))
        fused.sweep_each(build, rows, numbers)

    def _by_operators(self, p, g, state, group, t):
        beta1, beta2 = group["betas"]
        g = decayed(p, g, group, group.get("decoupled_weight_decay", False))
        mean = moment(state, "exp_avg", p, g, beta1)
        square = second_moment(state, "exp_avg_sq", p, g, beta2)
        if group["amsgrad"]:
            largest = state.get("max_exp_avg_sq")
            if largest is None:
                largest = state["max_exp_avg_sq"] = zeros_like(p)
            square = put(largest, FUNCTIONS["maximum"](largest, square))
        correction, rate = root(1 - power(beta2, t)), group["lr"] / (1 - power(beta1, t))
        put(p, p - mean / (FUNCTIONS["sqrt"](square) / correction + group["eps"]) * rate)


class AdamW(Adam):
    """Adam with weight decay apart from the gradient."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


class NAdam(Optimizer):
    """Adam with Nesterov momentum."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        _check(lr, betas, eps, weight_decay)
        check(momentum_decay=momentum_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable})

    def _update(self, p, g, state, group):
        t = count(state, p, group)
        beta1, beta2 = group["betas"]
        lr, decay = group["lr"], group["momentum_decay"]
        g = decayed(p, g, group, group["decoupled_weight_decay"])
        now = beta1 * (1 - 0.5 * power(0.96, t * decay))
        following = beta1 * (1 - 0.5 * power(0.96, (t + 1) * decay))
        product = state.get("mu_product")
        if product is None:
            there = p.device if counts_there(p, group) else None
            product = state["mu_product"] = FUNCTIONS["ones"]((), dtype=p.dtype, device=there)
        so_far = number_in(product) * now
        put(product, product * 0 + so_far)
        mean = moment(state, "exp_avg", p, g, beta1)
        square = second_moment(state, "exp_avg_sq", p, g, beta2)
        spread = FUNCTIONS["sqrt"](square / (1 - power(beta2, t))) + group["eps"]
        stepped = p - g / spread * (lr * (1 - now) / (1 - so_far))
        put(p, stepped - mean / spread * (lr * following / (1 - so_far * following)))


class RAdam(Optimizer):
    """Adam that rectifies the variance of its first steps."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
                                  "capturable": capturable, "differentiable": differentiable})

    def _update(self, p, g, state, group):
        t = count(state, p, group)
        beta1, beta2 = group["betas"]
        g = decayed(p, g, group, group["decoupled_weight_decay"])
        mean = moment(state, "exp_avg", p, g, beta1) / (1 - power(beta1, t))
        square = second_moment(state, "exp_avg_sq", p, g, beta2)
        decay = power(beta2, t)
        correction = 1 - decay
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * decay / correction

        def rectified():
            rectify = root((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            return mean / (FUNCTIONS["sqrt"](square) + group["eps"]) * (root(correction) * rectify)

        if counts_there(p, group):
            mean = FUNCTIONS["where"](length > 5, rectified(), mean)
        elif length > 5:
            mean = rectified()
        put(p, p - mean * group["lr"])


class Adamax(Optimizer):
    """Adam with the largest recent gradient instead of the root mean square."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _update(self, p, g, state, group):
        t = count(state, p, group)
        beta1, beta2 = group["betas"]
        g = decayed(p, g, group, False)
        mean = moment(state, "exp_avg", p, g, beta1)
        largest = state.get("exp_inf")
        if largest is None:
            largest = state["exp_inf"] = zeros_like(p)
        put(largest, FUNCTIONS["maximum"](largest * beta2, FUNCTIONS["abs"](g) + group["eps"]))
        put(p, p - mean / largest * (group["lr"] / (1 - power(beta1, t))))
