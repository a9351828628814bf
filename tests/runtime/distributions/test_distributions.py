"""Distributions: samples against moments and entropies, densities against integrals, shapes, checks, transforms."""

import math

import numpy as np
import pytest

import ingot
from distribution_table import ROWS, build, label
from ingot import distributions as D
from ingot import nn
from ingot.distributions import constraints, transforms
from ingot.distributions.von_mises import log_bessel

SEED = 7
MANY = 40000
SINGLE = [r for r in ROWS if not r.discrete and r.family not in ("Dirichlet", "MultivariateNormal", "LogisticNormal",
                                                                 "LowRankMultivariateNormal", "RelaxedOneHotCategorical",
                                                                 "Wishart", "LKJCholesky")]


def drawn(d, n=MANY, seed=SEED):
    ingot.manual_seed(seed)
    return d.sample((n,)).to(ingot.float64)


@pytest.mark.parametrize("row", [r for r in ROWS if r.moments], ids=label)
def test_samples_have_the_moments_they_should(row):
    d, _ = build(row, ingot, D)
    x = drawn(d)
    assert tuple(x.shape) == (MANY, *d.batch_shape, *d.event_shape)
    spread = (d.variance / MANY).sqrt().expand(x.shape[1:])
    off = ((x.mean(0) - d.mean) / spread).abs()
    assert float(off.max()) < 5, f"seed {SEED}: the mean is off by {off} standard errors"
    fourth = ((x - x.mean(0)) ** 4).mean(0)
    error = ((fourth - x.var(0) ** 2).clamp(min=1e-12) / MANY).sqrt() + 2e-4
    assert float(((x.var(0) - d.variance).abs() / error).max()) < 6, f"seed {SEED}: variance {x.var(0)}, not {d.variance}"


@pytest.mark.parametrize("row", [r for r in ROWS if r.entropy and r.moments], ids=label)
def test_entropy_is_the_mean_of_minus_log_prob(row):
    d, _ = build(row, ingot, D)
    logs = -d.log_prob(drawn(d, 20000))
    error = logs.std(0) / math.sqrt(20000)
    assert float((logs.mean(0) - d.entropy()).abs().max()) < 6 * float(error.max()) + 1e-9, f"seed {SEED}"


@pytest.mark.parametrize("row", SINGLE, ids=label)
def test_densities_integrate_to_one_and_to_the_cdf(row):
    d, _ = build(row, ingot, D)
    x = np.sort(drawn(d, 4000).numpy(), 0)
    low, high = x[100], x[-100]                     # inside the support, away from its ends
    t = np.linspace(0, 1, 20001)[:, None]
    grid = low + (high - low) * t
    density = np.exp(d.log_prob(ingot.tensor(grid)).numpy())
    mass = ((density[1:] + density[:-1]) / 2 * np.diff(grid, axis=0)).sum(0)
    share = ((drawn(d, MANY, SEED + 1).numpy() >= low) & (drawn(d, MANY, SEED + 1).numpy() <= high)).mean(0)
    np.testing.assert_allclose(mass, share, atol=0.012, err_msg=f"seed {SEED}")
    if row.cdf:
        between = (d.cdf(ingot.tensor(high)) - d.cdf(ingot.tensor(low))).numpy()
        np.testing.assert_allclose(mass, between, rtol=2e-3)


@pytest.mark.parametrize("row", [r for r in ROWS if r.icdf], ids=label)
def test_quantiles_invert_the_distribution_function(row):
    d, _ = build(row, ingot, D)
    p = ingot.tensor([[0.05, 0.3], [0.5, 0.99]], dtype=ingot.float64)
    np.testing.assert_allclose(d.cdf(d.icdf(p)).numpy(), p.numpy(), rtol=1e-6)


def test_discrete_probabilities_sum_to_one():
    for row in (r for r in ROWS if r.discrete):
        d, _ = build(row, ingot, D)
        if d.has_enumerate_support:
            total = d.log_prob(d.enumerate_support()).exp().sum(0)
            np.testing.assert_allclose(total.numpy(), 1, rtol=1e-6, err_msg=label(row))
    counts = ingot.arange(200.0, dtype=ingot.float64).unsqueeze(-1)
    for d in (D.Poisson(ingot.tensor([0.7, 14.0])), D.Geometric(ingot.tensor([0.3, 0.8])),
              D.NegativeBinomial(ingot.tensor([3.0, 5.0]), ingot.tensor([0.3, 0.6]))):
        np.testing.assert_allclose(d.log_prob(counts).exp().sum(0).numpy(), 1, rtol=1e-5, err_msg=repr(d))


@pytest.mark.parametrize("row", [r for r in SINGLE if r.moments], ids=label)
def test_rsample_carries_the_gradient_of_the_mean(row):
    d, params = build(row, ingot, D, grad=True)
    ingot.manual_seed(SEED)
    d.rsample((MANY,)).mean(0).sum().backward()
    found = {k: p.grad.numpy().copy() for k, p in params.items()}
    again, params = build(row, ingot, D, grad=True)
    again.mean.sum().backward()
    for name, p in params.items():
        want = np.zeros(p.shape) if p.grad is None else p.grad.numpy()
        np.testing.assert_allclose(found[name], want, atol=0.06, rtol=0.12, err_msg=f"seed {SEED}: {name}")


def test_divergences_are_means_of_log_ratios():
    t = ingot.tensor
    pairs = [
        (D.Normal(t([0.0, 1.0]), t([1.0, 0.5])), D.Normal(t([0.3, 0.0]), t([2.0, 1.0]))),
        (D.Gamma(t([2.0]), t([1.5])), D.Gamma(t([3.0]), t([1.0]))),
        (D.Beta(t([2.0]), t([3.0])), D.Beta(t([1.5]), t([1.0]))),
        (D.Laplace(t([0.0]), t([1.0])), D.Normal(t([0.5]), t([2.0]))),
        (D.Categorical(t([0.2, 0.3, 0.5])), D.Categorical(t([0.4, 0.4, 0.2]))),
        (D.Dirichlet(t([1.0, 2.0, 3.0])), D.Dirichlet(t([2.0, 2.0, 2.0]))),
        (D.Uniform(t([0.1]), t([0.7])), D.Beta(t([2.0]), t([2.0]))),
        (D.Gumbel(t([0.0]), t([1.0])), D.Normal(t([0.5]), t([2.0]))),
        (D.ContinuousBernoulli(t([0.3, 0.9])), D.ContinuousBernoulli(t([0.8, 0.5]))),
        (D.ContinuousBernoulli(t([0.3, 0.9])), D.Normal(t([0.5, 0.0]), t([2.0, 0.7]))),
        (D.Beta(t([2.0]), t([3.0])), D.ContinuousBernoulli(t([0.7]))),
        (D.Wishart(t(4.0), ingot.eye(2)), D.Wishart(t(6.0), ingot.tensor([[2.0, 0.5], [0.5, 1.0]]))),
        (D.MultivariateNormal(ingot.zeros(2), ingot.eye(2)), D.MultivariateNormal(ingot.ones(2), 2 * ingot.eye(2))),
    ]
    for p, q in pairs:
        ingot.manual_seed(SEED)
        x = p.sample((MANY,))
        ratio = p.log_prob(x) - q.log_prob(x)
        error = float((ratio.std(0) / math.sqrt(MANY)).max())
        off = float((ratio.mean(0) - D.kl_divergence(p, q)).abs().max())
        assert off < 6 * error, f"seed {SEED}: {p} || {q}: off by {off}, standard error {error}"


def test_infinite_divergences_have_no_gradients():
    scale, alpha = ingot.tensor([1.0, 2, 3], requires_grad=True), ingot.tensor([0.5, 2.0, 2.5], requires_grad=True)
    kl = D.kl_divergence(D.Pareto(scale, alpha), D.Normal(0.0, 1.0))
    kl.sum().backward()
    assert kl.isinf().tolist() == [True, True, False]
    for g in (scale.grad, alpha.grad):
        assert g[:2].tolist() == [0, 0] and g.isfinite().all() and g[2] != 0


def test_divergence_registry():
    class Odd(D.Normal):
        pass

    with pytest.raises(NotImplementedError, match="register_kl"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Dirichlet(ingot.ones(2)))
    plain = D.kl_divergence(Odd(0.0, 1.0), D.Normal(1.0, 1.0))
    assert float(plain) == 0.5

    @D.register_kl(Odd, D.Normal)
    def _(p, q):
        return "the nearer rule"

    assert D.kl_divergence(Odd(0.0, 1.0), D.Normal(1.0, 1.0)) == "the nearer rule"


# Shapes, checks, composition.


def test_shapes_of_batches_and_samples():
    d = D.Normal(ingot.zeros(3, 1), ingot.ones(4))
    assert d.batch_shape == (3, 4) and d.event_shape == () and d.sample((2, 5)).shape == (2, 5, 3, 4)
    assert D.Normal(0, 1).batch_shape == () and D.Normal(0.0, 1.0).sample().shape == ()
    wide = D.Normal(0.0, ingot.ones(4)).expand((3, 4))
    assert wide.loc.shape == (3, 4) and wide.log_prob(ingot.zeros(4)).shape == (3, 4)
    joined = D.Independent(d, 1)
    assert joined.batch_shape == (3,) and joined.event_shape == (4,) and joined.log_prob(joined.sample()).shape == (3,)
    assert joined.expand((2, 3)).sample().shape == (2, 3, 4)
    with pytest.raises(ValueError, match="reinterpreted_batch_ndims"):
        D.Independent(d, 3)
    assert "Independent(Normal(" in repr(joined)
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"


def test_parameters_and_values_are_checked():
    with pytest.raises(ValueError, match=r"Expected parameter scale .*Normal.* GreaterThan\(lower_bound=0.0\)"):
        D.Normal(ingot.zeros(2), ingot.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="one-dimensional"):
        D.Categorical(ingot.tensor(0.5))
    with pytest.raises(ValueError, match="not both"):
        D.Bernoulli(probs=0.5, logits=0.0)
    with pytest.raises(ValueError, match="within the support"):
        D.Beta(1.0, 1.0).log_prob(ingot.tensor(1.5))
    with pytest.raises(ValueError, match="right-most size"):
        D.Dirichlet(ingot.ones(3)).log_prob(ingot.ones(2) / 2)
    with pytest.raises(ValueError, match="broadcastable"):
        D.Normal(ingot.zeros(3), 1.0).log_prob(ingot.zeros(2))
    with pytest.raises(ValueError, match="low >= high"):
        D.Uniform(1.0, 0.0)
    with pytest.raises(ValueError, match="Exactly one"):
        D.MultivariateNormal(ingot.zeros(2), ingot.eye(2), scale_tril=ingot.eye(2))
    unchecked = D.Normal(0.0, -1.0, validate_args=False)
    assert unchecked.scale.item() == -1
    assert math.isnan(D.Normal(ingot.tensor(0.0), 1.0, validate_args=False).log_prob(ingot.tensor(math.nan)).item())
    for relaxed, size in ((D.RelaxedOneHotCategorical, (3,)), (D.RelaxedBernoulli, (3,))):
        outside = ingot.full(size, math.nan)
        assert relaxed(0.5, ingot.ones(3) / 3, validate_args=False).log_prob(outside).isnan().all()
        with pytest.raises(ValueError, match="within the support"):
            relaxed(0.5, ingot.ones(3) / 3).log_prob(outside)
    few, most = ingot.tensor([[1.0, 2.0], [3.0, 1.0]]), D.constraints.multinomial(3)
    assert most.check(few).tolist() == [True, False]


def test_default_checking_can_be_switched_off():
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale.item() == -1
    finally:
        D.Distribution.set_default_validate_args(True)


def test_von_mises_has_exact_bessel_functions_and_a_circular_variance():
    k = np.concatenate([np.logspace(-5, 2.8, 60), np.linspace(19, 21, 11)])
    t = ingot.tensor(k, requires_grad=True)
    first = log_bessel(0, t)
    np.testing.assert_allclose(first.detach().numpy(), np.log(np.i0(k)), rtol=1e-12, atol=1e-15)
    first.sum().backward()
    ratio = (log_bessel(1, t) - log_bessel(0, t)).exp()
    np.testing.assert_allclose(t.grad.numpy(), ratio.detach().numpy(), rtol=1e-10)
    d = D.VonMises(ingot.tensor([0.5, -3.0]), ingot.tensor([0.7, 4.0]))
    x = drawn(d)
    assert float(x.min()) >= -math.pi and float(x.max()) < math.pi
    length = (x - d.loc).cos().mean(0)
    assert float((1 - length - d.variance).abs().max()) < 0.02, f"seed {SEED}"
    assert float((x - d.loc).sin().mean(0).abs().max()) < 0.02, f"seed {SEED}"


@pytest.mark.parametrize("dim, concentration", [(2, 0.7), (3, 1.0), (4, 2.5)])
def test_lkj_samples_are_correlations_with_the_right_marginals(dim, concentration):
    d = D.LKJCholesky(dim, ingot.tensor(concentration, dtype=ingot.float64))
    lower = drawn(d, 20000)
    assert constraints.corr_cholesky.check(lower).all()
    r = (lower @ lower.mT).numpy()
    beta = concentration - 1 + dim / 2              # each correlation is 2 * Beta(beta, beta) - 1
    for i in range(dim):
        for j in range(i):
            assert abs(r[:, i, j].mean()) < 0.03, f"seed {SEED}"
            assert r[:, i, j].var() == pytest.approx(1 / (2 * beta + 1), rel=0.06), f"seed {SEED}"


def test_lkj_densities_integrate_to_one():
    d = D.LKJCholesky(2, ingot.tensor(2.5, dtype=ingot.float64))
    angle = np.linspace(1e-6, np.pi - 1e-6, 20001)
    zero, one = np.zeros_like(angle), np.ones_like(angle)
    factors = np.stack([np.stack([one, zero], -1), np.stack([np.cos(angle), np.sin(angle)], -1)], -2)
    density = np.exp(d.log_prob(ingot.tensor(factors)).numpy()) * np.sin(angle)      # by the entry below the diagonal
    assert ((density[1:] + density[:-1]) / 2 * np.diff(angle)).sum() == pytest.approx(1, rel=1e-5)


def test_wishart_samples_are_differentiable_and_its_arguments_are_checked():
    scale = ingot.tensor([[1.2, 0.0], [0.3, 0.8]], dtype=ingot.float64, requires_grad=True)
    ingot.manual_seed(SEED)
    D.Wishart(ingot.tensor(5.0, dtype=ingot.float64), scale_tril=scale).rsample((4,)).sum().backward()
    assert scale.grad is not None and float(scale.grad.abs().sum()) > 0
    eye = ingot.eye(3)
    assert D.Wishart(5, eye).mode[0, 0].item() == 1 and math.isnan(D.Wishart(3.5, eye).mode[0, 0].item())
    for wrong in (lambda: D.Wishart(2.0, eye), lambda: D.Wishart(5.0), lambda: D.Wishart(5.0, eye, eye),
                  lambda: D.LKJCholesky(1), lambda: D.VonMises(0.0, -1.0)):
        with pytest.raises(ValueError):
            wrong()


def test_constraints_of_stretches_have_a_transform():
    region = constraints.cat([constraints.positive, constraints.interval(-1.0, 2.0)], -1, [2, 1])
    for registry in (D.transform_to, D.biject_to):
        t = registry(region)
        y = t(ingot.tensor([[0.3, -1.2, 0.8]]))
        assert region.check(y).all() and t.with_cache(1).length == 3
        np.testing.assert_allclose(t.inv(y).numpy(), [[0.3, -1.2, 0.8]], rtol=1e-5)


def test_seeds_repeat_samples():
    d = D.Gamma(ingot.tensor([0.5, 3.0]), 1.0)
    assert (drawn(d, 5) == drawn(d, 5)).all() and not (drawn(d, 5) == drawn(d, 5, 8)).all()


def test_mixtures():
    mix = D.MixtureSameFamily(D.Categorical(ingot.tensor([0.3, 0.7])), D.Normal(ingot.tensor([-2.0, 3.0]),
                                                                                ingot.tensor([0.5, 1.0])))
    x = drawn(mix)
    assert abs(float(x.mean() - mix.mean)) < 0.06 and abs(float(x.var() - mix.variance)) < 0.15, f"seed {SEED}"
    want = 0.3 * math.exp(-2.0) / 0.5 + 0.7 * math.exp(-8.0)
    assert float(mix.log_prob(ingot.tensor(-1.0)).exp()) == pytest.approx(want / math.sqrt(2 * math.pi), rel=1e-4)
    assert float(mix.cdf(ingot.tensor(100.0))) == pytest.approx(1)
    vectors = D.MixtureSameFamily(D.Categorical(ingot.ones(4, 3)), D.Independent(D.Normal(ingot.zeros(4, 3, 2), 1.0), 1))
    assert vectors.sample((5,)).shape == (5, 4, 2) and vectors.log_prob(vectors.sample()).shape == (4,)
    with pytest.raises(ValueError, match="Categorical"):
        D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(ingot.zeros(2), 1.0))


def test_transformed_distributions():
    base = D.Normal(ingot.zeros(3), 1.0)
    flow = D.TransformedDistribution(base, [transforms.AffineTransform(1.0, -2.0), transforms.ExpTransform()])
    x = drawn(flow, 6)
    want = D.LogNormal(ingot.ones(3), 2.0).log_prob(x)
    np.testing.assert_allclose(flow.log_prob(x).numpy(), want.numpy(), rtol=1e-5)
    assert (flow.cdf(flow.icdf(ingot.tensor([0.1, 0.5, 0.9]))) - ingot.tensor([0.1, 0.5, 0.9])).abs().max() < 1e-5
    stick = D.TransformedDistribution(D.Normal(ingot.zeros(2, 3), 1.0), transforms.StickBreakingTransform())
    assert stick.batch_shape == (2,) and stick.event_shape == (4,) and stick.log_prob(stick.sample((5,))).shape == (5, 2)
    assert stick.expand((7, 2)).sample().shape == (7, 2, 4)


ONTO = [constraints.real, constraints.positive, constraints.greater_than(2.0), constraints.less_than(-1.0),
        constraints.unit_interval, constraints.interval(-2.0, 5.0), constraints.simplex, constraints.lower_cholesky,
        constraints.corr_cholesky, constraints.positive_definite]


NOT_ONE_TO_ONE = (constraints.lower_cholesky, constraints.positive_definite)


@pytest.mark.parametrize("constraint", ONTO, ids=repr)
def test_registered_transforms_lead_onto_their_constraints(constraint):
    shape = (5, 3, 3) if constraint in NOT_ONE_TO_ONE else (5, 3)
    ingot.manual_seed(SEED)
    x = ingot.randn(shape, dtype=ingot.float64)
    for registry in (D.transform_to,) if constraint in NOT_ONE_TO_ONE else (D.transform_to, D.biject_to):
        t = registry(constraint)
        y = t(x)
        assert constraint.check(y).all(), f"seed {SEED}: {y}"
        back = t(t.inv(y))
        np.testing.assert_allclose(back.numpy(), y.numpy(), rtol=1e-6, atol=1e-9)
        assert tuple(y.shape) == tuple(t.forward_shape(x.shape)) and tuple(t.inverse_shape(y.shape)) == tuple(x.shape)


@pytest.mark.parametrize("make", [transforms.ExpTransform, transforms.SigmoidTransform, transforms.TanhTransform,
                                  transforms.SoftplusTransform, lambda: transforms.AffineTransform(0.3, -1.7),
                                  lambda: transforms.StickBreakingTransform(), lambda: transforms.ExpTransform().inv])
def test_volume_changes_match_the_jacobian(make):
    t = make()
    x = ingot.tensor([0.4, 1.1, 0.7], dtype=ingot.float64)
    jacobian = ingot.autograd.functional.jacobian(lambda v: t(v)[:3], x)
    volume = t.log_abs_det_jacobian(x, t(x))
    want = ingot.linalg.slogdet(jacobian)[1]
    assert float(volume.sum()) == pytest.approx(float(want), rel=1e-7)


def test_cached_transforms_invert_to_the_very_argument():
    t = transforms.ExpTransform(cache_size=1)
    x = ingot.tensor([1.0, 2.0])
    assert t.inv(t(x)) is x and t.inv.inv is t
    assert transforms.ExpTransform() == transforms.ExpTransform() and transforms.AffineTransform(0,
                                                                                                 1) != transforms.ExpTransform()


def test_constraints_of_dependent_parameters():
    assert constraints.is_dependent(constraints.dependent) and not constraints.is_dependent(constraints.real)
    with pytest.raises(ValueError, match="dependent"):
        constraints.dependent.check(ingot.zeros(1))
    joined = constraints.cat([constraints.positive, constraints.real], dim=-1, lengths=[1, 2])
    assert joined.check(ingot.tensor([1.0, -1.0, -2.0])).tolist() == [True, True, True]
    stacked = constraints.stack([constraints.positive, constraints.real], dim=0)
    assert stacked.check(ingot.tensor([-1.0, -1.0])).tolist() == [False, True]
    rows = constraints.independent(constraints.positive, 1)
    assert rows.check(ingot.tensor([[1.0, 2.0], [1.0, -2.0]])).tolist() == [True, False]
    assert not constraints.simplex.check(ingot.tensor([0.5, 0.6])).item()


def test_policy_gradients_work_in_a_trace():
    """Sample an action and its log-probability, as in REINFORCE, recorded once and replayed."""
    def run(wrap):
        ingot.manual_seed(SEED)
        logits = ingot.zeros(3, requires_grad=True)

        def step(reward):
            d = D.Categorical(logits=logits, validate_args=False)
            with ingot.no_grad():
                action = ingot.argmax(d.logits + D.Gumbel(0.0, 1.0, validate_args=False).sample((3,)))
            loss = -d.log_prob(action) * reward[action]
            (g,) = ingot.autograd.grad(loss, logits)
            with ingot.no_grad():
                logits.sub_(0.1 * g)
            return loss

        f = wrap(step)
        reward = ingot.tensor([0.0, 0.2, 1.0])
        return [round(f(reward).item(), 6) for _ in range(20)], logits.tolist()

    eager, traced = run(lambda f: f), run(ingot.jit.trace)
    assert eager[0] == traced[0]
    np.testing.assert_allclose(eager[1], traced[1], rtol=1e-5)
    assert eager[1][2] > eager[1][0]


class Diagonal(D.Independent):
    """User class that expands as PyTorch's classes do."""

    def __init__(self, loc, scale):
        super().__init__(D.Normal(loc, scale), 1)

    def expand(self, batch_shape, new=None):
        return super().expand(batch_shape, self._get_checked_instance(Diagonal, new))


class Renamed(Diagonal):
    def __init__(self, size):
        super().__init__(ingot.zeros(size), ingot.ones(size))


def test_classes_of_the_users_expand():
    wide = Diagonal(ingot.zeros(3), ingot.ones(3)).expand((2,))
    assert type(wide) is Diagonal and wide.batch_shape == (2,) and wide.event_shape == (3,)
    assert wide.log_prob(ingot.zeros(2, 3)).shape == (2,) and wide.rsample().shape == (2, 3)
    with pytest.raises(NotImplementedError, match="define expand"):
        Renamed(3).expand((2,))


class ByHalves(D.Gamma):
    """User class with own parameters, which the family's expand does not know."""

    def __init__(self, half):
        super().__init__(half, half)
        self.half = D.Gamma(half, half)


class Unbounded(D.Normal):
    """User class with the family's parameters."""


def test_families_expand_their_parameters():
    assert type(Unbounded(0.0, 1.0).expand((2,))) is Unbounded and D.Chi2(ingot.ones(3)).expand((2, 3)).sample().shape == (2, 3)
    with pytest.raises(NotImplementedError, match="ByHalves has an __init__ of its own"):
        ByHalves(ingot.ones(3)).expand((2, 3))


def test_bases_of_the_right_shape_need_not_expand():
    base = ByHalves(ingot.ones(3))
    assert D.TransformedDistribution(base, transforms.ExpTransform()).base_dist is base


@pytest.mark.parametrize("half", [D.HalfNormal(ingot.ones(2)), D.HalfCauchy(ingot.ones(2))], ids=lambda d: type(d).__name__)
def test_halves_are_transformed(half):
    assert isinstance(half, D.TransformedDistribution) and half.expand((3, 2)).sample().min() >= 0
    assert [type(t) for t in half.transforms] == [transforms.AbsTransform]


class Rooted(D.MultivariateNormal):
    """User class with its own factor, as in libraries."""

    def __init__(self, loc, factor):
        self.loc, self.factor = loc, factor
        D.Distribution.__init__(self, loc.shape[:-1], loc.shape[-1:], validate_args=False)

    _unbroadcasted_scale_tril = property(lambda self: self.factor)


def test_normal_vectors_take_their_factor_from_one_attribute():
    loc, factor = ingot.zeros(2, 3), ingot.tensor([[1.0, 0, 0], [1, 2, 0], [0, 1, 1]])
    own, plain = Rooted(loc, factor), D.MultivariateNormal(loc, scale_tril=factor)
    assert own.log_prob(loc + 1).equal(plain.log_prob(loc + 1)) and own.covariance_matrix.equal(plain.covariance_matrix)
    assert plain._unbroadcasted_scale_tril.shape == (2, 3, 3)


def test_other_bases_are_initialised():
    class Scaled(D.Transform, nn.Module):
        bijective, domain, codomain = True, D.constraints.real, D.constraints.real

        def __init__(self):
            super().__init__(cache_size=1)
            self.scale = nn.Parameter(ingot.full((), 3.0))

        def _call(self, x):
            return self.scale * x

    class Learned(D.Distribution, nn.Module):
        arg_constraints: dict = {}

        def __init__(self):
            super().__init__(validate_args=False)
            self.scale = nn.Parameter(ingot.ones(2))

    transform = Scaled()
    assert [p.item() for p in transform.parameters()] == [3] and transform(ingot.ones(2)).tolist() == [3, 3]
    assert len(list(Learned().parameters())) == 1


ZERO = ingot.zeros(3, dtype=ingot.float64, requires_grad=True)
SMOOTH = {
    "Bernoulli": lambda x: D.Bernoulli(logits=x).log_prob(ingot.tensor([0.0, 1.0, 1.0])),
    "Bernoulli's entropy": lambda x: D.Bernoulli(logits=x).entropy(),
    "Binomial": lambda x: D.Binomial(4, logits=x).log_prob(ingot.tensor([0.0, 1.0, 4.0])),
    "Geometric": lambda x: D.Geometric(logits=x).entropy(),
    "NegativeBinomial": lambda x: D.NegativeBinomial(3, logits=x).log_prob(ingot.tensor([0.0, 1.0, 4.0])),
    "a divergence": lambda x: D.kl_divergence(D.Bernoulli(logits=x), D.Bernoulli(logits=2 * x + 1)),
    "sigmoid": lambda x: transforms.SigmoidTransform().log_abs_det_jacobian(x, x.sigmoid()),
    "softplus": lambda x: transforms.SoftplusTransform()(x),
    "tanh": lambda x: transforms.TanhTransform().log_abs_det_jacobian(x, x.tanh()),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_logits_of_zero_have_the_gradients_of_smooth_functions(name):
    assert ingot.autograd.gradcheck(SMOOTH[name], ZERO)
