"""Weight norm and spectral norm by forward hooks, under the names of older state dicts."""

from ....ir.errors import ArgumentError
from ..base.module import MissingAttribute
from ..base.parameter import Parameter
from .parametrizations import PowerIteration, norm_except, weight_of


class WeightNorm:
    """The hook that computes module.weight from weight_g and weight_v before each forward."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute(self, module):
        return weight_of(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module))


class SpectralNorm:
    """The hook that computes module.weight from weight_orig before each forward."""

    def __init__(self, name, power):
        self.name, self.power = name, power

    def compute(self, module, training):
        weight, u, v = (getattr(module, self.name + tail) for tail in ("_orig", "_u", "_v"))
        return self.power.scaled(weight, u, v, training)

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module, module.training))


def _hook_of(module, kind, name):
    for key, hook in module._hooks.forward_pre.items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    raise ArgumentError(f"{type(module).__name__} has no {kind.__name__} on '{name}'")


def _weight_of(module, kind, name):
    if any(isinstance(h, kind) and h.name == name for h in module._hooks.forward_pre.values()):
        raise ArgumentError(f"'{name}' of {type(module).__name__} already has a {kind.__name__}")
    if (weight := module._parameters.get(name)) is None:
        raise MissingAttribute(f"{type(module).__name__} has no parameter '{name}'")
    return weight


def weight_norm(module, name="weight", dim=0):
    """Split a weight into weight_g (norm) and weight_v (direction)."""
    hook = WeightNorm(name, dim)
    weight = _weight_of(module, WeightNorm, name)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(norm_except(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Make the weight a plain parameter again."""
    key, hook = _hook_of(module, WeightNorm, name)
    value = hook.compute(module).detach()
    delattr(module, name)
    delattr(module, name + "_g")
    delattr(module, name + "_v")
    module.register_parameter(name, Parameter(value))
    del module._hooks.forward_pre[key]
    return module


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value."""
    dim = (1 if "ConvTranspose" in type(module).__name__ else 0) if dim is None else dim
    power = PowerIteration(dim, n_power_iterations, eps, v_first=True)
    weight = _weight_of(module, SpectralNorm, name)
    u, v = power.start(weight)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.detach())
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(SpectralNorm(name, power))
    return module


def remove_spectral_norm(module, name="weight"):
    """Make the weight a plain parameter again."""
    key, hook = _hook_of(module, SpectralNorm, name)
    value = hook.compute(module, False).detach()
    delattr(module, name)
    for tail in ("_u", "_v", "_orig"):
        delattr(module, name + tail)
    module.register_parameter(name, Parameter(value))
    del module._hooks.forward_pre[key]
    return module
