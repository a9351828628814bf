"""Kullback-Leibler divergences: every pair that PyTorch registers, with gradients for both."""

import numpy as np

from ..row import Build, Row
from .distributions import ROOM, TABLE, D, _p

# Pairs whose divergence comes from another pair's rule, or from a class without rows: no row of their own.
ABSTRACT = {("ExponentialFamily", "ExponentialFamily"), ("TransformedDistribution", "TransformedDistribution")}
MORE = {
    "Independent": [Build(D + "Independent", (Build(D + "Normal", (), _p(loc=[[0.5, -2.0, 1.0]], scale=[[1.5, 0.375, 1.0]])), 1)),
                    Build(D + "Independent", (Build(D + "Normal", (), _p(loc=[[1.5, 0.25, -1.0]], scale=[[0.75, 1.25, 2.0]])), 1))],
    "ExpRelaxedCategorical": [],
}
# Second distributions that hold the support of the first, where those of `TABLE` do not, and shapes that meet.
OTHERS = {
    "Uniform": _p(low=[-3.0, -4.0], high=[4.0, 6.0]), "Pareto": _p(scale=[0.25, 0.375], alpha=[2.5, 3.0]),
    "Binomial": _p(probs=[0.5, 0.25], total_count=5), "Multinomial": _p(probs=[0.5, 0.25, 0.25], total_count=4),
    "Categorical": _p(logits=[[0.5, 1.5, -0.75], [0.25, 1.25, 0.375]]), "OneHotCategorical": _p(logits=[[0.5, 1.5, -0.75], [0.25, 1.25, 0.375]]),
    "Dirichlet": _p(concentration=[[2.75, 0.5, 3.5], [1.0, 2.0, 6.0]]),
    "MultivariateNormal": _p(loc=[1.5, 0.25], covariance_matrix=np.array([[1.0, -0.25], [-0.25, 3.0]])),
    "LowRankMultivariateNormal": _p(loc=[1.5, 0.25], cov_factor=[[0.5], [1.25]], cov_diag=[1.5, 0.5]),
}


def _both(name) -> list:
    """Return two distributions of a class with different parameters."""
    if name in MORE:
        return MORE[name]
    first, second = TABLE[name][0][0], OTHERS.get(name, TABLE[name][1][0])
    return [Build(D + name, (), first), Build(D + name, (), second)]


def rows(torch, rng):
    """Yield two rows for each registered pair: the second exchanges the parameters."""
    missing = []
    for p, q in sorted({(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}):
        if (p, q) in ABSTRACT:
            continue
        if (p not in TABLE and p not in MORE) or (q not in TABLE and q not in MORE):
            missing.append((p, q))
            continue
        for i in (0, 1):
            tolerance, reason = ROOM.get(p, ROOM.get(q, (None, "")))
            yield Row(f"{p} {q}/{i}", "divergence", "distributions.kl_divergence", (_both(p)[i], _both(q)[1 - i]), tolerance=tolerance, reason=reason)
    first = Build(D + "TransformedDistribution", (Build(D + "Normal", (), _p(loc=[0.5], scale=[1.5])), [Build(D + "ExpTransform")]))
    second = Build(D + "TransformedDistribution", (Build(D + "Normal", (), _p(loc=[-0.25], scale=[0.75])), [Build(D + "ExpTransform")]))
    yield Row("TransformedDistribution TransformedDistribution/0", "divergence", "distributions.kl_divergence", (first, second))
    yield Row("TransformedDistribution TransformedDistribution/1", "divergence", "distributions.kl_divergence", (second, first))
    few = Build(D + "Binomial", (), _p(probs=[0.5, 0.25], total_count=3))
    yield Row("Binomial Binomial/more", "divergence", "distributions.kl_divergence", (_both("Binomial")[0], few))
    assert not missing, f"no rows for {missing}"
