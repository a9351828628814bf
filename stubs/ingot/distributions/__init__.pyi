"""`ingot.distributions`: probability distributions with samples, densities, entropies and divergences."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Size as _Size
from ingot import Tensor as _Tensor
from ingot.distributions import bernoulli as bernoulli
from ingot.distributions import beta as beta
from ingot.distributions import binomial as binomial
from ingot.distributions import categorical as categorical
from ingot.distributions import cauchy as cauchy
from ingot.distributions import chi2 as chi2
from ingot.distributions import constraint_registry as constraint_registry
from ingot.distributions import constraints as constraints
from ingot.distributions import continuous_bernoulli as continuous_bernoulli
from ingot.distributions import dirichlet as dirichlet
from ingot.distributions import distribution as distribution
from ingot.distributions import exp_family as exp_family
from ingot.distributions import exponential as exponential
from ingot.distributions import fishersnedecor as fishersnedecor
from ingot.distributions import gamma as gamma
from ingot.distributions import generalized_pareto as generalized_pareto
from ingot.distributions import geometric as geometric
from ingot.distributions import gumbel as gumbel
from ingot.distributions import half_cauchy as half_cauchy
from ingot.distributions import half_normal as half_normal
from ingot.distributions import independent as independent
from ingot.distributions import inverse_gamma as inverse_gamma
from ingot.distributions import kl as kl
from ingot.distributions import kumaraswamy as kumaraswamy
from ingot.distributions import laplace as laplace
from ingot.distributions import lkj_cholesky as lkj_cholesky
from ingot.distributions import log_normal as log_normal
from ingot.distributions import logistic_normal as logistic_normal
from ingot.distributions import lowrank_multivariate_normal as lowrank_multivariate_normal
from ingot.distributions import mixture_same_family as mixture_same_family
from ingot.distributions import multinomial as multinomial
from ingot.distributions import multivariate_normal as multivariate_normal
from ingot.distributions import negative_binomial as negative_binomial
from ingot.distributions import normal as normal
from ingot.distributions import one_hot_categorical as one_hot_categorical
from ingot.distributions import pareto as pareto
from ingot.distributions import poisson as poisson
from ingot.distributions import relaxed_bernoulli as relaxed_bernoulli
from ingot.distributions import relaxed_categorical as relaxed_categorical
from ingot.distributions import studentT as studentT
from ingot.distributions import transformed_distribution as transformed_distribution
from ingot.distributions import transforms as transforms
from ingot.distributions import uniform as uniform
from ingot.distributions import utils as utils
from ingot.distributions import von_mises as von_mises
from ingot.distributions import weibull as weibull
from ingot.distributions import wishart as wishart
from ingot.distributions.constraints import Constraint as _Constraint
from ingot.distributions.utils import lazy_property as _lazy_property

def biject_to(constraint: _t.Any) -> _t.Any:
    """Registry of the transforms onto each constraint."""
def identity_transform(x: _t.Any) -> _t.Any:
    """Transforms one after the other."""
def transform_to(constraint: _t.Any) -> _t.Any:
    """Registry of the transforms onto each constraint."""

class AbsTransform(Transform):
    """Transform |x|; its inverse returns the positive branch."""
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    codomain: _Constraint
    domain: _Constraint

class AffineTransform(Transform):
    """Transform loc + scale * x."""
    loc: _Tensor | _b.complex
    scale: _Tensor | _b.complex
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, event_dim: _t.Any = 0,
                 cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    event_dim: _b.int
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape broadcast with loc and scale."""
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape broadcast with loc and scale."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return log |scale| of every element."""
    sign: _Tensor | _b.int

class Bernoulli(ExponentialFamily):
    """Distribution of 1 with probability `probs`, else 0."""
    def __init__(self, probs: _Tensor | _b.complex | None = None, logits: _Tensor | _b.complex | None = None,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    def enumerate_support(self, expand: _b.bool = True) -> _Tensor: ...
    has_enumerate_support: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    logits: _lazy_property
    mean: _Tensor
    mode: _Tensor
    param_shape: _Size
    probs: _lazy_property
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return random zeros and ones."""
    support: _Constraint
    variance: _Tensor

class Beta(ExponentialFamily):
    """Distribution of the first one's probability of two categories."""
    def __init__(self, concentration1: _Tensor | _b.complex, concentration0: _Tensor | _b.complex,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    concentration0: _Tensor
    concentration1: _Tensor
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    support: _Constraint
    variance: _Tensor

class Binomial(Distribution):
    """Distribution of the number of successes among `total_count` tosses."""
    total_count: _t.Any
    def __init__(self, total_count: _Tensor | _b.complex = 1, probs: _Tensor | _b.complex | None = None,
                 logits: _Tensor | _b.complex | None = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor:
        """Return the entropy in nats, by the sum over all counts."""
    def enumerate_support(self, expand: _b.bool = True) -> _Tensor: ...
    has_enumerate_support: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    logits: _lazy_property
    mean: _Tensor
    mode: _Tensor
    param_shape: _Size
    probs: _lazy_property
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return random counts."""
    support: _Constraint
    variance: _Tensor

class CatTransform(Transform):
    """Transforms of segments along a dimension, of the given lengths (by default 1)."""
    dim: _t.Any
    lengths: _t.Any
    transforms: _b.list[_t.Any]
    def __init__(self, tseq: _t.Any, dim: _t.Any = 0, lengths: _t.Any = None, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    event_dim: _b.int
    length: _Tensor
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return the values of the segments; their sum if segments are along an event dimension."""

class Categorical(Distribution):
    """Distribution of indices 0 to K-1, by weights (`probs`, in their last dimension) or unnormalised log-weights
    (`logits`)."""
    logits: _t.Any
    probs: _t.Any
    def __init__(self, probs: _Tensor | _b.complex | None = None, logits: _Tensor | _b.complex | None = None,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    def enumerate_support(self, expand: _b.bool = True) -> _Tensor: ...
    has_enumerate_support: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log probability of an index."""
    mean: _Tensor
    mode: _Tensor
    param_shape: _Size
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return random indices."""
    support: _Constraint
    variance: _Tensor

class Cauchy(Distribution):
    """Distribution of the ratio of two normal numbers; it has no mean."""
    loc: _t.Any
    scale: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    support: _Constraint
    variance: _Tensor

class Chi2(Gamma):
    """Distribution of the sum of `df` squared normal numbers."""
    def __init__(self, df: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    df: _Tensor

class ComposeTransform(Transform):
    """Transforms one after the other."""
    parts: _t.Any
    def __call__(self, x: _t.Any) -> _t.Any: ...
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, parts: _t.Any, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape after all parts."""
    inv: Transform
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape before all parts."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return the sum over the parts."""
    sign: _Tensor | _b.int

class ContinuousBernoulli(ExponentialFamily):
    """Distribution of numbers between 0 and 1 with an exponential density; give `probs` or `logits`."""
    logits: _t.Any
    probs: _t.Any
    def __init__(self, probs: _Tensor | _b.complex | None = None, logits: _Tensor | _b.complex | None = None,
                 lims: _t.Any = ..., validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    param_shape: _Size
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return values that are differentiable functions of the parameter."""
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    stddev: _Tensor
    support: _Constraint
    variance: _Tensor

class CorrCholeskyTransform(Transform):
    """Transform of D (D - 1) / 2 real numbers to the Cholesky factor of a correlation matrix of size D."""
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape of square matrices."""
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape of flattened lower triangles."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return the sum of the log lengths left in rows and of the tanh's derivative."""

class CumulativeDistributionTransform(Transform):
    """Transform of values to their probabilities under a distribution."""
    distribution: _t.Any
    def __init__(self, distribution: _t.Any, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor: ...
    sign: _Tensor | _b.int

class Dirichlet(ExponentialFamily):
    """Distribution of probabilities of K categories, with `concentration` in the last dimension."""
    concentration: _Tensor | _b.complex
    def __init__(self, concentration: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    support: _Constraint
    variance: _Tensor

class Distribution:
    """Base of distributions. A sample has shape sample_shape + batch_shape + event_shape."""
    arg_constraints: _b.dict[_b.str, _Constraint]
    def __init__(self, batch_shape: _t.Any = (), event_shape: _t.Any = (), validate_args: _b.bool | None = None) -> None: ...
    batch_shape: _Size
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the probability of at most a value."""
    def entropy(self) -> _Tensor:
        """Return the entropy in nats."""
    def enumerate_support(self, expand: _b.bool = True) -> _Tensor:
        """Return all values of a discrete distribution, along a new first dimension."""
    event_shape: _Size
    def expand(self, batch_shape: _t.Any) -> _Tensor:
        """Return the same distribution with a larger batch."""
    has_enumerate_support: _b.bool
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the quantile of a probability."""
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the logarithm of the density (or probability) at a value."""
    mean: _Tensor
    mode: _Tensor
    def perplexity(self) -> _Tensor:
        """Return exp of the entropy."""
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return samples that are differentiable in the parameters."""
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return samples without a gradient."""
    def sample_n(self, n: _t.Any) -> _Tensor:
        """Return n samples."""
    @_b.staticmethod
    def set_default_validate_args(value: _b.bool) -> None:
        """Set whether new distributions validate parameters and values by default."""
    stddev: _Tensor
    support: _Constraint
    variance: _Tensor

class ExpTransform(Transform):
    """Transform exp(x)."""
    codomain: _Constraint
    domain: _Constraint
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    bijective: _b.bool
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor: ...
    sign: _Tensor | _b.int

class Exponential(ExponentialFamily):
    """Distribution of waiting times of events at a rate."""
    rate: _t.Any
    def __init__(self, rate: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    stddev: _Tensor
    support: _Constraint
    variance: _Tensor

class ExponentialFamily(Distribution):
    """Marker base of families whose log density is linear in statistics of the value."""

class FisherSnedecor(Distribution):
    """F distribution: the ratio of two scaled chi-squared numbers."""
    df1: _t.Any
    df2: _t.Any
    def __init__(self, df1: _Tensor | _b.complex, df2: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    support: _Constraint
    variance: _Tensor

class Gamma(ExponentialFamily):
    """Gamma distribution with a shape (`concentration`) and a rate."""
    concentration: _t.Any
    rate: _t.Any
    def __init__(self, concentration: _Tensor | _b.complex, rate: _Tensor | _b.complex,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density at a value, which may be a number."""
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return samples, differentiable in both parameters."""
    support: _Constraint
    variance: _Tensor

class GeneralizedPareto(Distribution):
    """Distribution of excesses over a threshold: numbers above `loc`, bounded if the concentration is negative."""
    concentration: _t.Any
    loc: _t.Any
    scale: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, concentration: _Tensor | _b.complex,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return values that are differentiable functions of the parameters."""
    support: _Constraint
    variance: _Tensor

class Geometric(Distribution):
    """Distribution of the number of failures before the first success."""
    def __init__(self, probs: _Tensor | _b.complex | None = None, logits: _Tensor | _b.complex | None = None,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    logits: _lazy_property
    mean: _Tensor
    mode: _Tensor
    param_shape: _Size
    probs: _lazy_property
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return random counts of failures."""
    support: _Constraint
    variance: _Tensor

class Gumbel(TransformedDistribution):
    """Distribution of the largest of many numbers."""
    loc: _t.Any
    scale: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    stddev: _Tensor
    support: _Constraint
    variance: _Tensor

class HalfCauchy(TransformedDistribution):
    """Distribution of absolute values of Cauchy numbers around 0."""
    def __init__(self, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density at a value: twice that of the base."""
    mean: _Tensor
    mode: _Tensor
    scale: _Tensor
    support: _Constraint
    variance: _Tensor

class HalfNormal(TransformedDistribution):
    """Distribution of absolute values of normal numbers of mean 0."""
    def __init__(self, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density at a value: twice that of the base."""
    mean: _Tensor
    mode: _Tensor
    scale: _Tensor
    support: _Constraint
    variance: _Tensor

class Independent(Distribution):
    """Distribution whose last batch dimensions become part of one sample."""
    base_dist: Distribution
    reinterpreted_batch_ndims: _t.Any
    def __init__(self, base_distribution: _t.Any, reinterpreted_batch_ndims: _t.Any,
                 validate_args: _b.bool | None = None) -> None: ...
    def entropy(self) -> _Tensor:
        """Return the entropy, summed over the new event dimensions."""
    def enumerate_support(self, expand: _b.bool = True) -> _Tensor:
        """Return the base's values, if there are no new event dimensions."""
    def expand(self, batch_shape: _t.Any) -> _Tensor: ...
    has_enumerate_support: _b.bool
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density, summed over the new event dimensions."""
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return the base's samples."""
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return the base's samples."""
    support: _Constraint
    variance: _Tensor

class IndependentTransform(Transform):
    """Transform whose values have more trailing dimensions than those of its base."""
    base_transform: _t.Any
    reinterpreted_batch_ndims: _t.Any
    def __init__(self, base_transform: _t.Any, reinterpreted_batch_ndims: _t.Any, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the base's shape."""
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the base's shape."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return the base's value, summed over the new dimensions."""
    sign: _Tensor | _b.int

class InverseGamma(TransformedDistribution):
    """Distribution of reciprocals of gamma numbers."""
    def __init__(self, concentration: _Tensor | _b.complex, rate: _Tensor | _b.complex,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    concentration: _Tensor
    def entropy(self) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    rate: _Tensor
    support: _Constraint
    variance: _Tensor

class Kumaraswamy(TransformedDistribution):
    """Distribution of numbers between 0 and 1, similar to a beta distribution."""
    concentration0: _t.Any
    concentration1: _t.Any
    def __init__(self, concentration1: _Tensor | _b.complex, concentration0: _Tensor | _b.complex,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    support: _Constraint
    variance: _Tensor

class LKJCholesky(Distribution):
    """Distribution of lower Cholesky factors of correlation matrices of size `dim`. The density of the matrix is its
    determinant to the power of concentration - 1, so 1 is uniform."""
    concentration: _t.Any
    dim: _t.Any
    def __init__(self, dim: _t.Any, concentration: _Tensor | _b.complex = 1.0, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density at a factor."""
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return samples row by row: a direction, and its share of the row's length ("onion" of Lewandowski and others,
        2009)."""
    support: _Constraint

class Laplace(Distribution):
    """Double exponential distribution around `loc`."""
    loc: _t.Any
    scale: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    stddev: _Tensor
    support: _Constraint
    variance: _Tensor

class LogNormal(TransformedDistribution):
    """Distribution of numbers whose logarithm is normal."""
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    loc: _Tensor
    mean: _Tensor
    mode: _Tensor
    scale: _Tensor
    support: _Constraint
    variance: _Tensor

class LogisticNormal(TransformedDistribution):
    """Distribution of probabilities made from normal numbers by stick breaking."""
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    loc: _Tensor
    scale: _Tensor
    support: _Constraint

class LowRankMultivariateNormal(Distribution):
    """Normal distribution of vectors with covariance cov_factor @ cov_factor.T + diag(cov_diag)."""
    cov_diag: _t.Any
    cov_factor: _t.Any
    loc: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, cov_factor: _t.Any, cov_diag: _t.Any,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    covariance_matrix: _Tensor
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    precision_matrix: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    scale_tril: _Tensor
    support: _Constraint
    variance: _Tensor

class LowerCholeskyTransform(Transform):
    """Transform of square matrices to lower triangular ones with a positive diagonal."""
    codomain: _Constraint
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    domain: _Constraint

class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last dimension of a batch, with weights from a Categorical."""
    def __init__(self, mixture_distribution: _t.Any, component_distribution: _t.Any,
                 validate_args: _b.bool | None = None) -> None: ...
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    component_distribution: _Tensor
    def expand(self, batch_shape: _t.Any) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mixture_distribution: _Tensor
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return samples of components drawn by their weights."""
    support: _Constraint
    variance: _Tensor

class Multinomial(Distribution):
    """Distribution of how many times each category occurs in `total_count` draws."""
    total_count: _Tensor | _b.complex
    def __init__(self, total_count: _Tensor | _b.complex = 1, probs: _Tensor | _b.complex | None = None,
                 logits: _Tensor | _b.complex | None = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log probability of counts."""
    logits: _lazy_property
    mean: _Tensor
    param_shape: _Size
    probs: _lazy_property
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return random counts."""
    support: _Constraint
    variance: _Tensor

class MultivariateNormal(Distribution):
    """Normal distribution of vectors, by covariance, precision (its inverse) or scale_tril (its Cholesky factor)."""
    loc: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, covariance_matrix: _t.Any = None, precision_matrix: _t.Any = None,
                 scale_tril: _t.Any = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    covariance_matrix: _lazy_property
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    precision_matrix: _lazy_property
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    scale_tril: _lazy_property
    support: _Constraint
    variance: _Tensor

class NegativeBinomial(Distribution):
    """Distribution of the number of successes before `total_count` failures."""
    total_count: _t.Any
    def __init__(self, total_count: _Tensor | _b.complex, probs: _Tensor | _b.complex | None = None,
                 logits: _Tensor | _b.complex | None = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    logits: _lazy_property
    mean: _Tensor
    mode: _Tensor
    param_shape: _Size
    probs: _lazy_property
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return random counts: Poisson numbers of gamma distributed rates."""
    support: _Constraint
    variance: _Tensor

class Normal(ExponentialFamily):
    """Normal distribution with mean `loc` and standard deviation `scale`."""
    loc: _t.Any
    scale: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, scale: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    stddev: _Tensor
    support: _Constraint
    variance: _Tensor

class OneHotCategorical(Distribution):
    """Distribution of rows with a single 1."""
    def __init__(self, probs: _Tensor | _b.complex | None = None, logits: _Tensor | _b.complex | None = None,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    def enumerate_support(self, expand: _b.bool = True) -> _Tensor: ...
    has_enumerate_support: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log probability of a row."""
    logits: _lazy_property
    mean: _Tensor
    mode: _Tensor
    param_shape: _Size
    probs: _lazy_property
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return rows with a single 1."""
    support: _Constraint
    variance: _Tensor

class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot distribution whose samples carry the gradient of the probabilities."""
    has_rsample: _b.bool
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return rows with a single 1 that carry the gradient of the probabilities."""

class Pareto(TransformedDistribution):
    """Power-law distribution of numbers above `scale`."""
    alpha: _t.Any
    scale: _t.Any
    def __init__(self, scale: _Tensor | _b.complex, alpha: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    support: _Constraint
    variance: _Tensor

class Poisson(ExponentialFamily):
    """Distribution of the number of events at a rate."""
    rate: _t.Any
    def __init__(self, rate: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return random counts."""
    support: _Constraint
    variance: _Tensor

class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Transform of square matrices to positive definite ones."""
    codomain: _Constraint

class PowerTransform(Transform):
    """Transform x ** exponent of positive numbers."""
    exponent: _t.Any
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, exponent: _t.Any, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape broadcast with the exponent."""
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape broadcast with the exponent."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor: ...
    sign: _Tensor | _b.int

class RelaxedBernoulli(TransformedDistribution):
    """Distribution of coin tosses relaxed to numbers between 0 and 1."""
    def __init__(self, temperature: _t.Any, probs: _Tensor | _b.complex | None = None,
                 logits: _Tensor | _b.complex | None = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    logits: _Tensor
    probs: _Tensor
    support: _Constraint
    temperature: _Tensor

class RelaxedOneHotCategorical(TransformedDistribution):
    """Distribution of categories relaxed to rows of numbers that sum to 1."""
    def __init__(self, temperature: _t.Any, probs: _Tensor | _b.complex | None = None,
                 logits: _Tensor | _b.complex | None = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    logits: _Tensor
    probs: _Tensor
    support: _Constraint
    temperature: _Tensor

class ReshapeTransform(Transform):
    """Transform that reshapes the trailing dimensions."""
    in_shape: _t.Any
    out_shape: _t.Any
    def __init__(self, in_shape: _t.Any, out_shape: _t.Any, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape with `out_shape` at the end."""
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape with `in_shape` at the end."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return 0."""

class SigmoidTransform(Transform):
    """Transform 1 / (1 + exp(-x))."""
    codomain: _Constraint
    domain: _Constraint
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    bijective: _b.bool
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor: ...
    sign: _Tensor | _b.int

class SoftmaxTransform(Transform):
    """Transform softmax along the last dimension; its inverse is the logarithm."""
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    codomain: _Constraint
    domain: _Constraint

class SoftplusTransform(Transform):
    """Transform log(1 + exp(x))."""
    codomain: _Constraint
    domain: _Constraint
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    bijective: _b.bool
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor: ...
    sign: _Tensor | _b.int

class StackTransform(Transform):
    """Transforms of slices along a dimension."""
    dim: _t.Any
    transforms: _b.list[_t.Any]
    def __init__(self, tseq: _t.Any, dim: _t.Any = 0, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return the values of the slices."""

class StickBreakingTransform(Transform):
    """Transform of K real numbers to K + 1 probabilities by stick breaking."""
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    bijective: _b.bool
    codomain: _Constraint
    domain: _Constraint
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape with one more category."""
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape with one category less."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return the sum over the pieces."""

class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, shifted and scaled."""
    df: _t.Any
    loc: _t.Any
    scale: _t.Any
    def __init__(self, df: _Tensor | _b.complex, loc: _Tensor | _b.complex = 0.0, scale: _Tensor | _b.complex = 1.0,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    support: _Constraint
    variance: _Tensor

class TanhTransform(Transform):
    """Transform tanh(x)."""
    codomain: _Constraint
    domain: _Constraint
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    bijective: _b.bool
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return log(1 - tanh(x)**2), stable for large x."""
    sign: _Tensor | _b.int

class Transform:
    """Base of transforms. Subclasses define `_call`, `_inverse`, `log_abs_det_jacobian`, `domain` and `codomain`."""
    codomain: _Constraint
    domain: _Constraint
    def __call__(self, x: _t.Any) -> _t.Any: ...
    def __eq__(self, other: _t.Any) -> _b.bool: ...
    __hash__: _t.Any
    def __init__(self, cache_size: _t.Any = 0) -> None: ...
    bijective: _b.bool
    event_dim: _b.int
    def forward_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape of results for a shape of arguments."""
    inv: Transform
    def inverse_shape(self, shape: _t.Any) -> _Tensor:
        """Return the shape of arguments for a shape of results."""
    def log_abs_det_jacobian(self, x: _t.Any, y: _t.Any) -> _Tensor:
        """Return log |dy / dx|."""
    sign: _Tensor | _b.int
    def with_cache(self, cache_size: _t.Any = 1) -> _Tensor:
        """Return the same with a cache of this size."""

class TransformedDistribution(Distribution):
    """Distribution of another one's samples after transforms."""
    base_dist: Distribution
    transforms: _b.list[_t.Any]
    def __init__(self, base_distribution: _t.Any, transforms: _t.Any, validate_args: _b.bool | None = None) -> None: ...
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the base's cdf at the preimage."""
    def expand(self, batch_shape: _t.Any) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the base's quantile, transformed."""
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the base's log density at the preimage, less the volume change."""
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    support: _Constraint

class Uniform(Distribution):
    """Uniform distribution in [low, high)."""
    high: _t.Any
    low: _t.Any
    def __init__(self, low: _Tensor | _b.complex, high: _Tensor | _b.complex, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def cdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def icdf(self, value: _Tensor | _b.complex) -> _Tensor: ...
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density at a value; -inf outside the interval."""
    mean: _Tensor
    mode: _Tensor
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor: ...
    stddev: _Tensor
    support: _Constraint
    variance: _Tensor

class VonMises(Distribution):
    """Distribution of angles about a mean direction `loc`, the narrower the larger the concentration."""
    concentration: _t.Any
    loc: _t.Any
    def __init__(self, loc: _Tensor | _b.complex, concentration: _Tensor | _b.complex,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density at an angle."""
    mean: _Tensor
    mode: _Tensor
    def sample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return angles in [-pi, pi), by rejection."""
    support: _Constraint
    variance: _lazy_property

class Weibull(TransformedDistribution):
    """Distribution of lifetimes whose hazard is a power of the age."""
    concentration: _t.Any
    scale: _t.Any
    def __init__(self, scale: _Tensor | _b.complex, concentration: _Tensor | _b.complex,
                 validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    def entropy(self) -> _Tensor: ...
    mean: _Tensor
    mode: _Tensor
    support: _Constraint
    variance: _Tensor

class Wishart(ExponentialFamily):
    """Distribution of scatter matrices of `df` normal vectors, by covariance, precision (its inverse) or scale_tril (its
    factor)."""
    df: _t.Any
    def __init__(self, df: _Tensor | _b.complex, covariance_matrix: _t.Any = None, precision_matrix: _t.Any = None,
                 scale_tril: _t.Any = None, validate_args: _b.bool | None = None) -> None: ...
    arg_constraints: _b.dict[_b.str, _Constraint]
    covariance_matrix: _lazy_property
    def entropy(self) -> _Tensor: ...
    has_rsample: _b.bool
    def log_prob(self, value: _Tensor | _b.complex) -> _Tensor:
        """Return the log density at a matrix."""
    mean: _Tensor
    mode: _Tensor
    precision_matrix: _lazy_property
    def rsample(self, sample_shape: _c.Sequence[_b.int] = ()) -> _Tensor:
        """Return differentiable samples, by Bartlett's decomposition."""
    scale_tril: _lazy_property
    support: _Constraint
    variance: _Tensor

def kl_divergence(p: _t.Any, q: _t.Any) -> _Tensor:
    """Return KL(p || q), the expectation under p of log p - log q, for each entry of the batch."""
def register_kl(type_p: _t.Any, type_q: _t.Any) -> _t.Any:
    """Return a decorator for a function (p, q) -> KL(p || q) of two families. The nearest pair of base classes is used."""
