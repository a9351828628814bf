"""Families that are transforms of others: LogNormal, Gumbel, HalfNormal, Pareto, Weibull and others."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot.distributions import Distribution as _Distribution
from ingot.distributions import Gumbel as Gumbel
from ingot.distributions import HalfCauchy as HalfCauchy
from ingot.distributions import HalfNormal as HalfNormal
from ingot.distributions import InverseGamma as InverseGamma
from ingot.distributions import LogNormal as LogNormal
from ingot.distributions import LogisticNormal as LogisticNormal
from ingot.distributions import Pareto as Pareto
from ingot.distributions import RelaxedBernoulli as RelaxedBernoulli
from ingot.distributions import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from ingot.distributions import Weibull as Weibull
from ingot.distributions.constraints import Constraint as _Constraint

class ExpRelaxedCategorical(_Distribution):
    """Distribution of logarithms of relaxed categories."""
    temperature: _t.Any
    def __init__(self, temperature: _t.Any, probs: _Tensor | _b.complex | None = None,
                 logits: _Tensor | _b.complex | None = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    logits: _Tensor
    probs: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return differentiable samples: log-weights with Gumbel noise."""
    support: _Constraint

class LogitRelaxedBernoulli(_Distribution):
    """Distribution of log-odds of relaxed coin tosses."""
    temperature: _t.Any
    def __init__(self, temperature: _t.Any, probs: _Tensor | _b.complex | None = None,
                 logits: _Tensor | _b.complex | None = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    logits: _Tensor
    probs: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    support: _Constraint
