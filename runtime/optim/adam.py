"""Adam, AdamW, NAdam, RAdam and Adamax."""

from ..api.register.register import FUNCTIONS
from .exact_powers import number_in, power, root
from .functional_optimizers import form
from .optimizer import check, count, counts_on_device, device_of_scalars, options_of, set_scalar
from .update_rules import Elementwise, decay_of, decayed


def averages(s, g, n):
    """Update the running averages of the gradient and its square."""
    s.exp_avg = s.exp_avg + (g - s.exp_avg) * n.grow
    s.exp_avg_sq = s.exp_avg_sq * n.keep        # written early, so that few arrays of this size are alive
    s.exp_avg_sq = s.exp_avg_sq + g * g * n.add


def weights_of(betas) -> dict:
    """Return the weights of both running averages."""
    beta1, beta2 = betas
    return {"grow": 1 - beta1, "keep": beta2, "add": 1 - beta2}


def _check(lr, betas, eps, weight_decay):
    check(lr=lr, beta1=betas[0], beta2=betas[1], eps=eps, weight_decay=weight_decay)


class Adam(Elementwise):
    """Steps by the running mean of gradients over the root of the running mean square.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    betas : (float, float)
        Weights of the past in the running means of gradients and of their squares.
    eps : float
        Added to the root.
    weight_decay : float
        Factor of the parameter that is added to its gradient.
    amsgrad : bool
        Whether the largest running mean of squares so far is used.
    maximize : bool
        Whether steps go up instead of down.
    capturable : bool
        Whether counts of steps stay on the GPU, as CUDA graphs need.
    differentiable : bool
        Whether gradients flow through the step.
    foreach, fused : bool, optional
        Change nothing: updates run as fused kernels wherever they can.
    decoupled_weight_decay : bool
        Whether decay is subtracted from the parameter itself, as in `AdamW`.

    Examples
    --------
    >>> w = nn.Parameter(ingot.tensor([1.0]))
    >>> opt = optim.Adam([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return "exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ())

    def _numbers(self, t, group):
        beta1, beta2 = group["betas"]
        return weights_of(group["betas"]) | decay_of(group, group.get("decoupled_weight_decay", False)) | {
            "root": root(1 - power(beta2, t)), "eps": group["eps"], "rate": group["lr"] / (1 - power(beta1, t))}

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        averages(s, g, n)
        square = s.exp_avg_sq
        if s.max_exp_avg_sq is not None:
            s.max_exp_avg_sq = fn.maximum(s.max_exp_avg_sq, square)
            square = s.max_exp_avg_sq
        s.p = s.p - s.exp_avg / (fn.sqrt(square) / n.root + n.eps) * n.rate


class AdamW(Adam):
    """Adam with decoupled weight decay.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    betas : (float, float)
        Weights of the past in the running means of gradients and of their squares.
    eps : float
        Added to the root.
    weight_decay : float
        Share of the parameter that each step takes away, times the rate.
    amsgrad : bool
        Whether the largest running mean of squares so far is used.
    maximize : bool
        Whether steps go up instead of down.
    capturable : bool
        Whether counts of steps stay on the GPU, as CUDA graphs need.
    differentiable : bool
        Whether gradients flow through the step.
    foreach, fused : bool, optional
        Change nothing: updates run as fused kernels wherever they can.

    Examples
    --------
    >>> w = nn.Parameter(ingot.tensor([1.0]))
    >>> opt = optim.AdamW([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, **options_of(locals()), decoupled_weight_decay=True)


class NAdam(Elementwise):
    """Adam with Nesterov momentum.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    betas : (float, float)
        Weights of the past in the running means of gradients and of their squares.
    eps : float
        Added to the root.
    weight_decay : float
        Factor of the parameter that is added to its gradient.
    momentum_decay : float
        Decay of the weight of momentum over steps.
    decoupled_weight_decay : bool
        Whether decay is subtracted from the parameter itself.
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
    >>> opt = optim.NAdam([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        _check(lr, betas, eps, weight_decay)
        check(momentum_decay=momentum_decay)
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return "exp_avg", "exp_avg_sq"

    def _begin(self, p, state, group):
        """Return the number of steps and the product of all momentum weights."""
        t = count(state, p, group)
        product = state.get("mu_product")
        if product is None:
            product = state["mu_product"] = FUNCTIONS["ones"]((), dtype=p.dtype, device=device_of_scalars(p, group))
        so_far = number_in(product) * _momentum(t, group)
        set_scalar(product, so_far)
        return t, so_far

    def _numbers(self, at, group):
        t, so_far = at
        now, following = _momentum(t, group), _momentum(t + 1, group)
        return weights_of(group["betas"]) | decay_of(group, group["decoupled_weight_decay"]) | {
            "correction": 1 - power(group["betas"][1], t), "eps": group["eps"],
            "g_rate": group["lr"] * (1 - now) / (1 - so_far), "rate": group["lr"] * following / (1 - so_far * following)}

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        averages(s, g, n)
        spread = fn.sqrt(s.exp_avg_sq / n.correction) + n.eps
        s.p = s.p - g / spread * n.g_rate
        s.p = s.p - s.exp_avg / spread * n.rate


def _momentum(t, group):
    return group["betas"][0] * (1 - 0.5 * power(0.96, t * group["momentum_decay"]))


class RAdam(Elementwise):
    """Adam with rectified variance in its first steps.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    betas : (float, float)
        Weights of the past in the running means of gradients and of their squares.
    eps : float
        Added to the root.
    weight_decay : float
        Factor of the parameter that is added to its gradient.
    decoupled_weight_decay : bool
        Whether decay is subtracted from the parameter itself.
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
    >>> opt = optim.RAdam([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return "exp_avg", "exp_avg_sq"

    def _begin(self, p, state, group):
        """Return the number of steps, and whether the device counts it."""
        return count(state, p, group), counts_on_device(p, group)

    def _numbers(self, at, group):
        """Return the numbers of a step: without "scale" it is not rectified; with "rectified" the device decides."""
        (t, on_device), (beta1, beta2) = at, group["betas"]
        decay = power(beta2, t)
        correction = 1 - decay
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * decay / correction
        numbers = weights_of(group["betas"]) | decay_of(group, group["decoupled_weight_decay"]) | {
            "correction": 1 - power(beta1, t), "lr": group["lr"]}
        if on_device or length > 5:
            rectify = root((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            numbers |= {"eps": group["eps"], "scale": root(correction) * rectify}
        return numbers | ({"rectified": length > 5} if on_device else {})

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        averages(s, g, n)
        step = s.exp_avg / n.correction
        if n.scale is not None:
            rectified = step / (fn.sqrt(s.exp_avg_sq) + n.eps) * n.scale
            step = rectified if n.rectified is None else fn.where(n.rectified, rectified, step)
        s.p = s.p - step * n.lr


class Adamax(Elementwise):
    """Adam with the largest recent gradient in place of the root mean square.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters, or groups: dictionaries with "params" and options that differ from the ones here.
    lr : float or Tensor
        Rate of steps.
    betas : (float, float)
        Weights of the past in the running means of gradients and of their sizes.
    eps : float
        Added to sizes.
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
    >>> opt = optim.Adamax([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> w.item() < 1
    True
    >>> opt.zero_grad()
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, options_of(locals()))

    def _names(self, group):
        return "exp_avg", "exp_inf"

    def _numbers(self, t, group):
        beta1, beta2 = group["betas"]
        return decay_of(group) | {"grow": 1 - beta1, "keep": beta2, "eps": group["eps"],
                                  "rate": group["lr"] / (1 - power(beta1, t))}

    @staticmethod
    def _rule(fn, s, g, n):
        g = decayed(s, g, n)
        s.exp_avg = s.exp_avg + (g - s.exp_avg) * n.grow
        s.exp_inf = fn.maximum(s.exp_inf * n.keep, fn.abs(g) + n.eps)
        s.p = s.p - s.exp_avg / s.exp_inf * n.rate


_BASIC = "beta1 beta2 lr weight_decay eps"
adam = form(Adam, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), _BASIC, amsgrad=False, decoupled_weight_decay=False)
adamw = form(AdamW, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), _BASIC, amsgrad=False, decoupled_weight_decay=True)
adamax = form(Adamax, ("exp_avg", "exp_inf"), _BASIC)
nadam = form(NAdam, ("exp_avg", "exp_avg_sq", "mu_product"), f"{_BASIC} momentum_decay", decoupled_weight_decay=False)
radam = form(RAdam, ("exp_avg", "exp_avg_sq"), _BASIC, decoupled_weight_decay=False)
