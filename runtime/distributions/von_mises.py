"""Distribution on the circle: VonMises."""

import math

from ...ir import dtype as dt
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..linalg import special
from . import constraints
from .distribution import Distribution
from .location_scale import batch_of
from .parameters import broadcast_all, lazy_property

__all__ = ["VonMises", "log_bessel"]


def log_bessel(order, x):
    """Return the logarithm of the modified Bessel function of the first kind of order 0 or 1, for positive x."""
    return (special.i1e(x) if order else special.i0e(x)).log() + x


class VonMises(Distribution):
    """Distribution of angles about a mean direction `loc`, the narrower the larger the concentration."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _tensors = ("loc", "concentration", "variance", "_proposal")

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(batch_of((loc, concentration), self.loc), validate_args=validate_args)

    @property
    def mean(self):
        """The mean direction."""
        return self.loc

    @property
    def mode(self):
        """The mean direction."""
        return self.loc

    @lazy_property
    def variance(self):
        """Circular variance: 1 - the length of the mean of the directions."""
        return 1 - (log_bessel(1, self.concentration) - log_bessel(0, self.concentration)).exp()

    def log_prob(self, value):
        """Return the log density at an angle."""
        if self._validate_args:
            self._validate_sample(value)
        near = self.concentration * (value - self.loc).cos()
        return near - math.log(2 * math.pi) - log_bessel(0, self.concentration)

    @lazy_property
    def _proposal(self):
        """Return the parameter of the wrapped Cauchy distribution of proposals (Best and Fisher, 1979), in float64."""
        k = self.concentration.detach().to(dt.float64)
        tau = 1 + (1 + 4 * k * k).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return FUNCTIONS["where"](k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))

    def sample(self, sample_shape=()):
        """Return angles in [-pi, pi), by rejection."""
        shape = tuple(self._extended_shape(sample_shape))
        with no_grad():
            r = self._proposal.expand(shape)
            k = self.concentration.to(r.dtype).expand(shape)
            x, done = _propose(r, k)
            while not bool(done.all()):
                again, accepted = _propose(r, k)
                x = FUNCTIONS["where"](done, x, again)
                done = done | accepted
            loc = self.loc.to(r.dtype)
            return ((x + math.pi + loc).remainder(2 * math.pi) - math.pi).to(self.loc.dtype)


def _propose(r, k):
    """Return angles about 0, and which of them are accepted."""
    z, height, side = (noise.rand(size=tuple(r.shape), dtype=r.dtype, device=r.device) for _ in range(3))
    z = (z * math.pi).cos()
    f = (1 + r * z) / (r + z)
    c = k * (r - f)
    accepted = (c * (2 - c) > height) | ((c / height).log() + 1 - c >= 0)
    return FUNCTIONS["where"](side < 0.5, -1.0, 1.0) * f.clamp(-1, 1).acos(), accepted
