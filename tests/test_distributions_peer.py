"""Distributions beside another framework's: densities, moments, quantiles, divergences, gradients."""

import numpy as np
import pytest

import ingot
from distribution_table import ROWS, build, label
from ingot import distributions as mine

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer


def close(ours, theirs, what, rtol=1e-9):
    ours, theirs = np.asarray(ours.detach().numpy()), theirs.detach().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-10, err_msg=what)
    assert ours.shape == theirs.shape, what


PEERS = [r for r in ROWS if r.family != "GeneralizedPareto"]      # torch's takes float32 only


def tolerance(row, usual):
    """The other framework's Bessel functions are polynomials for float32."""
    return 2e-5 if row.family == "VonMises" else usual


@pytest.mark.parametrize("row", PEERS, ids=label)
def test_densities_and_their_gradients(row):
    d, p = build(row, ingot, mine, grad=True)
    t, q = build(row, torch, torch.distributions, grad=True)
    for v in row.values:
        kind = (ingot.int64, torch.int64) if row.family == "Categorical" else (ingot.float64, torch.float64)
        ours, theirs = d.log_prob(ingot.tensor(v, dtype=kind[0])), t.log_prob(torch.tensor(v, dtype=kind[1]))
        close(ours, theirs, "log_prob", tolerance(row, 1e-9))
    ours.sum().backward()
    theirs.sum().backward()
    for name in p:
        if q[name].grad is not None:
            mine_, other = p[name].grad, q[name].grad
            if name == "scale_tril":        # above the diagonal there is nothing to choose
                mine_, other = mine_.tril(), other.tril()
            close(mine_, other, f"gradient for {name}", tolerance(row, 1e-7))


@pytest.mark.filterwarnings("ignore:Singular sample")
@pytest.mark.parametrize("row", PEERS, ids=label)
def test_moments_entropy_and_quantiles(row):
    d, _ = build(row, ingot, mine)
    t, _ = build(row, torch, torch.distributions)
    assert tuple(d.batch_shape) == tuple(t.batch_shape) and tuple(d.event_shape) == tuple(t.event_shape)
    if row.moments:
        close(d.mean, t.mean, "mean")
        close(d.variance, t.variance, "variance")
        close(d.stddev, t.stddev, "stddev")
    try:
        mode = t.mode
    except NotImplementedError:
        mode = None
    if mode is not None and row.family != "Kumaraswamy":        # there torch's takes the logarithm of a negative number
        close(d.mode, mode, "mode")
    if row.entropy:
        close(d.entropy(), t.entropy(), "entropy", 1e-7)
    for v in row.values if row.cdf else ():
        close(d.cdf(ingot.tensor(v, dtype=ingot.float64)), t.cdf(torch.tensor(v, dtype=torch.float64)), "cdf", 1e-7)
    if row.icdf:
        u = [[0.1, 0.9], [0.4, 0.6]]
        close(d.icdf(ingot.tensor(u, dtype=ingot.float64)), t.icdf(torch.tensor(u, dtype=torch.float64)), "icdf", 1e-7)
    assert d.has_rsample == t.has_rsample
    wide = d.expand((3, *d.batch_shape))
    assert tuple(wide.sample((2,)).shape) == tuple(t.expand((3, *t.batch_shape)).sample((2,)).shape)
    close(wide.log_prob(ingot.tensor(row.values[0], dtype=ingot.float64)),
          t.expand((3, *t.batch_shape)).log_prob(torch.tensor(row.values[0], dtype=torch.float64)), "expanded",
          tolerance(row, 1e-9))
    if t.has_enumerate_support:
        close(d.enumerate_support().to(ingot.float64), t.enumerate_support().to(torch.float64), "support")


def pairs():
    # the other framework's divergence of Wishart distributions is not the mean of its own log ratios
    rows = [r for r in ROWS if "Relaxed" not in r.family and r.family != "Wishart"]
    return [(p, q) for p in rows for q in rows if len(_shape(p)) == len(_shape(q))]


def _shape(row):
    d, _ = build(row, ingot, mine)
    return d.event_shape


def test_divergences():
    compared = missing = 0
    for p, q in pairs():
        theirs = [build(r, torch, torch.distributions)[0] for r in (p, q)]
        try:
            want = torch.distributions.kl_divergence(*theirs)
        except (NotImplementedError, AttributeError, RuntimeError):
            continue
        what = f"{label(p)} || {label(q)}"
        try:
            got = mine.kl_divergence(*(build(r, ingot, mine)[0] for r in (p, q)))
        except NotImplementedError:
            missing += 1
            print("missing", what)
            continue
        close(got, want, what, 1e-7)
        compared += 1
    assert compared > 100 and missing == 0, (compared, missing)


def test_transforms():
    x = [[0.3, -1.2, 0.8]]
    made = {
        "ExpTransform": lambda d, lib: d.ExpTransform(),
        "PowerTransform": lambda d, lib: d.ComposeTransform([d.ExpTransform(), d.PowerTransform(lib.tensor(1.5).double())]),
        "SigmoidTransform": lambda d, lib: d.SigmoidTransform(),
        "TanhTransform": lambda d, lib: d.TanhTransform(),
        "SoftplusTransform": lambda d, lib: d.transforms.SoftplusTransform(),
        "AffineTransform": lambda d, lib: d.AffineTransform(0.5, -2.0),
        "event affine": lambda d, lib: d.AffineTransform(0.5, -2.0, event_dim=1),
        "StickBreakingTransform": lambda d, lib: d.StickBreakingTransform(),
        "CorrCholeskyTransform": lambda d, lib: d.CorrCholeskyTransform(),
        "IndependentTransform": lambda d, lib: d.IndependentTransform(d.ExpTransform(), 1),
        "CatTransform": lambda d, lib: d.CatTransform([d.ExpTransform(), d.AffineTransform(0.5, -2.0)], -1, [2, 1]),
        "cat of vectors": lambda d, lib: d.CatTransform([d.AffineTransform(0.5, 3.0, event_dim=1), d.ExpTransform()], -1,
                                                        [2, 1]),
        "ReshapeTransform": lambda d, lib: d.ReshapeTransform((3,), (3, 1)),
        "mixed": lambda d, lib: d.ComposeTransform([d.AffineTransform(0.1, 2.0), d.StickBreakingTransform()]),
    }
    for name, make in made.items():
        ours, theirs = make(mine, ingot), make(torch.distributions, torch)
        a, b = ingot.tensor(x, dtype=ingot.float64), torch.tensor(x, dtype=torch.float64)
        y, z = ours(a), theirs(b)
        close(y, z, name)
        close(ours.inv(y), b, f"{name} inverted", 1e-6)
        close(ours.log_abs_det_jacobian(a, y), theirs.log_abs_det_jacobian(b, z), f"{name} volume", 1e-7)
        assert tuple(ours.forward_shape((5, 3))) == tuple(theirs.forward_shape((5, 3))), name
        assert ours.domain.event_dim == theirs.domain.event_dim and ours.codomain.event_dim == theirs.codomain.event_dim, name
