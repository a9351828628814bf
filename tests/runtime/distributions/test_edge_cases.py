"""Distributions at their edges: concentrations near 0, empty counts, errors of mixtures and transforms."""

import math

import pytest

import ingot
from ingot import distributions as D
from ingot.distributions import constraints, transforms
from ingot.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

SEED = 11
FLOATS = (ingot.float32, ingot.float64)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("concentration", [0.001, 0.02, 0.3, 2.0])
def test_shares_of_small_concentrations_lie_at_the_corners(concentration, k, dtype):
    ingot.manual_seed(SEED)
    a = ingot.full((k,), concentration, dtype=dtype)
    x = D.Dirichlet(a).sample((20000,))
    assert x.dtype is dtype and (x > 0).all() and (x < 1).all(), f"seed {SEED}"
    want = (1 / k) * (1 - 1 / k) / (k * concentration + 1)
    variance = x.double().var(0)
    assert ((variance - want).abs() < 0.05 * want + 1e-3).all(), f"seed {SEED}: {variance}, not {want}"
    if k == 2:
        b = D.Beta(a[0], a[1]).sample((20000,))
        assert float(b.double().var()) == pytest.approx(want, rel=0.05) and D.Beta(a[0], a[1]).log_prob(b).isfinite().all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("concentration", [0.05, 0.5, 3.0])
def test_shares_move_with_their_concentrations_as_their_means_do(concentration, dtype):
    ingot.manual_seed(SEED)
    a = ingot.tensor([concentration, 2 * concentration], dtype=dtype, requires_grad=True)
    count = 200000
    x = D.Dirichlet(a).rsample((count,))[:, 0]
    (found,) = ingot.autograd.grad(x.mean(), a)
    total = 3 * concentration
    want = ingot.tensor([2 * concentration / total ** 2, -concentration / total ** 2], dtype=dtype)
    assert (found - want).abs().max() < 0.04 * want.abs().max(), f"seed {SEED}: {found}, not {want}"


def test_nan_values_have_nan_densities():
    for concentration in (-0.5, 0.0, 0.4):
        d = D.GeneralizedPareto(0.0, 1.0, concentration, validate_args=False)
        assert d.log_prob(ingot.tensor(float("nan"))).isnan() and d.log_prob(ingot.tensor(1.0)).isfinite()
    assert D.GeneralizedPareto(0.0, 1.0, -0.5, validate_args=False).log_prob(ingot.tensor(3.0)) == -float("inf")


@pytest.mark.parametrize("probs", [0.0, -0.5, 1.5, float("nan"), [0.5, 0.0]], ids=str)
def test_geometric_needs_a_chance_of_success(probs):
    with pytest.raises(ValueError, match=r"probabilities|probs"):
        D.Geometric(ingot.tensor(probs))
    assert D.Geometric(ingot.tensor(1.0)).mean == 0


def test_of_no_trials_come_no_counts():
    ingot.manual_seed(SEED)
    x = D.NegativeBinomial(ingot.tensor([0.0, 3.0]), ingot.tensor(0.6)).sample((2000,))
    assert not x[:, 0].any() and float(x[:, 1].mean()) == pytest.approx(4.5, rel=0.1), f"seed {SEED}"


@pytest.mark.parametrize("d", [D.HalfCauchy(ingot.tensor([1.0, 2.0]), validate_args=False),
                               D.HalfNormal(ingot.tensor([1.0, 2.0]), validate_args=False)], ids=repr)
def test_unchecked_densities_take_numbers(d):
    for value in (2, 0.5, -1):
        assert ingot.equal(d.log_prob(value), d.log_prob(ingot.tensor([value, value], dtype=ingot.float32)))


FAMILIES = {
    "Gumbel": {"loc": 0.5, "scale": 1.5}, "Pareto": {"scale": 1.0, "alpha": 3.0},
    "Weibull": {"scale": 1.0, "concentration": 2.0},
    "Kumaraswamy": {"concentration1": 2.0, "concentration0": 3.0}, "Normal": {"loc": 0.5, "scale": 1.5},
    "GeneralizedPareto": {"loc": 0.0, "scale": 1.0, "concentration": 0.2}, "ContinuousBernoulli": {"probs": 0.3},
    "LogNormal": {"loc": 0.5, "scale": 1.5}, "HalfNormal": {"scale": 2.0},
    "Beta": {"concentration1": 2.0, "concentration0": 3.0},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_larger_batches_keep_the_users_class(name):
    given = {k: ingot.tensor([v, v]) for k, v in FAMILIES[name].items()}
    kind = type("Own", (getattr(D, name),), {})
    d = kind(**given)
    wide = d.expand((3, 2))
    assert type(wide) is kind and wide.batch_shape == (3, 2) and wide.sample().shape == (3, 2)
    x = ingot.full((3, 2), 1.25 if name not in ("Kumaraswamy", "ContinuousBernoulli", "Beta") else 0.25)
    ingot.testing.assert_close(wide.log_prob(x), d.log_prob(x))
    ingot.testing.assert_close(wide.mean, d.mean.expand(3, 2))

    class Needing(getattr(D, name)):
        def __init__(self, more, **options):
            super().__init__(**options)

    with pytest.raises(NotImplementedError, match="expand"):
        Needing(1, **given).expand((3, 2))


def test_probabilities_above_one_are_refused_when_validating():
    for wrong in ([1.1, 0.2], [-0.5, 0.2], [1.00001], [float("nan")]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            D.ContinuousBernoulli(ingot.tensor(wrong), validate_args=True)
    assert D.ContinuousBernoulli(ingot.tensor([0.0, 1.0]), validate_args=True).batch_shape == (2,)


@pytest.mark.parametrize("d", [D.Gamma(ingot.tensor([1.0, 2.0]), 0.5), D.Chi2(ingot.tensor([2.0, 5.0]))], ids=repr)
def test_densities_take_numbers(d):
    for value in (2, 0.5):
        assert ingot.equal(d.log_prob(value), d.log_prob(ingot.tensor([value, value], dtype=ingot.float32)))
    with pytest.raises(ValueError, match="support"):
        d.log_prob(-1.0)


def test_mixtures_support_values_of_all_components():
    bounds = ingot.tensor([0.0, -1.0]), ingot.tensor([1.0, 3.0])
    mix = D.MixtureSameFamily(D.Categorical(ingot.ones(2)), D.Uniform(*bounds))
    assert isinstance(mix.support, constraints.MixtureSameFamilyConstraint) and mix.support.event_dim == 0
    for value in ([0.5], [0.1, 0.9], [0.1, 0.2, 0.3], [[0.1], [0.2]]):
        want = ingot.full_like(ingot.tensor(value), 0.5 * 1 + 0.5 * 0.25).log()
        ingot.testing.assert_close(mix.log_prob(ingot.tensor(value)), want)
    for value in ([0.5, 2.0], [-0.5, 0.5], [float("nan")]):
        with pytest.raises(ValueError, match="support"):
            mix.log_prob(ingot.tensor(value))
    vectors = D.MixtureSameFamily(D.Categorical(ingot.ones(4, 3)), D.Dirichlet(ingot.ones(4, 3, 2)))
    assert vectors.support.event_dim == 1 and not vectors.support.is_discrete
    assert vectors.support.check(vectors.sample((5,))).shape == (5, 4)


ONTO = ("lower_cholesky", "positive_definite", "positive_semidefinite")


@pytest.mark.parametrize("name", ONTO)
def test_transforms_that_are_only_onto_are_none_of_one_to_one(name):
    constraint = getattr(constraints, name)
    assert not D.transform_to(constraint).bijective
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        D.biject_to(constraint)


@pytest.mark.parametrize("constraint", [constraints.real, constraints.positive, constraints.simplex, constraints.corr_cholesky,
                                        constraints.unit_interval, constraints.less_than(2.0)], ids=repr)
def test_one_to_one_transforms_say_so(constraint):
    assert D.biject_to(constraint).bijective


@pytest.mark.parametrize("n", [1, 2, 4])
def test_triangles_as_vectors_and_back(n):
    x = ingot.arange(2.0 * n * n).reshape(2, n, n) + 1
    for diag in range(-n, n):
        vec = tril_matrix_to_vec(x, diag)
        assert vec.shape == (2, sum(max(0, min(n, i + diag + 1)) for i in range(n)))
        assert ingot.equal(vec_to_tril_matrix(vec, diag), x.tril(diag))
    for diag in (-n - 1, n):
        with pytest.raises(ValueError, match="diag"):
            tril_matrix_to_vec(x, diag)


def test_non_transforms_are_refused():
    for wrong in ([1], lambda x: x, None, [transforms.ExpTransform(), "exp"]):
        with pytest.raises(ValueError, match="Transform"):
            D.TransformedDistribution(D.Normal(0.0, 1.0), wrong)


@pytest.mark.parametrize("rows", [[[2.0, 2.0], [2.0, 2.0]], [[4.0, 2.0], [2.0, 1.0]], [[3.0, 1.0], [1.0, 1 / 3]],
                                  [[1e-200, 0.0], [0.0, 1.0]]], ids=str)
def test_matrices_are_positive_definite_if_they_have_a_cholesky_factor(rows):
    matrix = ingot.tensor(rows, dtype=ingot.float64)
    assert bool(constraints.positive_definite.check(matrix)) == (int(ingot.linalg.cholesky_ex(matrix).info) == 0)


def test_rows_of_correlation_factors_have_their_length_within_ten_roundings():
    factor, eps = ingot.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=ingot.float64), ingot.finfo(ingot.float64).eps
    off = [constraints.corr_cholesky.check(factor * (1 + n * eps)) for n in (0, 18, 22)]
    assert [bool(v) for v in off] == [True, True, False]


def test_values_of_too_few_dimensions_are_refused():
    pair = transforms.IndependentTransform(transforms.ExpTransform(), 2)
    for value in (ingot.ones(3), ingot.ones(())):
        for call in (pair, pair.inv, constraints.independent(constraints.positive, 2).check):
            with pytest.raises(ValueError, match="dimensions"):
                call(value)


def test_parts_and_their_transforms_are_as_many():
    two, x = [transforms.ExpTransform(), transforms.TanhTransform()], ingot.ones(3, 2) / 2
    stack = transforms.StackTransform(two)
    for call in (stack, stack.inv, lambda v: stack.log_abs_det_jacobian(v, v)):
        with pytest.raises(ValueError, match="slices"):
            call(x)
    once = transforms.TanhTransform(cache_size=1)
    assert transforms.StackTransform([once]).transforms[0] is once
    for lengths in ([3], [1, 1, 1]):
        with pytest.raises(ValueError, match="lengths"):
            transforms.CatTransform(two, lengths=lengths)
        with pytest.raises(ValueError, match="lengths"):
            constraints.cat([constraints.real, constraints.positive], lengths=lengths)


def test_moments_that_do_not_exist_have_no_gradients():
    few = ingot.tensor([1.0, 2.0, 4.0], dtype=ingot.float64)
    for make in (lambda a: D.StudentT(a, 0.5, 1.5).variance, lambda a: D.FisherSnedecor(3.0, a).mean,
                 lambda a: D.FisherSnedecor(3.0, a).variance, lambda a: D.GeneralizedPareto(0.0, 1.5, a / 4).variance,
                 lambda a: D.GeneralizedPareto(0.0, 1.5, a / 2).mean):
        a = few.clone().requires_grad_()
        moment = make(a)
        (found,) = ingot.autograd.grad(moment.sum(), a)
        assert found.isfinite().all() and not found[~moment.isfinite()].any()


def test_bounded_excesses_have_a_support_with_two_ends():
    d = D.GeneralizedPareto(ingot.tensor(0.5), ingot.tensor(1.5), ingot.tensor([-0.5, 0.25]))
    assert d.support.check(ingot.tensor([3.5, 3.5])).tolist() == [True, True]
    assert d.support.check(ingot.tensor([3.625, 3.625])).tolist() == [False, True]
    assert not d.support.check(ingot.tensor(0.25)).any()


@pytest.mark.parametrize("p_ends", [(0.0, 1.0), (-1.0, 2.0), (0.5, 0.75), (0.0, 2.0), (-1.0, 0.5)], ids=str)
@pytest.mark.parametrize("q_ends", [(0.0, 1.0), (-1.0, 2.0), (0.5, 0.75), (0.0, 2.0), (-1.0, 0.5)], ids=str)
def test_one_interval_tells_of_another_only_what_lies_in_it(p_ends, q_ends):
    (low, high), (q_low, q_high) = p_ends, q_ends
    want = math.log((q_high - q_low) / (high - low)) if q_low <= low and high <= q_high else math.inf
    assert D.kl_divergence(D.Uniform(low, high), D.Uniform(q_low, q_high)).item() == pytest.approx(want)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("chance", [0.0, 0.1, 0.25, 0.4, 0.77, 0.95, 1.0])
def test_the_mode_of_a_binomial_is_its_likeliest_count(count, chance):
    mode = D.Binomial(count, ingot.tensor(chance, dtype=ingot.float64)).mode
    chances = [math.comb(count, k) * chance ** k * (1 - chance) ** (count - k) for k in range(count + 1)]
    assert 0 <= mode.item() <= count and chances[int(mode.item())] == pytest.approx(max(chances), rel=1e-12)


# Gradients of moments of samples, against those of the moments.
SAMPLED = {"StudentT": (lambda df, scale: D.StudentT(df, 0.0, scale), (9.0, 1.5)), "Gamma": (D.Gamma, (2.5, 1.5)),
            "Beta": (D.Beta, (2.5, 1.5)), "Normal": (lambda loc, scale: D.Normal(loc, scale), (0.5, 1.5)),
            "Laplace": (D.Laplace, (0.5, 1.5)), "Uniform": (D.Uniform, (0.5, 2.0)), "Gumbel": (D.Gumbel, (0.5, 1.5)),
            "FisherSnedecor": (D.FisherSnedecor, (8.0, 14.0)), "LogNormal": (D.LogNormal, (0.1, 0.4)),
            "Weibull": (D.Weibull, (1.5, 2.5)), "Kumaraswamy": (D.Kumaraswamy, (2.5, 1.5))}


@pytest.mark.parametrize("name", SAMPLED)
def test_the_variance_of_samples_moves_with_each_parameter(name):
    make, values = SAMPLED[name]
    ingot.manual_seed(SEED)
    parameters = [ingot.tensor(v, dtype=ingot.float64, requires_grad=True) for v in values]
    family = make(*parameters)
    want = ingot.autograd.grad(family.variance, parameters, allow_unused=True, materialize_grads=True)
    x = family.rsample((400_000,))
    found = ingot.autograd.grad(x.var(), parameters, allow_unused=True, materialize_grads=True)
    for a, b in zip(found, want):
        assert a.item() == pytest.approx(b.item(), rel=0.1, abs=0.02), f"seed {SEED}"
