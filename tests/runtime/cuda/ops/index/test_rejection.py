"""Random numbers by rejection on the mock driver: the bits of the CPU for the same seed, whoever is drawn beside, eager, traced
and in captured graphs; what is refused; nothing is done on the host.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.errors import ArgumentError
from ingot.runtime.api.random.random_tensors import standard_gamma


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(alone=True) as mock:
        yield mock


def bits(t):
    return t.detach().cpu().to(ingot.float64).numpy().tobytes()


def same(draw, *arrays, times=1):
    """Compare draws after one seed on the CPU and on the device."""
    found = []
    for device in ("cpu", "cuda"):
        ingot.manual_seed(7)
        operands = [ingot.tensor(a, device=device) for a in arrays]
        drawn = [draw(*operands) for _ in range(times)]
        assert all(t.device.type == device for t in drawn)
        found.append([(t.dtype, t.shape, bits(t)) for t in drawn])
    assert found[0] == found[1]


RNG = np.random.default_rng(0)
RATES = np.concatenate([[0, 1e-3, 0.5, 9.999, 10, 10.001, 300, 1e8], RNG.uniform(0, 30, 301)])
CONCENTRATIONS = np.concatenate([[1e-3, 0.01, 0.5, 1, 1.5, 1e3, 1e6], RNG.uniform(0.05, 9, 301)])
COUNTS = np.concatenate([[0, 5, 5, 1, 1000, 3000, 7], RNG.integers(0, 60, 301)]).astype(float)
CHANCES = np.concatenate([[0.3, 0, 1, 0.5, 1e-3, 0.5, 1e-30], RNG.uniform(0, 1, 301)])
DRAWS = {"poisson": (ingot.poisson, RATES), "standard_gamma": (standard_gamma, CONCENTRATIONS),
         "binomial": (ingot.binomial, COUNTS, CHANCES)}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_of_the_cpu(name, kind):
    draw, *arrays = DRAWS[name]
    wanted = getattr(ingot, kind)
    few = [np.minimum(a, 60) for a in arrays]          # whole counts in every dtype
    same(lambda *operands: draw(*[t.to(wanted) for t in operands]), *(few if kind.endswith("16") else arrays), times=2)
    if kind == "float32":
        same(lambda *operands: draw(*[t[:300].reshape(4, 75).t()[1::2] for t in operands]), *arrays)
        same(lambda *operands: draw(*[t[9] for t in operands]), *arrays)
        same(lambda *operands: draw(*[t[:0].reshape(0, 3) for t in operands]), *arrays)


@pytest.mark.parametrize("name", DRAWS)
def test_elements_have_streams_of_their_own(name):
    draw, *arrays = DRAWS[name]
    operands = [ingot.tensor(a, device="cuda") for a in arrays]
    ingot.manual_seed(3)
    whole = draw(*operands)
    for n in (1, 8, 200):
        ingot.manual_seed(3)
        assert bits(draw(*[t[:n] for t in operands])) == bits(whole[:n])


@pytest.mark.parametrize("name", DRAWS)
def test_traced_draws_are_those_of_eager_code(name):
    draw, *arrays = DRAWS[name]
    operands = [ingot.tensor(a[:50].astype(np.float32), device="cuda") for a in arrays]
    ingot.manual_seed(5)
    want = [bits(draw(*operands) * 2) for _ in range(4)]
    ingot.manual_seed(5)
    traced = jit.trace(lambda *operands: draw(*operands) * 2)
    assert [bits(traced(*operands)) for _ in range(4)] == want and len(set(want)) == 4


@pytest.mark.parametrize("name", DRAWS)
def test_captured_graphs_draw_anew(name):
    draw, *arrays = DRAWS[name]
    operands = [ingot.tensor(a[:50].astype(np.float32), device="cuda") for a in arrays]
    ingot.manual_seed(5)
    want = [bits(draw(*operands)) for _ in range(3)]
    ingot.manual_seed(5)
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        drawn = draw(*operands)
    for w in want:
        graph.replay()
        assert bits(drawn) == w


def test_gradients_of_concentrations():
    found = []
    for device in ("cpu", "cuda"):
        ingot.manual_seed(2)
        a = ingot.tensor(CONCENTRATIONS[2:60].astype(np.float32), device=device).requires_grad_()
        (standard_gamma(a) * 3).sum().backward()
        found.append(a.grad.cpu().numpy())
    np.testing.assert_array_equal(*found)


D = ingot.distributions
FAMILIES = {"Gamma": lambda v: D.Gamma(v, v + 1), "Beta": lambda v: D.Beta(v, v + 0.5), "Dirichlet": D.Dirichlet,
            "StudentT": lambda v: D.StudentT(v + 2), "Chi2": D.Chi2, "Poisson": D.Poisson,
            "NegativeBinomial": lambda v: D.NegativeBinomial(v, v / 40), "Binomial": lambda v: D.Binomial(9, v / 40),
            "FisherSnedecor": lambda v: D.FisherSnedecor(v, v), "InverseGamma": lambda v: D.InverseGamma(v, v)}


@pytest.mark.parametrize("name", FAMILIES)
def test_distributions_sample_on_the_device(name):
    found = []
    for device in ("cpu", "cuda"):
        ingot.manual_seed(4)
        drawn = FAMILIES[name](ingot.tensor(CONCENTRATIONS[7:27].astype(np.float32).reshape(4, 5), device=device)).sample((3,))
        assert drawn.device.type == device
        found.append(drawn.cpu().numpy())
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)       # (exponentials of special units stand beside some)


WRONG = [(ingot.poisson, [[1.0, -0.5]]), (ingot.poisson, [[np.nan]]), (standard_gamma, [[0.0, 2.0]]),
         (standard_gamma, [[np.nan]]), (ingot.binomial, [[1.5], [0.5]]), (ingot.binomial, [[-1.0], [0.5]]),
         (ingot.binomial, [[np.inf], [0.5]]), (ingot.binomial, [[2.0], [1.1]]), (ingot.binomial, [[2.0], [np.nan]])]


@pytest.mark.parametrize("draw, operands", WRONG)
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_wrong_parameters_are_raised_when_values_are_read(draw, operands, kind):
    with pytest.raises(ArgumentError) as at_once:
        draw(*[ingot.tensor(v, dtype=getattr(ingot, kind)) for v in operands])
    words = str(at_once.value).split(" failed: ")[-1]
    drawn = draw(*[ingot.tensor(v, dtype=getattr(ingot, kind), device="cuda") for v in operands])
    with pytest.raises(ArgumentError, match=f"{words}, on cuda:0"):
        drawn.tolist()
    assert ingot.ones(2, device="cuda").tolist() == [1, 1]
