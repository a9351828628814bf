"""Distributions: densities, moments, quantiles and entropies of every class and parametrisation."""

import numpy as np

from ..kinds.distributions import ATTRIBUTES, METHODS, OF_VALUES, evaluate, leaves_of
from ..row import Build, Leaf, Row, fill, lookup, prepare
from ..tensors import flatten, gradients, to_tensor

D = "distributions."
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
COV3 = np.array([[1.5, 0.25, -0.5], [0.25, 1.0, 0.125], [-0.5, 0.125, 2.0]])
TRIL = np.array([[1.25, 0.0], [0.375, 0.75]])
TRIL3 = np.array([[1.25, 0.0, 0.0], [0.375, 0.75, 0.0], [-0.5, 0.25, 2.0]])
CORR2 = np.array([[1.0, 0.0], [0.6, 0.8]])
CORR3 = np.array([[[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.2, -0.3, np.sqrt(0.87)]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]]])


def _of(values):
    return np.array(values, dtype="float64")


def _simplex(*rows):
    return _of(rows)


def _p(**parameters):
    """Return keyword arguments with a leaf for each list."""
    return {k: Leaf(_of(v)) if isinstance(v, (list, float, np.ndarray)) else v for k, v in parameters.items()}


def _lower(factor):
    """Return a triangular parameter, whose gradient above the diagonal is zero."""
    return Build("tril", (Leaf(factor),))


# Rows of a class: (parameters, values inside of the support).
TABLE = {
    "Normal": [(_p(loc=[0.5, -2.0], scale=[1.5, 0.375]), [[0.125, -2.25], [3.0, -1.0]]), (_p(loc=[[1.0], [-0.5]], scale=0.25), [[0.75, 0.5, 1.5]])],
    "Laplace": [(_p(loc=[0.5, -2.0], scale=[1.5, 0.375]), [[0.125, -2.25], [3.0, -1.0]]), (_p(loc=[1.0], scale=[2.5]), [[-4.0]])],
    "Cauchy": [(_p(loc=[0.5, -2.0], scale=[1.5, 0.375]), [[0.125, -2.25]]), (_p(loc=1.0, scale=2.5), [[-4.0, 9.0]])],
    "Uniform": [(_p(low=[-1.0, 0.5], high=[2.0, 0.75]), [[0.25, 0.625]]), (_p(low=-3.0, high=5.0), [[0.25, 4.5]])],
    "Exponential": [(_p(rate=[0.75, 3.0]), [[0.25, 1.5]]), (_p(rate=8.0), [[0.125, 0.5]])],
    "Gamma": [(_p(concentration=[0.625, 4.0], rate=[1.25, 0.5]), [[0.25, 5.5], [2.5, 12.0]]), (_p(concentration=30.0, rate=2.5), [[11.0, 14.5]])],
    "Chi2": [(_p(df=[1.5, 6.0]), [[0.25, 5.5]]), (_p(df=11.0), [[9.0, 14.0]])],
    "InverseGamma": [(_p(concentration=[3.5, 6.0], rate=[1.25, 0.5]), [[0.25, 0.5]]), (_p(concentration=[2.75, 0.5, 1.5, 2.0, 1.0], rate=4.0), [[1.5, 3.0, 0.25, 1.75, 9.0]])],
    "Beta": [(_p(concentration1=[0.75, 3.0], concentration0=[1.5, 2.0]), [[0.25, 0.75]]), (_p(concentration1=5.0, concentration0=1.25), [[0.9, 0.5]])],
    "StudentT": [(_p(df=[5.0, 9.0], loc=[0.5, -1.0], scale=[1.25, 0.375]), [[0.25, -1.75]]), (_p(df=3.5, loc=-0.25, scale=2.0), [[4.0, -3.0]])],
    "FisherSnedecor": [(_p(df1=[4.0, 6.0], df2=[9.0, 12.0]), [[0.375, 1.5]]), (_p(df1=[3.0, 1.5, 0.5, 2.0, 3.5], df2=[2.5, 4.5, 1.0, 2.0, 4.0]), [[0.75, 2.5, 0.25, 1.75, 9.0]])],
    "LogNormal": [(_p(loc=[0.25, -0.5], scale=[0.375, 0.75]), [[0.75, 1.75]]), (_p(loc=1.5, scale=1.25), [[4.0, 0.5]])],
    "HalfNormal": [(_p(scale=[1.25, 0.375]), [[0.75, 0.25]]), (_p(scale=4.0), [[3.0, 0.5]])],
    "HalfCauchy": [(_p(scale=[1.25, 0.375]), [[0.75, 0.25]]), (_p(scale=4.0), [[3.0, 0.5]])],
    "Gumbel": [(_p(loc=[0.5, -1.0], scale=[1.5, 0.375]), [[0.125, -1.25]]), (_p(loc=2.0, scale=3.0), [[-1.5, 7.0]])],
    "Pareto": [(_p(scale=[1.0, 0.5], alpha=[4.5, 6.0]), [[1.375, 0.625]]), (_p(scale=2.0, alpha=[0.75, 1.5, 0.5, 1.0, 2.0]), [[2.5, 9.0, 2.25, 3.5, 4.0]])],
    "Weibull": [(_p(scale=[1.0, 2.5], concentration=[1.5, 3.0]), [[0.625, 1.875]]), (_p(scale=[0.5, 1.5, 3.0], concentration=[0.75, 1.0, 0.5]), [[0.25, 1.5, 0.75]])],
    "Kumaraswamy": [(_p(concentration1=[1.5, 3.0], concentration0=[2.5, 1.25]), [[0.25, 0.75]]), (_p(concentration1=[0.75, 1.0, 2.5, 3.0], concentration0=[4.0, 2.0, 1.0, 0.75]), [[0.125, 0.5, 0.75, 0.625]])],
    "ContinuousBernoulli": [(_p(probs=[0.25, 0.8125]), [[0.25, 0.875]]), (_p(logits=[-0.25, 2.0]), [[0.25, 0.875]])],
    "Bernoulli": [(_p(probs=[0.25, 0.8125]), [[1.0, 0.0]]), (_p(logits=[-0.25, 2.0]), [[1.0, 0.0], [0.0, 1.0]])],
    "Geometric": [(_p(probs=[0.25, 0.8125]), [[2.0, 0.0]]), (_p(logits=[-0.25, 2.0]), [[3.0, 1.0]])],
    "Binomial": [(_p(probs=[0.25, 0.8125], total_count=5), [[2.0, 5.0]]), (_p(logits=[-0.25, 2.0], total_count=[7.0, 3.0]), [[3.0, 0.0]])],
    "NegativeBinomial": [(_p(total_count=[3.0, 5.0], probs=[0.25, 0.625]), [[2.0, 5.0]]), (_p(total_count=[1.5, 2.5], logits=[-0.5, 1.5]), [[0.0, 9.0]])],
    "Poisson": [(_p(rate=[0.75, 14.0]), [[2.0, 15.0]]), (_p(rate=3.0), [[0.0, 4.0]])],
    "Categorical": [(_p(probs=[[0.25, 0.5, 0.25], [0.625, 0.25, 0.125]]), [[2, 0]]), (_p(logits=[[0.25, 0.5, -0.25], [1.5, 0.25, 0.125]]), [[1, 2]])],
    "OneHotCategorical": [(_p(probs=[[0.25, 0.5, 0.25], [0.625, 0.25, 0.125]]), [[[0.0, 1, 0], [1, 0, 0]]]), (_p(logits=[0.25, 0.5, -0.25]), [[0.0, 0, 1]])],
    "OneHotCategoricalStraightThrough": [(_p(probs=[0.25, 0.5, 0.25]), [[0.0, 1, 0]]), (_p(logits=[[0.25, 0.5, -0.25]]), [[[0.0, 0, 1]]])],
    "Multinomial": [(_p(probs=[[0.25, 0.5, 0.25], [0.625, 0.25, 0.125]], total_count=4), [[[1.0, 2, 1], [4, 0, 0]]]), (_p(logits=[0.25, 0.5, -0.25], total_count=3), [[0.0, 2, 1]])],
    "Dirichlet": [(_p(concentration=[[0.75, 2.0, 1.5], [3.0, 4.0, 5.0]]), [_simplex([0.25, 0.5, 0.25], [0.625, 0.25, 0.125])]), (_p(concentration=[[0.75, 0.25], [1.0, 3.0], [1.25, 6.0], [0.5, 1.0]]), [_simplex([0.375, 0.625], [0.25, 0.75], [0.625, 0.375], [0.125, 0.875])])],
    "MultivariateNormal": [(_p(loc=[[0.5, -1.0]], covariance_matrix=COV), [[[0.125, 0.25]], [[1.0, -2.0]]]), (_p(loc=[0.5, -1.0, 0.25], precision_matrix=COV3), [[0.125, 0.25, -0.75]]),
                           (_p(loc=[0.5, -1.0], scale_tril=_lower(TRIL)), [[0.125, 0.25]]), (_p(loc=[[0.5, -1.0, 0.25], [1.0, 0.0, 2.0]], covariance_matrix=COV3), [[0.25, 1.5, -1.0]])],
    "LowRankMultivariateNormal": [(_p(loc=[0.5, -1.0], cov_factor=[[1.0], [0.375]], cov_diag=[0.5, 0.75]), [[0.125, 0.25]]),
                                  (_p(loc=[0.5, -1.0, 2.0], cov_factor=[[1.0, 0.25], [0.375, -0.5], [0.0, 1.5]], cov_diag=[0.5, 0.75, 2.0]), [[0.125, 0.25, 1.0]])],
    "Wishart": [(_p(df=[3.5, 5.0], covariance_matrix=COV), [[[[1.5, 0.25], [0.25, 2.0]], [[4.0, -1.0], [-1.0, 3.0]]]]), (_p(df=4.0, precision_matrix=COV), [[[1.5, 0.25], [0.25, 2.0]]]),
                (_p(df=4.0, scale_tril=TRIL), [[[1.5, 0.25], [0.25, 2.0]]])],
    "LKJCholesky": [({"dim": 3} | _p(concentration=[0.75, 3.0]), [CORR3]), ({"dim": 2} | _p(concentration=1.5), [CORR2])],
    "VonMises": [(_p(loc=[0.5, -1.0], concentration=[0.75, 4.0]), [[0.125, -2.25], [3.0, 1.0]]), (_p(loc=[0.25, -0.5, 0.75, -1.0, 3.0], concentration=[0.03125, 90.0, 3.7, 3.8, 12.0]), [[0.125, -0.75, 7.0, 0.5, -3.0]])],
    "LogisticNormal": [(_p(loc=[0.5, -1.0], scale=[0.625, 0.75]), [[0.25, 0.5, 0.25]]), (_p(loc=[0.25], scale=[1.5]), [[0.375, 0.625]])],
    "RelaxedBernoulli": [(_p(temperature=0.75, probs=[0.25, 0.8125]), [[0.25, 0.875]]), (_p(temperature=1.5, logits=[0.5, -2.0]), [[0.5, 0.125]])],
    "RelaxedOneHotCategorical": [(_p(temperature=0.75, probs=[0.25, 0.5, 0.25]), [[0.25, 0.5, 0.25]]), (_p(temperature=2.0, logits=[[0.5, -1.0, 0.25]]), [[[0.125, 0.625, 0.25]]])],
    "GeneralizedPareto": [(_p(loc=[0.5, -1.0], scale=[1.5, 0.25], concentration=[0.25, 0.125]), [[0.875, -0.75]]), (_p(loc=0.0, scale=2.0, concentration=[-0.25, 0.375, 0.0, 0.75, 0.5, 1.25]), [[1.5, 4.0, 2.5, 0.5, 3.0, 9.0]])],
}


def _composed():
    """Yield (name, args, values) of distributions made of others."""
    normal = Build(D + "Normal", (), _p(loc=[[0.5, -2.0, 1.0], [0.0, 1.5, 2.0]], scale=[[1.5, 0.375, 1.0], [1.0, 2.0, 0.5]]))
    beta = Build(D + "Beta", (), _p(concentration1=[[0.75, 3.0]], concentration0=[[1.5, 2.0]]))
    point = _of([[0.125, -2.25, 1.5], [0.5, 1.0, 2.5]])
    yield "Independent", "one", (normal, 1), [point]
    yield "Independent", "two", (normal, 2), [point]
    yield "Independent", "none", (beta, 0), [_of([[0.25, 0.75]])]
    weights = Build(D + "Categorical", (), _p(logits=[[0.5, -0.25, 1.0], [0.0, 0.25, 0.5]]))
    yield "MixtureSameFamily", "normals", (weights, normal), [_of([0.25, 1.0])]
    yield "MixtureSameFamily", "independent", (Build(D + "Categorical", (), _p(probs=[0.25, 0.75])), Build(D + "Independent", (normal, 1))), [_of([0.125, -1.0, 1.5])]
    affine, exp, sigmoid = Build(D + "AffineTransform", (Leaf(_of(0.5)), Leaf(_of(-2.0)))), Build(D + "ExpTransform"), Build(D + "SigmoidTransform")
    rows_affine = Build(D + "AffineTransform", (Leaf(_of(-1.5)), Leaf(_of([0.5, 3.0]))), {"event_dim": 1})
    yield "TransformedDistribution", "rows", (Build(D + "Independent", (Build(D + "Normal", (), _p(loc=[0.5, 1.0], scale=[0.75, 2.0])), 1)), rows_affine), [_of([[0.25, 1.0]])]
    base = Build(D + "Normal", (), _p(loc=[0.5, -0.25], scale=[1.5, 0.75]))
    yield "TransformedDistribution", "affine", (base, affine), [_of([0.25, 1.0])]
    yield "TransformedDistribution", "two", (base, [affine, exp]), [_of([0.25, 1.5])]
    yield "TransformedDistribution", "sigmoid", (base, [sigmoid]), [_of([0.25, 0.875])]
    yield "TransformedDistribution", "logistic", (Build(D + "Uniform", (), _p(low=[0.0, 0.0], high=[1.0, 1.0])), [affine]), [_of([-0.5, 0.25])]


# More rows of a class: name, what varies, arguments, parameters, values.
MORE = [
    ("Normal", "broadcast", (), _p(loc=[[0.5], [-1.25]], scale=[1.5, 0.375, 2.0]), [_of([0.125, -2.25, 1.5]), _of([[[0.75]], [[-1.0]]])]),
    ("Laplace", "number and tensor", (0.5,), _p(scale=[1.5, 0.375]), [_of([[0.125], [-2.25]])]),
    ("Gamma", "broadcast", (), _p(concentration=[[0.25], [1.0], [4.0]], rate=[1.25, 0.5]), [_of([0.25, 5.5])]),
    ("Beta", "broadcast", (), _p(concentration1=[[0.5], [1.0], [4.0]], concentration0=[0.75, 3.0]), [_of([0.25, 0.625])]),
    ("StudentT", "defaults", (), _p(df=[5.0, 2.5, 0.5, 1.0, 2.0]), [_of([0.25, -1.75, 9.0, 0.0, -2.5])]),
    ("ContinuousBernoulli", "inside the limits", (), _p(probs=[0.49895, 0.49905, 0.5, 0.50095, 0.50105, 0.0, 1.0]), [_of([0.25, 0.875, 0.625, 0.5, 0.125, 0.0, 1.0])]),
    ("ContinuousBernoulli", "other limits", (), {"lims": (0.4, 0.625)} | _p(probs=[0.375, 0.4375, 0.5625, 0.6875]), [_of([0.25, 0.875, 0.5, 0.125])]),
    ("Bernoulli", "extremes", (), _p(probs=[0.0, 1.0, 0.5, 1e-9]), [_of([0.0, 1.0, 1.0, 1.0])]),
    ("Bernoulli", "large logits", (), _p(logits=[-40.0, 12.0, 0.0]), [_of([1.0, 0.0, 1.0])]),
    ("Geometric", "certain", (), _p(probs=[1.0, 0.5]), [_of([0.0, 3.0])]),
    ("Binomial", "default count", (), _p(probs=[0.25, 0.8125, 0.0, 1.0]), [_of([1.0, 0.0, 0.0, 1.0])]),
    ("Binomial", "extreme logits", (), _p(total_count=[6.0, 4.0], logits=[-12.0, 30.0]), [_of([2.0, 4.0])]),
    ("NegativeBinomial", "number", (4,), _p(probs=[0.25, 0.625]), [_of([2.0, 5.0])]),
    ("NegativeBinomial", "few", (), _p(total_count=[0.5, 1.0], probs=[0.75, 0.0]), [_of([2.0, 0.0])]),
    ("Poisson", "zero", (), _p(rate=[0.0, 4.0]), [_of([0.0, 3.0])]),
    ("Categorical", "with zeros", (), _p(probs=[[0.25, 0.0, 1.5], [0.0, 2.0, 0.5]]), [np.array([2, 1]), np.array([[0], [2]])]),
    ("Categorical", "vector", (), _p(logits=[0.25, 0.5, -0.25, 3.0]), [np.array([[2], [0], [3]])]),
    ("Multinomial", "default count", (), _p(probs=[[0.25, 0.5, 0.25], [0.0, 0.75, 0.25]]), [_of([[0.0, 1, 0], [0, 0, 1]])]),
    ("MultivariateNormal", "batches", (), _p(loc=[[[0.5, -1.0]], [[0.25, 2.0]]], scale_tril=_lower(np.stack([TRIL, TRIL * 2, TRIL + np.eye(2)]))), [_of([0.125, 0.25])]),
    ("LowRankMultivariateNormal", "batches", (), _p(loc=[[0.5, -1.0, 2.0], [0.25, 1.0, -0.5]], cov_factor=[[1.0, 0.25], [0.375, -0.5], [0.0, 1.5]], cov_diag=[[[0.5, 0.75, 2.0]]]), [_of([0.125, 0.25, 1.0])]),
    ("Wishart", "number of degrees", (5,), _p(scale_tril=_lower(TRIL3)), [COV3 * 2 + np.eye(3)]),
    ("LKJCholesky", "default", (), {"dim": 3}, [CORR3.astype("float32")]),
    ("LKJCholesky", "of 4", (4,), _p(concentration=[[0.5], [2.5]]), [_of([[1.0, 0, 0, 0], [0.6, 0.8, 0, 0], [0.48, -0.64, 0.6, 0], [0.5, 0.1, -0.7, 0.5]])]),
    ("RelaxedBernoulli", "temperatures", (_of([0.75, 1.5, 4.0]),), _p(logits=[0.5, -2.0, 1.0]), [_of([0.5, 0.125, 0.75])]),
    ("relaxed_bernoulli.LogitRelaxedBernoulli", "probs", (_of(0.75),), _p(probs=[0.25, 0.8125]), [_of([0.5, -3.0])]),
    ("relaxed_bernoulli.LogitRelaxedBernoulli", "logits", (_of([1.5, 0.25]),), _p(logits=[0.5, -2.0]), [_of([0.5, -3.0])]),
    ("relaxed_categorical.ExpRelaxedCategorical", "probs", (_of(0.75),), _p(probs=[0.25, 0.5, 0.25]), [_of([-1.5, -0.75, -1.25])]),
    ("relaxed_categorical.ExpRelaxedCategorical", "logits", (_of(2.0),), _p(logits=[[0.5, -1.0], [2.0, 0.25]]), [_of([-1.5, -0.25])]),
    ("LogisticNormal", "batch", (), _p(loc=[[0.5, -1.0], [0.0, 2.0]], scale=[0.625, 0.75]), [_simplex([0.25, 0.5, 0.25], [0.625, 0.25, 0.125])]),
]
# Values on and beyond the edges of the support, which only unchecked distributions take: parameters, values, levels.
EDGES = {
    "Uniform": (_p(low=-1.0, high=2.0), [-1.0, 2.0, -1.5, 2.5, np.nan]), "Normal": (_p(loc=0.5, scale=1.5), [-np.inf, np.inf, np.nan, 40.0]),
    "Laplace": (_p(loc=0.5, scale=1.5), [-np.inf, np.inf, 0.5]), "Cauchy": (_p(loc=0.5, scale=1.5), [-np.inf, np.inf, 1e200]),
    "Exponential": (_p(rate=0.75), [0.0, -1.0, np.inf]), "Gamma": (_p(concentration=[[0.625], [1.0], [2.5]], rate=1.5), [0.0, 800.0, np.inf]),
    "Beta": (_p(concentration1=[[0.625], [1.0], [2.5]], concentration0=[[1.0], [3.0], [0.5]]), [0.0, 1.0]),
    "HalfNormal": (_p(scale=1.5), [-0.5, 0.0, np.inf]), "HalfCauchy": (_p(scale=1.5), [-0.5, 0.0, np.inf]),
    "Gumbel": (_p(loc=0.5, scale=1.5), [-8.0, 60.0]), "Pareto": (_p(scale=1.5, alpha=2.5), [1.5, 1e200]),
    "LogNormal": (_p(loc=0.5, scale=1.5), [0.0, 1e-300, np.inf]), "Weibull": (_p(scale=1.5, concentration=2.5), [1e-300, 90.0]),
    "Kumaraswamy": (_p(concentration1=1.5, concentration0=2.5), [0.0, 1.0]), "StudentT": (_p(df=2.5, loc=0.5, scale=1.5), [-np.inf, 1e160, np.nan]),
    "Bernoulli": (_p(probs=[[0.0], [1.0], [0.25]]), [0.0, 1.0, 0.5]), "Poisson": (_p(rate=[[0.0], [2.5]]), [0.0, 1.0]),
    "Geometric": (_p(probs=[[1.0], [0.25]]), [0.0, 1.0]), "ContinuousBernoulli": (_p(probs=[[0.25], [0.5], [0.8125]]), [0.0, 1.0, -0.5, 1.5]),
    "NegativeBinomial": (_p(total_count=[[0.0], [2.5]], probs=0.25), [0.0, 1.0]), "GeneralizedPareto": (_p(loc=0.5, scale=1.5, concentration=[[-0.5], [0.25]]), [0.5, 3.0, 4.0]),
    "VonMises": (_p(loc=0.5, concentration=1.5), [np.pi, 40.0]), "Binomial": (_p(total_count=3, probs=[[0.0], [1.0], [0.25]]), [0.0, 3.0]),
}
# Distributions whose numbers are Python's or of float32: parameters and values as they are.
SINGLES = [
    ("Normal", {"loc": 0.5, "scale": 2}, [0.25, -3.5]), ("Laplace", {"loc": 1, "scale": 0.75}, [0.25, -3.5]), ("Cauchy", {"loc": 0.5, "scale": 2}, [0.25, -3.5]),
    ("Uniform", {"low": -1, "high": 2.5}, [0.25, 1.5]), ("Exponential", {"rate": 0.75}, [0.25, 3.5]), ("Gamma", {"concentration": 2.5, "rate": 0.75}, [0.25, 3.5]),
    ("Chi2", {"df": 3}, [0.25, 3.5]), ("Beta", {"concentration1": 2.5, "concentration0": 0.75}, [0.25, 0.75]), ("StudentT", {"df": 3, "loc": 0.5}, [0.25, -3.5]),
    ("Gumbel", {"loc": 0.5, "scale": 2.0}, [0.25, -3.5]), ("HalfNormal", {"scale": 2.0}, [0.25, 3.5]), ("HalfCauchy", {"scale": 2.0}, [0.25, 3.5]),
    ("LogNormal", {"loc": 0.5, "scale": 2.0}, [0.25, 3.5]), ("Bernoulli", {"probs": 0.25}, [0.0, 1.0]), ("Bernoulli", {"logits": 1}, [0.0, 1.0]), ("Geometric", {"logits": 0.75}, [0.0, 3.0]),
    ("ContinuousBernoulli", {"probs": 0.25}, [0.25, 0.75]), ("Poisson", {"rate": 3.5}, [0.0, 7.0]), ("FisherSnedecor", {"df1": 3.0, "df2": 5.5}, [0.25, 3.5]),
    ("Weibull", {"scale": 1.5, "concentration": 2.5}, [0.25, 3.5]), ("Pareto", {"scale": 1.5, "alpha": 2.5}, [1.75, 3.5]),
    ("Kumaraswamy", {"concentration1": 1.5, "concentration0": 2.5}, [0.25, 0.75]), ("InverseGamma", {"concentration": 1.5, "rate": 2.5}, [0.25, 0.75]),
]


# Quantities whose gradient is rounding noise, by name of the row.
NOISE = {"ContinuousBernoulli/inside the limits": ("variance",)}
SMOOTH = ("log_prob", "entropy", "cdf", "icdf", "mean", "variance", "parameters")
QUANTITIES = (*OF_VALUES, *METHODS, *ATTRIBUTES, "enumerate_support", "expand", "expanded mean", "parameters", "support")
# Attributes that a distribution has beside its parameters, or derives from them.
DERIVED = ("covariance_matrix", "precision_matrix", "scale_tril", "temperature", "total_count", "concentration")


def parameters_of(torch, distribution) -> list:
    """Return the names of a distribution's parameters, given ones and derived ones."""
    try:
        given = sorted(distribution.arg_constraints)
    except NotImplementedError:
        return []
    return given + [n for n in DERIVED if n not in given and isinstance(getattr(distribution, n, None), torch.Tensor)]


def supported(torch, row, quantities=QUANTITIES) -> tuple[list, list]:
    """Return the quantities that PyTorch has of a row's distribution, and those that it differentiates."""
    (args, kwargs, (values, levels)), given = prepare(torch, (row.args, row.kwargs, (row.options["values"], row.options["levels"])))
    tensors = [to_tensor(torch, a, leaf) for a, leaf in given]
    distribution = lookup(torch, row.target)(*fill(args, tensors), **fill(kwargs, tensors))
    row.options["parameters"] = parameters_of(torch, distribution)
    leaves = leaves_of(tensors, given)
    found, differentiated = [], []
    for quantity in quantities:
        try:
            out = evaluate(distribution, quantity, fill(levels if quantity == "icdf" else values, tensors), row.options["parameters"])
        except (NotImplementedError, AttributeError):
            continue
        found.append(quantity)
        if quantity in SMOOTH and quantity not in NOISE.get(row.name, ()):
            try:
                gradients(torch, flatten(torch, out), leaves, keep=True)
            except (NotImplementedError, RuntimeError):
                continue
            differentiated.append(quantity)
    return found, differentiated


TRIGAMMA = (4e-9, "PyTorch's trigamma and incomplete gamma are good to 1e-9")
ROOM = dict.fromkeys(("Gamma", "Chi2", "InverseGamma", "Beta", "StudentT", "Dirichlet", "Wishart", "Kumaraswamy", "Independent"), TRIGAMMA) | {
    "VonMises": (3e-4, "PyTorch's Bessel functions are polynomials for float32"),
    "Multinomial": (1e-7, "PyTorch takes lgamma of an integer, in float32")}


def single(value):
    """Return a value with its arrays in float32."""
    if isinstance(value, Leaf):
        return Leaf(value.array.astype("float32"))
    if isinstance(value, np.ndarray):
        return value.astype("float32")
    if isinstance(value, dict):
        return {k: single(v) for k, v in value.items()}
    return [single(v) for v in value] if isinstance(value, list) else value


COUNTED = ("Poisson", "Geometric", "NegativeBinomial", "Multinomial")
LEVELS = [_of(0.25), _of(0.875)]


UNCHECKED = {"validate_args": False}


def _row(torch, name, what, args, kwargs, values, levels=LEVELS, quantities=QUANTITIES):
    kind = lookup(torch, D + name)
    smooth = not kind.has_enumerate_support and name not in COUNTED
    given = [Leaf(v) if smooth and v.dtype == "float64" else v for v in values]
    # The levels of quantiles have the shape of the batch or meet it.
    options = {"values": given, "levels": levels}
    if name == "GeneralizedPareto":         # which PyTorch computes in float32 alone
        kwargs, options = single(kwargs), single(options)
    tensors = any(isinstance(v, (Leaf, np.ndarray, Build, list)) for v in (*args, *kwargs.values()))
    row = Row(f"{name.split('.')[-1]}/{what}", "distribution" if tensors else "distribution of numbers", D + name, args, kwargs, options)
    options["quantities"], options["differentiated"] = supported(torch, row, quantities)
    row.tolerance, row.reason = ROOM.get(name, (None, ""))
    return row


def rows(torch, rng):
    """Yield two rows and more of every distribution."""
    for name, entries in TABLE.items():
        for i, (kwargs, values) in enumerate(entries):
            kind = "int64" if name == "Categorical" else "float64"
            yield _row(torch, name, f"{i} {'-'.join(kwargs)}", (), kwargs, [np.array(v, kind) for v in values])
    for name, what, args, kwargs, values in MORE:
        yield _row(torch, name, what, args, kwargs, values)
    for name, what, args, values in _composed():
        yield _row(torch, name, what, args, {}, values)
    for name, (kwargs, values) in EDGES.items():
        edges = [_of(0.0), _of(1.0)]
        row = _row(torch, name, "edges", (), kwargs | UNCHECKED, [_of(values)], edges, ("log_prob", "cdf", "icdf", "support"))
        row.options["differentiated"] = []
        yield row
    for name, kwargs, values in SINGLES:
        row = _row(torch, name, f"numbers {'-'.join(kwargs)}", (), kwargs | UNCHECKED, [_of(values).astype("float32")], single(LEVELS))
        row.tolerance = None
        yield row
