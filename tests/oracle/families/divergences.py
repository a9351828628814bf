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


# Classes whose divergences come from a base class: of a Gamma, and of transformed distributions whose transforms are equal.
LIKE_GAMMA = ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Normal", "Pareto", "Uniform")
TO_GAMMA = ("Beta", "Exponential", "Gamma", "Gumbel", "Laplace", "Normal", "Pareto", "Uniform")
TRANSFORMED = {
    "LogNormal": (_p(loc=[0.25, -0.5], scale=[0.375, 0.75]), _p(loc=1.5, scale=1.25)),
    "InverseGamma": (_p(concentration=[3.5, 6.0], rate=[1.25, 0.5]), _p(concentration=2.75, rate=4.0)),
    "LogisticNormal": (_p(loc=[0.5, -1.0], scale=[0.625, 0.75]), _p(loc=[0.25, 2.0], scale=[1.5, 0.375])),
    "HalfCauchy": (_p(scale=[1.25, 0.375]), _p(scale=4.0)),
    "Weibull": (_p(scale=[1.0, 2.5], concentration=[1.5, 3.0]),) * 2,
    "Kumaraswamy": (_p(concentration1=[1.5, 3.0], concentration0=[2.5, 1.25]),) * 2,
}


def _inherited():
    """Yield (name, p, q) of divergences that a base class gives."""
    chi2 = _both("Chi2")
    pairs = [("Chi2 Chi2/0", *chi2), ("Chi2 Chi2/1", *chi2[::-1])]
    pairs += [(f"Chi2 {q}/0", chi2[0], _both(q)[1]) for q in LIKE_GAMMA] + [(f"{p} Chi2/0", _both(p)[0], chi2[1]) for p in TO_GAMMA]
    for name, (first, second) in TRANSFORMED.items():
        one, other = Build(D + name, (), first), Build(D + name, (), second)
        pairs += [(f"{name} {name}/0", one, other), (f"{name} {name}/1", other, one)][:1 if first is second else 2]
    yield from pairs


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
    wide, narrow = _p(low=[-1.0, 0.25, -0.5], high=[0.5, 2.0, 1.5]), _p(low=[-0.5, 0.5, -0.25], high=[0.25, 1.5, 1.25])
    inside = Build(D + "Beta", (), _p(concentration1=1.5, concentration0=2.5)), Build(D + "ContinuousBernoulli", (), _p(probs=0.25))
    for other in (*inside, Build(D + "Uniform", (), narrow)):
        for p, q in (other, Build(D + "Uniform", (), wide)), (Build(D + "Uniform", (), wide), other):
            names = f"{p.target.split('.')[1]} {q.target.split('.')[1]}"
            what = "one side" if p is other else "one side of the other"
            tolerance, reason = ROOM["Beta"] if "Beta" in names else (None, "")
            yield Row(f"{names}/{what}", "divergence", "distributions.kl_divergence", (p, q), tolerance=tolerance, reason=reason)
    for name, p, q in _inherited():
        tolerance, reason = ROOM.get(p.target.split(".")[1], ROOM.get(q.target.split(".")[1], (None, "")))
        yield Row(name, "divergence", "distributions.kl_divergence", (p, q), tolerance=tolerance, reason=reason)
    few = Build(D + "Binomial", (), _p(probs=[0.5, 0.25], total_count=3))
    yield Row("Binomial Binomial/more", "divergence", "distributions.kl_divergence", (_both("Binomial")[0], few))
    assert not missing, f"no rows for {missing}"
