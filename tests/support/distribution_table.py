"""The rows that tests of distributions run over: a name, parameters, and values inside of the support.

Parameters are lists or numbers; `build` makes the distribution in any namespace that has `tensor` and `distributions`.
"""

from dataclasses import dataclass, field


@dataclass
class Row:
    family: str
    args: dict
    values: list                  # values to ask the density of
    cdf: bool = False
    icdf: bool = False
    entropy: bool = True
    moments: bool = True          # mean and variance exist and are finite
    discrete: bool = False
    fixed: dict = field(default_factory=dict)   # parameters that are no tensors


COV = [[2.0, 0.5], [0.5, 1.0]]
TRIL = [[1.2, 0.0], [0.3, 0.8]]

ROWS = [
    Row("Normal", {"loc": [0.5, -2.0], "scale": [1.5, 0.3]}, [[0.1, -2.2], [3.0, -1.0]], cdf=True, icdf=True),
    Row("Laplace", {"loc": [0.5, -2.0], "scale": [1.5, 0.3]}, [[0.1, -2.2], [3.0, -1.0]], cdf=True, icdf=True),
    Row("Cauchy", {"loc": [0.5, -2.0], "scale": [1.5, 0.3]}, [[0.1, -2.2]], cdf=True, icdf=True, moments=False),
    Row("Uniform", {"low": [-1.0, 0.5], "high": [2.0, 0.75]}, [[0.3, 0.6]], cdf=True, icdf=True),
    Row("Exponential", {"rate": [0.7, 3.0]}, [[0.2, 1.5]], cdf=True, icdf=True),
    Row("Gamma", {"concentration": [0.6, 4.0], "rate": [1.3, 0.5]}, [[0.2, 5.5], [2.5, 12.0]], cdf=True),
    Row("Chi2", {"df": [1.5, 6.0]}, [[0.2, 5.5]], cdf=True),
    Row("InverseGamma", {"concentration": [3.5, 6.0], "rate": [1.3, 0.5]}, [[0.2, 0.5]], cdf=True),
    Row("Beta", {"concentration1": [0.7, 3.0], "concentration0": [1.5, 2.0]}, [[0.2, 0.7]]),
    Row("StudentT", {"df": [5.0, 9.0], "loc": [0.5, -1.0], "scale": [1.2, 0.4]}, [[0.2, -1.7]]),
    Row("FisherSnedecor", {"df1": [4.0, 6.0], "df2": [9.0, 12.0]}, [[0.4, 1.5]], entropy=False),
    Row("LogNormal", {"loc": [0.2, -0.5], "scale": [0.4, 0.8]}, [[0.7, 1.8]], cdf=True, icdf=True),
    Row("HalfNormal", {"scale": [1.3, 0.4]}, [[0.7, 0.2]], cdf=True, icdf=True),
    Row("HalfCauchy", {"scale": [1.3, 0.4]}, [[0.7, 0.2]], cdf=True, icdf=True, moments=False),
    Row("Gumbel", {"loc": [0.5, -1.0], "scale": [1.5, 0.3]}, [[0.1, -1.2]], cdf=True, icdf=True),
    Row("Pareto", {"scale": [1.0, 0.5], "alpha": [4.5, 6.0]}, [[1.4, 0.6]], cdf=True, icdf=True),
    Row("Weibull", {"scale": [1.0, 2.5], "concentration": [1.5, 3.0]}, [[0.6, 1.9]], cdf=True, icdf=True),
    Row("Kumaraswamy", {"concentration1": [1.5, 3.0], "concentration0": [2.5, 1.2]}, [[0.2, 0.7]], cdf=True, icdf=True),
    Row("GeneralizedPareto", {"loc": [0.5, -1.0], "scale": [1.5, 0.3], "concentration": [0.2, 0.1]}, [[0.9, -0.8]], cdf=True,
        icdf=True),
    Row("ContinuousBernoulli", {"probs": [0.3, 0.8]}, [[0.2, 0.9]], cdf=True, icdf=True),
    Row("ContinuousBernoulli", {"logits": [-0.3, 2.0]}, [[0.2, 0.9]], cdf=True, icdf=True),
    Row("Bernoulli", {"probs": [0.3, 0.8]}, [[1.0, 0.0]], discrete=True),
    Row("Bernoulli", {"logits": [-0.3, 2.0]}, [[1.0, 0.0]], discrete=True),
    Row("Geometric", {"probs": [0.3, 0.8]}, [[2.0, 0.0]], discrete=True),
    Row("Binomial", {"probs": [0.3, 0.8]}, [[2.0, 5.0]], discrete=True, fixed={"total_count": 5}),
    Row("NegativeBinomial", {"total_count": [3.0, 5.0], "probs": [0.3, 0.6]}, [[2.0, 5.0]], discrete=True, entropy=False),
    Row("Poisson", {"rate": [0.7, 14.0]}, [[2.0, 15.0]], discrete=True, entropy=False),
    Row("Categorical", {"probs": [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]}, [[2, 0]], discrete=True, moments=False),
    Row("Categorical", {"logits": [[0.2, 0.5, -0.3], [1.6, 0.3, 0.1]]}, [[2, 0]], discrete=True, moments=False),
    Row("OneHotCategorical", {"probs": [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]}, [[[0., 1., 0.], [1., 0., 0.]]], discrete=True),
    Row("Multinomial", {"probs": [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]}, [[[1., 2., 1.], [4., 0., 0.]]], discrete=True,
        fixed={"total_count": 4}),
    Row("Dirichlet", {"concentration": [[0.7, 2.0, 1.5], [3.0, 4.0, 5.0]]}, [[[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]]),
    Row("MultivariateNormal", {"loc": [[0.5, -1.0]], "covariance_matrix": COV}, [[[0.1, 0.2]], [[1.0, -2.0]]]),
    Row("MultivariateNormal", {"loc": [0.5, -1.0], "precision_matrix": COV}, [[0.1, 0.2]]),
    Row("MultivariateNormal", {"loc": [0.5, -1.0], "scale_tril": TRIL}, [[0.1, 0.2]]),
    Row("LowRankMultivariateNormal", {"loc": [0.5, -1.0], "cov_factor": [[1.0], [0.4]], "cov_diag": [0.5, 0.8]}, [[0.1, 0.2]]),
    Row("Wishart", {"df": [3.5, 5.0], "covariance_matrix": COV}, [[[[1.5, 0.3], [0.3, 2.0]], [[4.0, -1.0], [-1.0, 3.0]]]]),
    Row("Wishart", {"df": 4.0, "precision_matrix": COV}, [[[1.5, 0.3], [0.3, 2.0]]]),
    Row("Wishart", {"df": 4.0, "scale_tril": TRIL}, [[[1.5, 0.3], [0.3, 2.0]]]),
    Row("LKJCholesky", {"concentration": [0.7, 3.0]}, [[[[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.2, -0.3, 0.93273790530888146]],
                                                        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]]]], entropy=False,
        moments=False, fixed={"dim": 3}),
    Row("VonMises", {"loc": [0.5, -1.0], "concentration": [0.7, 4.0]}, [[0.1, -2.2], [3.0, 1.0]], entropy=False, moments=False),
    Row("VonMises", {"loc": [0.5, -1.0], "concentration": [0.02, 90.0]}, [[0.1, -1.2]], entropy=False, moments=False),
    Row("LogisticNormal", {"loc": [0.5, -1.0], "scale": [0.6, 0.8]}, [[0.2, 0.5, 0.3]], entropy=False, moments=False),
    Row("RelaxedBernoulli", {"temperature": 0.7, "probs": [0.3, 0.8]}, [[0.2, 0.9]], entropy=False, moments=False),
    Row("RelaxedOneHotCategorical", {"temperature": 0.7, "probs": [0.3, 0.5, 0.2]}, [[0.2, 0.5, 0.3]], entropy=False,
        moments=False),
]


def build(row: Row, library, namespace, dtype=None, grad=False):
    """The distribution of a row, and its tensor parameters."""
    kind = dtype if dtype is not None else library.float64
    tensors = {k: library.tensor(v, dtype=kind, requires_grad=grad) for k, v in row.args.items()}
    return getattr(namespace, row.family)(**tensors, **row.fixed), tensors


def label(row: Row) -> str:
    """A name for test ids."""
    return row.family + "-" + "-".join(row.args)
