"""Random numbers: one seed gives one stream, and the streams have the right distributions."""

import copy
import pickle
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot.ir.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir.opdef.op import OPS
from ingot.runtime.api.random.random_tensors import standard_gamma
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.core.random import default_generator
from ingot.runtime.cpu.memory import alloc
from ingot.runtime.memo.call_recorder import call_threshold

N = 100_000


def draws():
    """Return one draw of every kind, as arrays."""
    p = ingot.full((50,), 0.3)
    kinds = [ingot.rand(50), ingot.randn(3, 7), ingot.randint(0, 9, (20,)), ingot.randperm(30), ingot.bernoulli(p),
             ingot.multinomial(p, 5), ingot.poisson(p * 30), ingot.normal(p, 2.0), ingot.rand_like(p),
             ingot.empty(9).exponential_(), ingot.empty(9).geometric_(0.2), ingot.empty(9).cauchy_(),
             ingot.empty(9).log_normal_()]
    return [k.numpy().copy() for k in kinds]


def test_the_same_seed_gives_the_same_numbers():
    ingot.manual_seed(7)
    first = draws()
    ingot.manual_seed(7)
    for a, b in zip(first, draws()):
        np.testing.assert_array_equal(a, b)
    ingot.manual_seed(8)
    assert not np.array_equal(first[0], ingot.rand(50).numpy())


def test_these_are_the_numbers():
    """Frozen: the stream of a seed is a promise."""
    ingot.manual_seed(0)
    words = [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
    np.testing.assert_array_equal(ingot.rand(4).numpy(), [np.float32((w >> 8) * 2.0 ** -24) for w in words])


def test_element_i_does_not_depend_on_how_many_are_drawn():
    def first(n):
        ingot.manual_seed(3)
        return ingot.randn(n).numpy()[:10]

    np.testing.assert_array_equal(first(10), first(40_000))


def test_generators_are_apart_and_can_go_back():
    a, b = ingot.Generator().manual_seed(5), ingot.Generator().manual_seed(5)
    x = ingot.rand(6, generator=a)
    ingot.rand(3)
    assert np.array_equal(x.numpy(), ingot.rand(6, generator=b).numpy())
    state = a.get_state()
    y = ingot.randn(4, generator=a)
    for g in (copy.deepcopy(b), pickle.loads(pickle.dumps(b)), a.set_state(state)):
        assert np.array_equal(y.numpy(), ingot.randn(4, generator=g).numpy())
    assert a.device == ingot.device("cpu") and a.device.type == "cpu"
    assert a.initial_seed() == 5 and ingot.manual_seed(-1).initial_seed() == 2 ** 64 - 1


def test_global_state_round_trip_and_fork():
    ingot.manual_seed(1)
    state = ingot.get_rng_state()
    a = ingot.rand(3)
    ingot.set_rng_state(state)
    with ingot.random.fork_rng():
        ingot.rand(100)
    assert np.array_equal(a.numpy(), ingot.rand(3).numpy())


def test_threads_share_a_generator_without_repeating_a_key():
    g, keys = ingot.Generator().manual_seed(0), []

    def work():
        keys.extend(tuple(g.key().numpy().tolist()) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for th in threads:
        th.start()
    for th in threads:
        th.join()
    assert len(set(keys)) == 800


CASES = [  # name, make, mean, variance
    ("rand", lambda: ingot.rand(N), 0.5, 1 / 12),
    ("randn", lambda: ingot.randn(N), 0.0, 1.0),
    ("randn double", lambda: ingot.randn(N, dtype=ingot.float64), 0.0, 1.0),
    ("rand half", lambda: ingot.rand(N, dtype=ingot.float16).float(), 0.5, 1 / 12),
    ("rand complex", lambda: ingot.rand(N, dtype=ingot.complex64).imag, 0.5, 1 / 12),
    ("randn complex", lambda: ingot.randn(N, dtype=ingot.complex128).real, 0.0, 0.5),
    ("normal complex", lambda: ingot.empty(N, dtype=ingot.complex64).normal_(0, 3).imag, 0.0, 4.5),
    ("parts of complex", lambda: ingot.view_as_real(ingot.randn(N, dtype=ingot.complex64)).prod(-1), 0.0, 0.25),
    ("randint", lambda: ingot.randint(-5, 5, (N,)).double(), -0.5, 99 / 12),
    ("bernoulli", lambda: ingot.empty(N).bernoulli_(0.3), 0.3, 0.21),
    ("bernoulli of tensor", lambda: ingot.bernoulli(ingot.full((N,), 0.3)), 0.3, 0.21),
    ("uniform", lambda: ingot.empty(N).uniform_(2, 4), 3.0, 4 / 12),
    ("normal", lambda: ingot.empty(N).normal_(1, 3), 1.0, 9.0),
    ("uniform complex", lambda: ingot.empty(N, dtype=ingot.complex64).uniform_(2, 4).imag, 3.0, 4 / 12),
    ("exponential", lambda: ingot.empty(N).exponential_(2), 0.5, 0.25),
    ("geometric", lambda: ingot.empty(N).geometric_(0.25), 4.0, 12.0),
    ("log normal", lambda: ingot.empty(N).log_normal_(0, 0.5), np.exp(0.125), (np.exp(0.25) - 1) * np.exp(0.25)),
    ("poisson 0.5", lambda: ingot.poisson(ingot.full((N,), 0.5)), 0.5, 0.5),
    ("poisson 9", lambda: ingot.poisson(ingot.full((N,), 9.0)), 9.0, 9.0),
    ("poisson 10", lambda: ingot.poisson(ingot.full((N,), 10.0)), 10.0, 10.0),
    ("poisson 200", lambda: ingot.poisson(ingot.full((N,), 200.0)), 200.0, 200.0),
]


@pytest.mark.parametrize("name, make, mean, variance", CASES, ids=[c[0] for c in CASES])
def test_moments(name, make, mean, variance):
    ingot.manual_seed(1234)
    x = make().numpy().astype(np.float64)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / N), f"seed 1234, mean {x.mean()}"
    assert abs(x.var() - variance) < 0.06 * variance, f"seed 1234, variance {x.var()}"


def test_ranges():
    ingot.manual_seed(2)
    for d in (ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16):
        x = ingot.rand(N, dtype=d).double().numpy()
        assert x.min() >= 0 and x.max() < 1, d
    assert sorted(ingot.randperm(1000).tolist()) == list(range(1000))
    assert sorted(ingot.randperm(ingot.tensor(9)).tolist()) == list(range(9))
    assert set(ingot.randint(3, 6, (1000,)).tolist()) == {3, 4, 5}
    assert ingot.randint(3, (4,), dtype=None).dtype is ingot.int64
    assert ingot.empty(1000).exponential_().numpy().min() > 0
    x = ingot.zeros(1000, dtype=ingot.int8).random_()
    assert x.numpy().min() >= 0 and x.numpy().max() > 100


@pytest.mark.parametrize("draw", [ingot.normal, ingot.jit.trace(lambda m, s: ingot.normal(m, s))], ids=["eager", "traced"])
def test_gradients_do_not_go_through_a_normal_sample(draw):
    """As in PyTorch: `log_prob` of the sample has the gradient that trains policies; a sample that follows its mean has
    gradient zero."""
    mean, std = ingot.zeros(5, requires_grad=True), ingot.full((5,), 2.0).requires_grad_()
    for seed in range(3):
        ingot.manual_seed(seed)
        drawn = draw(mean, std)
        ingot.manual_seed(seed)
        assert drawn.requires_grad and (drawn == ingot.normal(mean.detach(), std.detach())).all()
        assert [g.tolist() for g in ingot.autograd.grad(drawn.sum(), (mean, std), retain_graph=True)] == [[0.0] * 5] * 2
        score, = ingot.autograd.grad(ingot.distributions.Normal(mean, std).log_prob(drawn).sum(), mean)
        np.testing.assert_allclose(score.numpy(), drawn.detach().numpy() / 4, rtol=1e-6)


@pytest.mark.parametrize("fill", [
    lambda x: x.log_normal_(0, 0), lambda x: x.log_normal_(0, -1), lambda x: x.cauchy_(0, 0), lambda x: x.cauchy_(0, -1),
    lambda x: x.exponential_(0), lambda x: x.geometric_(1), lambda x: x.normal_(0, -1), lambda x: x.uniform_(1, 0)])
def test_parameters_of_no_distribution_raise(fill):
    with pytest.raises(ArgumentError, match="_ takes"):
        fill(ingot.empty(3))


def test_multinomial_follows_its_weights():
    ingot.manual_seed(4)
    w = ingot.tensor([0.0, 1.0, 3.0, 6.0])
    drawn = ingot.multinomial(w, 20_000, replacement=True).numpy()
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20_000, [0, 0.1, 0.3, 0.6], atol=0.02)
    rows = ingot.multinomial(w.expand(5000, 4), 3).numpy()
    assert all(sorted(row) == [1, 2, 3] for row in rows.tolist())
    assert abs((rows[:, 0] == 3).mean() - 0.6) < 0.03


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("rows", [None, 1, 2])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -1.0, 0.0], ids=str)
def test_wrong_weights_raise_at_every_call(wrong, rows, replacement):
    """By operators, by the graph that draws frequent calls, and with listeners by name."""
    right = ingot.full((3,) if rows is None else (rows, 3), 0.5)
    weights = right.clone()
    if wrong == 0.0:
        weights[..., :] = 0.0 if rows is None else ingot.tensor([[1.0], [0.0]][2 - rows:])
    else:
        weights[..., -1:] = wrong
    for _ in range(call_threshold(20)):
        assert ingot.multinomial(right, 2, replacement).shape == (*right.shape[:-1], 2)
    for listens in (False, True):
        with pytest.raises(ArgumentError, match="finite, not negative"), ingot.profiler.profile() if listens else nullcontext():
            ingot.multinomial(weights, 2, replacement)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0, 1.7, 8.0, 400.0])
def test_gamma_numbers_and_their_slopes(alpha):
    """The slopes give the derivatives of the moments: d E[x] = 1 and d E[x^2] = 2 alpha + 1."""
    ingot.manual_seed(21)
    n = 20_000
    a = ingot.full((n,), alpha, dtype=ingot.float64, requires_grad=True)
    x = standard_gamma(a)
    values = x.detach().numpy()
    assert abs(values.mean() - alpha) < 5 * np.sqrt(alpha / n), "seed 21"
    loose = 5 * np.sqrt((6 / alpha + 2) / n)   # five deviations of a sample variance, relative
    assert abs(values.var() - alpha) < loose * alpha, "seed 21"
    x.sum().backward()
    slope = a.grad.numpy()
    assert abs(slope.mean() - 1) < 0.08, "seed 21"
    assert abs((2 * values * slope).mean() - (2 * alpha + 1)) < loose * (2 * alpha + 1), "seed 21"


def test_wrong_arguments():
    for bad in (lambda: ingot.multinomial(ingot.tensor([1.0, -1.0]), 1), lambda: ingot.multinomial(ingot.zeros(3), 1),
                lambda: ingot.bernoulli(ingot.tensor([1.5])), lambda: ingot.randint(5, 5, (2,)),
                lambda: ingot.empty(2).normal_(0, -1), lambda: ingot.empty(2).uniform_(3, 1)):
        with pytest.raises(ArgumentError):
            bad()
    with pytest.raises(DTypeError):
        ingot.rand(2, dtype=ingot.int64)


def test_requires_grad_and_out():
    assert ingot.randn(2, requires_grad=True).requires_grad
    out = ingot.empty(3)
    assert ingot.rand(3, out=out) is out


P = ingot.tensor([[0.1, 0.9, 0.5], [0.0, 1.0, 0.25]])
ROADS = {
    "rand": lambda: ingot.rand(3, 4), "rand of 64 bits": lambda: ingot.rand(5, dtype=ingot.float64),
    "rand of 16 bits": lambda: ingot.rand(5, dtype=ingot.bfloat16),
    "rand of complex": lambda: ingot.rand(5, dtype=ingot.complex64), "randn": lambda: ingot.randn(3, 4),
    "randn of 16 bits": lambda: ingot.randn(5, dtype=ingot.float16), "none": lambda: ingot.randn(0, 3),
    "one": lambda: ingot.rand(()), "many": lambda: ingot.randn(700), "rand_like": lambda: ingot.rand_like(P.t()),
    "randn_like": lambda: ingot.randn_like(P, dtype=ingot.float64),
    "randint": lambda: ingot.randint(-3, 9, (7,), dtype=ingot.int16), "randperm": lambda: ingot.randperm(9),
    "normal": lambda: ingot.normal(0.1, 2.5, (5,)),
    "normal of 16 bits": lambda: ingot.normal(0.1, 2.5, (5,), dtype=ingot.float16), "bernoulli": lambda: ingot.bernoulli(P),
    "bernoulli of 16 bits": lambda: ingot.bernoulli(P.bfloat16()), "bernoulli of a number": lambda: ingot.bernoulli(P, 0.3),
    "bernoulli for sure": lambda: ingot.bernoulli(P, 1.0), "bernoulli of none": lambda: ingot.bernoulli(P[:0]),
    "bernoulli_": lambda: ingot.empty(2, 3).bernoulli_(0.7), "bernoulli_ of tensors": lambda: ingot.empty(2, 3).bernoulli_(P),
    "bernoulli_ of ints": lambda: ingot.zeros(6, dtype=ingot.int8).bernoulli_(),
    "exponential_": lambda: ingot.empty(9).exponential_(2.5), "exponential_ of 16 bits": lambda: P.half().exponential_(),
    "geometric_": lambda: ingot.empty(9).geometric_(0.2),
    "geometric_ of ints": lambda: ingot.zeros(9, dtype=ingot.int32).geometric_(0.2),
    "cauchy_": lambda: ingot.empty(9).cauchy_(1, 3), "log_normal_": lambda: ingot.empty(9).log_normal_(0.1, 0.3),
    "random_": lambda: ingot.empty(9).random_(5), "normal_": lambda: ingot.empty(9).normal_(1, 3),
    "uniform_": lambda: ingot.empty(9).uniform_(-1, 3), "multinomial": lambda: ingot.multinomial(P, 2, replacement=True),
    "multinomial without": lambda: ingot.multinomial(P + 0.1, 2), "dropout": lambda: ingot.nn.functional.dropout(P, 0.4)}


@pytest.mark.parametrize("name", ROADS)
def test_a_draw_gives_the_bits_and_takes_the_keys_of_its_operators(name):
    """Without listeners draws use other paths: no key tensors, and one graph once calls are frequent."""
    def drawn(seed):
        ingot.manual_seed(seed)
        made = ROADS[name]()
        return made.dtype, made.shape, made.stride(), ingot.initial_seed(), default_generator.place, made._a.tobytes()

    calls, seeds = call_threshold(1), (7, 2**63 + 5)
    with ingot.profiler.profile():
        want = [drawn(seed) for seed in seeds]
    for _ in range(calls + 2):
        found = [drawn(seed) for seed in seeds]
        assert found == want


def test_failing_draws_explain_and_take_one_key():
    for wrong in (lambda: ingot.rand(-1), lambda: ingot.randn(3, -2), lambda: ingot.randint(5, 5, (3,)),
                  lambda: ingot.normal(0.0, 1.0, (-3,)), lambda: ingot.bernoulli(P, 1.5), lambda: ingot.bernoulli(P * 2),
                  lambda: ingot.bernoulli(P * np.nan)):
        said = []
        for listens in (False, True, False):
            before = default_generator.place[1]
            with ingot.profiler.profile() if listens else nullcontext(), pytest.raises((ArgumentError, ShapeError)) as raised:
                wrong()
            said.append((type(raised.value), str(raised.value)))
            assert default_generator.place[1] - before <= 1
        assert said[0] == said[1] == said[2]


FILLS = {"uniform": (lambda x: x.uniform_(-0.3, 0.7), ingot.rand, 1.0, -0.3),
         "normal": (lambda x: x.normal_(0.1, 2.5), ingot.randn, 2.5, 0.1)}
LAYOUTS = {"rows": lambda d: ingot.zeros(500, 300, dtype=d), "turned": lambda d: ingot.zeros(300, 500, dtype=d).t(),
           "part": lambda d: ingot.zeros(502, 300, dtype=d)[1:501], "few": lambda d: ingot.zeros(1, 3, dtype=d)}


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", FILLS)
def test_fills_are_scaled_and_shifted_draws_in_any_layout(fill, layout, dtype):
    filling, draw, factor, summand = FILLS[fill]
    x = LAYOUTS[layout](dtype)
    whole = x if x._base is None else x._base
    version = x._version
    ingot.manual_seed(5)
    assert filling(x) is x and x._version == version + 1
    ingot.manual_seed(5)
    np.testing.assert_array_equal(x.numpy(), (draw(*x.shape, dtype=dtype) * factor + summand).numpy())
    assert int((whole != 0).sum()) == x.numel()


@pytest.mark.parametrize("fill", FILLS)
def test_a_fill_allocates_nothing(fill):
    x = ingot.zeros(1 << 18)
    FILLS[fill][0](x)
    alloc.reset_peak()
    before = alloc.stats()["peak"]
    FILLS[fill][0](x)
    assert alloc.stats()["peak"] == before


@pytest.mark.parametrize("name", ["poisson", "standard_gamma", "binomial"])
def test_numbers_by_rejection_are_those_of_each_elements_own_stream(name):
    """The numbers depend neither on neighbouring draws nor (but for the last bit of a normal number) on the backend."""
    key, rng = np.array([2**63 + 12345, 7], np.uint64), np.random.default_rng(0)
    x = rng.uniform(0.05, 30, 40_000)
    args = {"poisson": (x,), "standard_gamma": (x * 0.2,), "binomial": (np.floor(x), rng.uniform(0, 1, x.size))}[name]
    run, ref = kernel_of(OPS[name]), OPS[name].ref
    whole = run(key, *args)
    for n in (0, 1, 700, 20_001):
        assert run(key, *[a[:n] for a in args]).tobytes() == whole[:n].tobytes()
    want = ref(key, *args)
    assert np.allclose(whole, want, rtol=1e-9) if name == "standard_gamma" else np.array_equal(whole, want)


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64])
@pytest.mark.parametrize("n", [1, 10, 255, 256, 40_000])
def test_fills_of_any_length_are_the_draw_times_a_factor_plus_a_summand(n, dtype):
    """Fills equal the operators' results and those of traced code, bit by bit."""
    for fill, draw, factor, summand in ((lambda x: x.normal_(0.1, 0.3), ingot.randn, 0.3, 0.1),
                                        (lambda x: x.uniform_(-0.7, 0.4), ingot.rand, 0.4 + 0.7, -0.7)):
        ingot.manual_seed(3)
        found = fill(ingot.empty(n, dtype=dtype))
        ingot.manual_seed(3)
        assert found.equal(draw(n, dtype=dtype) * factor + summand)
        ingot.manual_seed(3)
        assert found.equal(ingot.jit.trace(lambda x, fill=fill: fill(x))(ingot.empty(n, dtype=dtype)))


@pytest.mark.parametrize("kind, high", [("uint8", 257), ("int8", 129), ("bool", 3), ("int16", 2 ** 15 + 1),
                                        ("int32", 2 ** 31 + 1)])
def test_integers_are_drawn_that_the_dtype_holds(kind, high):
    d = getattr(ingot, kind)
    x = ingot.zeros(4, dtype=d)
    for draw in (lambda n: ingot.randint(0, n, (4,), dtype=d), lambda n: x.random_(0, n), lambda n: x.random_(n)):
        assert draw(high - 1).dtype is d
        with pytest.raises(ArgumentError, match="are not all ones of"):
            draw(high)
    with pytest.raises(ArgumentError, match="are not all ones of"):
        ingot.randint(-high, 1, (4,), dtype=d)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_integers_of_the_whole_range(device):
    """All 2^64 of them, more than an int64 counts."""
    with mock_cuda.installed() if device == "cuda" else nullcontext():
        x = ingot.zeros(1000, dtype=ingot.int64, device=device)
        traced = ingot.jit.trace(lambda x: ingot.randint_like(x, -2 ** 63, 2 ** 63) + x)
        for draw in (lambda x: ingot.randint(-2 ** 63, 2 ** 63, (1000,), device=device),
                     lambda x: x.clone().random_(-2 ** 63, None),
                     traced, traced):
            ingot.manual_seed(2)
            found = draw(x).cpu()
            assert found.unique().numel() == 1000 and 400 < (found < 0).sum() < 600
            assert (found < -2 ** 62).sum() > 180 and (found >= 2 ** 62).sum() > 180
            ingot.manual_seed(2)
            assert found.equal(ingot.randint(-2 ** 63, 2 ** 63, (1000,))), "the same on every device and in traces"


@pytest.mark.parametrize("draw, spread", [(ingot.rand_like, 1 / 12), (ingot.randn_like, 0.5)], ids=["uniform", "normal"])
def test_numbers_like_complex_ones_have_random_parts(draw, spread):
    for made in (draw(ingot.ones(4000, dtype=ingot.complex64)), draw(ingot.ones(4000), dtype=ingot.complex64)):
        assert made.dtype is ingot.complex64
        for part in (made.real, made.imag):
            assert abs(part.var() - spread) < 0.1 * spread and abs(part.mean() - (0.5 if spread < 0.1 else 0)) < 0.05
    assert draw(ingot.ones(3), dtype=ingot.complex128).dtype is ingot.complex128


def test_private_functions_are_no_methods():
    assert ingot._standard_gamma(ingot.ones(3)).shape == (3,) and not hasattr(ingot.Tensor, "_standard_gamma")


@pytest.mark.parametrize("kind, most", [("uint8", 256), ("int8", 128), ("float16", 2 ** 11 + 1), ("bfloat16", 257)])
def test_orders_fit_their_dtype(kind, most):
    d = getattr(ingot, kind)
    assert ingot.randperm(most, dtype=d).sort().values.long().tolist() == list(range(most))
    with pytest.raises(ArgumentError, match="does not hold all integers"):
        ingot.randperm(most + 1, dtype=d)
    with pytest.raises(ArgumentError, match="does not hold"):
        ingot.randperm(3, dtype=ingot.complex64)


@pytest.mark.parametrize("low", [-5, 100])
@pytest.mark.parametrize("kind, last", [("int8", 127), ("uint8", 255), ("float16", 2048)])
def test_random_from_a_number_to_the_largest(low, kind, last):
    x = ingot.zeros(4000, dtype=getattr(ingot, kind))
    if kind == "uint8" and low < 0:
        with pytest.raises(ArgumentError):
            x.random_(low, None)
        return
    x.random_(low, None)
    assert low <= x.min() and x.max() <= last and x.max() > last - (last - low) / 50
