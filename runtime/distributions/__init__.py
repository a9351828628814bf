"""`ingot.distributions`: probability distributions with samples, densities, entropies and divergences."""

from ..api.register.register import name_constructors as _name_constructors
from . import constraint_registry, constraints, kl, transforms
from . import parameters as utils
from .categorical import Categorical, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from .composite import Independent, MixtureSameFamily, TransformedDistribution
from .constraint_registry import biject_to, transform_to
from .discrete import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .gamma_families import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma, StudentT
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, Laplace, Normal, Uniform
from .matrix_variate import LKJCholesky, Wishart
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from .transformed_families import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    LogisticNormal,
    LogNormal,
    Pareto,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    Weibull,
)
from .transforms import *
from .univariate_families import ContinuousBernoulli, GeneralizedPareto, Kumaraswamy, VonMises

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto",
    "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma", "Kumaraswamy",
    "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "LowerCholeskyTransform",
    "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform", "PowerTransform",
    "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraint_registry",
    "constraints", "identity_transform", "kl", "kl_divergence", "register_kl", "transform_to", "transforms", "utils",
]

_name_constructors(globals())
