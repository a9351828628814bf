"""Draws and clocks in traced calls: the numbers are those of eager calls, and the generators stand where eager calls leave
them."""

import itertools
import random
import time
import types
import warnings

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.jit.host.host_numbers import GeneratorStates, HostNumber
from ingot.utils.checkpoint import checkpoint

CALLS = 9
PYTHON = {"random": "", "uniform": "-1, 2", "triangular": "", "randint": "0, 5", "randrange": "7", "getrandbits": "6",
          "normalvariate": "", "gauss": "1.0, 0.5", "lognormvariate": "0, 0.5", "expovariate": "2.0", "gammavariate": "2, 1",
          "betavariate": "0.4, beta=0.4", "paretovariate": "3.0", "weibullvariate": "1, 2",
          "vonmisesvariate": "0, 4", "choice": "[1.5, 2.5, 3.5]"}
NUMPY = {
    "beta": "0.4, 0.4", "binomial": "5, 0.5", "chisquare": "2", "exponential": "", "f": "2, 3", "gamma": "2.0",
    "geometric": "0.4", "gumbel": "", "hypergeometric": "4, 5, 3", "laplace": "", "logistic": "", "lognormal": "",
    "logseries": "0.5", "negative_binomial": "3, 0.5", "noncentral_chisquare": "3, 2", "noncentral_f": "3, 4, 2",
    "normal": "loc=0.5", "pareto": "3.0", "poisson": "3", "power": "2.0", "random": "", "rayleigh": "",
    "standard_cauchy": "", "standard_exponential": "", "standard_gamma": "2.0", "standard_normal": "",
    "standard_t": "4", "triangular": "0, 1, 3", "uniform": "low=-1", "vonmises": "0.0, 4.0", "wald": "1.0, 2.0",
    "weibull": "2.0", "zipf": "3.0"}
LEGACY = {**NUMPY, "rand": "", "randn": "", "randint": "5", "random_sample": ""}
MODERN = {**NUMPY, "integers": "0, 5"}

SOURCES = {         # way to a generator -> (its methods, expression)
    "the module random": (PYTHON, "random"), "the module numpy.random": (LEGACY, "np.random"),
    "a Random": (PYTHON, "python"), "a RandomState": (LEGACY, "legacy"), "a Generator": (MODERN, "modern"),
    "an attribute": (PYTHON, "world.python"), "an attribute, of NumPy": (MODERN, "world.modern"),
    "an item": (LEGACY, "world.all[1]"), "an argument": (PYTHON, "given"), "a default": (MODERN, "default")}
USES = {            # statements that use `v`, and return what the call gives
    "a factor": "return x * v",
    "an item of a list": "world.log.append(v); return x",
    "an attribute": "world.last = world.last + v; return x * world.last",
    "a branch": "return x * 2 if v < world.middle else x + 1",
    "a draw in a branch": "return x * 2 if v < world.middle else x * {again}",
    "an index": "return x[int(abs(v)) % 3]",
    "a result": "return x * 2, v",
    "a text": "print(f'{{v:.6f}}'); return x",
    "a class": "return x * (2 if type(v) is float else 3)",
    "math": "return x * math.exp(-abs(v))",
    "several": "return x * max(v, {again}) + sum([{again} for _ in range(2)])",
    "a bound": "y = x * v\n    assert y.shape == (4,)\n    return y.clamp(max=v)",
}


def program(expression, use, again):
    """Return (world, its function), with generators of equal states each time."""
    world = types.SimpleNamespace(log=[], last=0.5, middle=1.0, python=random.Random(3), legacy=np.random.RandomState(4),
                                  modern=np.random.default_rng(5))
    world.all = [world.python, world.legacy, world.modern]
    random.seed(1)
    np.random.seed(2)
    space = {"__name__": "drawing", "random": random, "np": np, "math": __import__("math"), "world": world,
             "python": world.python, "legacy": world.legacy, "modern": world.modern}
    source = f"def fn(x, given, *, default=modern):\n    v = {expression}\n    {use.format(again=again)}\n"
    exec(compile(source, "<drawing>", "exec"), space)
    return world, space["fn"]


def states(world):
    return [random.getstate(), str(np.random.get_state()), world.python.getstate(), str(world.legacy.get_state()),
            str(world.modern.bit_generator.state)]


def plain(x):
    if isinstance(x, ingot.Tensor):
        return x.tolist()
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


def outcomes(expression, use, again, wrap, capsys, calls=CALLS, between=lambda world: None):
    world, fn = program(expression, use, again)
    fn, seen = wrap(fn), []
    for i in range(calls):
        seen.append((plain(fn(ingot.arange(4.0) + i, world.python)), states(world), plain(world.log), world.last,
                     capsys.readouterr().out))
        between(world)
    return seen, fn


_FEW = ("random", "choice", "randint", "integers", "normal", "gauss")       # methods in all uses
ROWS = [(name, method, use) for name, (methods, _) in SOURCES.items() for method in methods for use in USES
        if use == "a factor" or method in _FEW]


@pytest.mark.parametrize(("source", "method", "use"), ROWS)
def test_calls_draw_as_eager_calls_do(source, method, use, capsys):
    methods, expression = SOURCES[source]
    call = f"{expression}.{method}({methods[method]})"
    other = f"{expression}.random()"
    eager, _ = outcomes(call, USES[use], other, lambda f: f, capsys)
    traced, fn = outcomes(call, USES[use], other, jit.trace, capsys)
    assert traced == eager
    if use == "a factor" and method not in ("choice", "integers"):      # the values of these count
        assert fn.stats()["compiles"] <= 2


@pytest.mark.parametrize("change", ["world.python.seed(8)", "random.seed(8)", "np.random.rand(3)", "world.python.random()",
                                    "world.legacy = np.random.RandomState(9)", "world.all[1] = np.random.RandomState(9)",
                                    "world.middle = 0.2"])
@pytest.mark.parametrize("call", ["random.random()", "np.random.rand()", "world.python.gauss(0, 1)", "world.legacy.randn()",
                                  "world.all[1].uniform()"])
def test_generators_may_move_and_change_between_calls(call, change, capsys):
    space = {"random": random, "np": np}
    for use in ("a draw in a branch", "several"):
        found = [outcomes(call, USES[use], call, wrap, capsys, 12, lambda world: exec(change, {**space, "world": world}))[0]
                 for wrap in (lambda f: f, jit.trace)]
        assert found[0] == found[1]


FORMS = {       # functions of x that draw `random.random()` in other ways
    "a name of its own": "draw = random.random\ndef fn(x): return x * draw()",
    "a stored method": "draws = {'a': random.Random(2).random}\ndef fn(x): return x * draws['a']()",
    "a partial": "draw = functools.partial(random.uniform, 1, 2)\ndef fn(x): return x * draw()",
    "a helper": "def noise(): return random.random()\ndef fn(x): return x * noise()",
    "a class": "class Noise:\n    def __call__(self, x): return x + random.random()\nnoise = Noise()\n"
               "def fn(x): return noise(x)",
    "a comprehension": "def fn(x): return sum([x * random.random() for _ in range(3)])",
    "a key": "def fn(x): return x * sorted([1.0, 2.0, 3.0], key=lambda _: random.random())[0]",
    "a seed": "def fn(x):\n    random.seed(4)\n    a = random.random()\n    random.seed()\n    random.seed(5)\n"
              "    return x * a",
    "a seed of NumPy": "def fn(x):\n    np.random.seed(4)\n    a = np.random.rand()\n    return x * a + np.random.normal()",
    "layer drop": "layers = [lambda x: x + 1, lambda x: x * 2, lambda x: x - 3]\ndef fn(x):\n    for layer in layers:\n"
                  "        if random.random() > 0.3:\n            x = layer(x)\n    return x",
    "teacher forcing": "def fn(x):\n    y = x\n    for t in range(4):\n        y = (x if random.random() < 0.5 else y) * 1.5\n"
                       "    return y",
    "a crop": "def fn(x):\n    i = random.randint(0, 1)\n    return x[i:i + 2]",
    "mixup": "def fn(x):\n    lam = np.random.beta(0.4, 0.4)\n    lam = max(lam, 1 - lam)\n"
             "    return lam * x + (1 - lam) * x.flip(0)",
    "an error behind it": "def fn(x):\n    i = random.randint(0, 5)\n    try:\n        return x[i]\n    except IndexError:\n"
                          "        return x.sum()",
    "an own generator beside": "def fn(x):\n    own = random.Random(3)\n    return x * own.random() * random.random()"}


@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile])
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_draws(form, wrap):
    found = []
    for around in (lambda f: f, wrap):
        random.seed(1)
        np.random.seed(1)
        space = {"__name__": "drawing", "random": random, "np": np, "functools": __import__("functools")}
        exec(compile(FORMS[form], "<drawing>", "exec"), space)
        fn = around(space["fn"])
        found.append([(fn(ingot.arange(4.0) + i).tolist(), random.getstate(), str(np.random.get_state())) for i in range(14)])
    assert found[0] == found[1]


def test_a_training_step_that_draws_is_replayed():
    def train(wrap):
        random.seed(0)
        ingot.manual_seed(0)
        net = nn.Linear(3, 1)
        optimizer = ingot.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = ((net(x * random.uniform(0.5, 1.5)) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        x, y = ingot.rand(8, 3), ingot.rand(8, 1)
        return [step(x, y).item() for _ in range(12)], random.random(), step

    eager, traced = train(lambda f: f), train(jit.trace)
    assert traced[:2] == eager[:2]
    assert traced[2].stats()["compiles"] <= 3


@pytest.mark.parametrize("clock", ["time", "perf_counter", "monotonic", "process_time", "thread_time", "time_ns",
                                   "perf_counter_ns", "monotonic_ns", "process_time_ns", "thread_time_ns"])
def test_each_call_reads_the_clock(clock):
    read = getattr(time, clock)

    @jit.trace
    def fn(x):
        return x * 2, read()

    before = read()
    for i in range(5):
        _, at = fn(ingot.ones(3) * i)
        assert type(at) is type(before)
        assert before <= at <= read()
        before = at
    assert fn.stats()["compiles"] == 1


def test_a_clock_measures_what_is_computed_before_it():
    @jit.trace
    def fn(x):
        start = time.perf_counter()
        for _ in range(6):
            x = x @ x
        return x, time.perf_counter() - start

    x, shares = ingot.eye(400), []
    for _ in range(8):
        start = time.perf_counter()
        _, taken = fn(x)
        shares.append(taken / (time.perf_counter() - start))
    assert max(shares[2:]) > 0.5 and min(shares) > 0


def test_a_host_function_between_draws_makes_the_call_run_eagerly():
    def run(wrap):
        random.seed(0)
        host = jit.host(lambda: random.random() and None)

        @wrap
        def fn(x):
            a = random.random()
            host()
            return x * a + random.random()

        return [(fn(ingot.ones(2)).tolist(), random.getstate()) for _ in range(5)]

    with pytest.warns(jit.TracerWarning, match="changes what a random generator or a clock gives"):
        traced = run(lambda f: jit.trace(f, refuse=False))
    assert traced == run(lambda f: f)


@pytest.mark.parametrize("given", ["", "5, 2", "0.5, 0.25", "-3, 1"])
def test_each_call_moves_a_counter_on(given):
    def run(wrap):
        counter, log = itertools.count(*eval(f"[{given}]")), []

        def fn(x):
            a = next(counter)
            x = x + next(counter) if a > 4 else x
            log.append(a)
            return x * a + next(counter)

        fn = wrap(fn)
        return [(fn(ingot.ones(2)).tolist(), repr(counter), log[:]) for _ in range(9)], fn

    (traced, fn), (eager, _) = run(jit.trace), run(lambda f: f)
    assert traced == eager
    assert fn.stats()["compiles"] <= 2


LATER = {       # functions of x whose draws come in the backward after the call
    "a function": "class F(ingot.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x * 2\n"
                  "    @staticmethod\n    def backward(ctx, g): return g * random.random()\ndef fn(x): return F.apply(x).sum()",
    "a hook": "def fn(x):\n    y = x * 2\n    y.register_hook(lambda g: g * np.random.rand())\n    return y.sum()",
    "an array": "def fn(x):\n    y = x * 2\n    y.register_hook(lambda g: g * np.random.rand(2).sum())\n    return y.sum()",
    "a checkpoint": "def noisy(x): return x * random.random()\n"
                    "def fn(x): return checkpoint(noisy, x, use_reentrant=False).sum()"}


@pytest.mark.parametrize("row", LATER)
def test_draws_in_a_later_backward_are_made_when_it_comes(row):
    def run(wrap):
        random.seed(0)
        np.random.seed(0)
        space = {"__name__": "drawing", "random": random, "np": np, "ingot": ingot, "checkpoint": checkpoint}
        exec(compile(LATER[row], "<drawing>", "exec"), space)
        fn, seen = wrap(space["fn"]), []
        for _ in range(5):
            x = ingot.ones(2, requires_grad=True)
            y = fn(x)
            seen.append((y.item(), random.random(), np.random.rand()))
            y.backward()
            seen.append((x.grad.tolist(), random.random(), np.random.rand()))
        return seen

    with pytest.warns(jit.TracerWarning, match="random"):
        traced = run(ingot.compile)
    assert traced == run(lambda f: f)


def test_the_items_of_a_choice_may_change():
    def run(wrap):
        random.seed(0)
        items = [1.0, 2.0, 3.0]
        fn, seen = wrap(lambda x: x * random.choice(items)), []
        for i in range(30):
            seen.append(fn(ingot.ones(2)).tolist())
            items[i % 3] += i % 2
            items += [9.0] * (i == 12)
        return seen

    assert run(jit.trace) == run(lambda f: f)


OF_NUMPY = ["normal(size=3)", "normal(size=(2, 3))", "uniform(0, 1, 3)", "permutation(3)", "permutation([2.5, 1.5, 0.5])",
            "choice(5)", "choice(5, 3)", "choice([0.5, 1.5, 2.5], 3, p=[0.2, 0.3, 0.5])", "choice(3, size=3, replace=False)",
            "poisson(3, size=3)", "standard_normal(3)"]
OF_PYTHON = ["sample(range(5), 3)", "sample([1.5, 2.5, 3.5], 2)", "sample('abc', k=2)", "choices(range(1, 9, 2), k=3)",
             "choices([1.5, 2.5], weights=[1, 2], k=2)", "choices((1.5, 2.5))", "shuffle(items)", "sample(range(3), 0)"]
ARRAYS = [f"{way}.{call}" for way, calls in {
    "np.random": [*OF_NUMPY, "rand(3)", "randint(0, 3, size=3)", "randint(5, size=(2, 3), dtype='int32')", "random(3)"],
    "legacy": OF_NUMPY, "world.modern": [*OF_NUMPY, "integers(0, 3, size=3)", "integers(2, size=3, dtype=bool)"],
    "random": OF_PYTHON, "world.python": OF_PYTHON}.items() for call in calls]
USES_OF_ARRAYS = {
    "a tensor": "return x * ingot.tensor([float(ord(e)) if isinstance(e, str) else float(e) for e in each(v)]).sum()",
    "converted": "return x + ingot.as_tensor(v).sum() if isinstance(v, np.ndarray) else x * len(each(v))",
    "a result": "return x * 2, v",
    "kept": "world.log.append(each(v)); return x * 2",
    "an index": "return x[[int(abs(e)) % 4 for e in each(v) if not isinstance(e, str)]]",
    "changed": "if isinstance(v, np.ndarray) and v.ndim and v.dtype != bool:\n        v *= 2\n        v[..., 0] = 1\n"
               "    return x * float(np.sum(v)) if isinstance(v, np.ndarray) else x",
    "another draw": "return x * random.random() + np.random.rand(), each(v), random.sample(range(9), 2)",
    "a branch": "e = (each(v) or [0])[0]\n    return x + 1 if str(e) < '1' else x * 2",
}


def each(v):
    if isinstance(v, int | float):
        return [v]
    return np.asarray(v).reshape(-1).tolist() if isinstance(v, np.ndarray | np.generic) else list(v or ())


@pytest.mark.drawn
@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile])
@pytest.mark.parametrize("use", USES_OF_ARRAYS)
@pytest.mark.parametrize("call", ARRAYS)
def test_calls_draw_arrays_and_samples_as_eager_calls_do(call, use, wrap):
    def run(wrap):
        world, _ = program("random.random()", "return x", "")
        space = {"__name__": "drawing", "random": random, "np": np, "world": world, "legacy": world.legacy, "ingot": ingot,
                 "each": each}
        exec(f"def fn(x):\n    items = [1.5, 2.5, 3.5, 4.5]\n    v = {call}\n    v = items if v is None else v\n"
             f"    {USES_OF_ARRAYS[use]}\n", space)
        fn, seen = wrap(space["fn"]), []
        for i in range(12):
            result = fn(ingot.arange(4.0) + i)
            result = [shown(v) for v in (result if isinstance(result, tuple) else (result,))]
            seen.append((result, states(world), repr(world.log)))
        return seen

    with warnings.catch_warnings(action="ignore"):
        assert run(wrap) == run(lambda f: f)


def shown(v):
    return v.tolist() if isinstance(v, ingot.Tensor) else (type(v), getattr(v, "dtype", None), repr(v))


def test_samples_of_a_range_are_numbers_of_one_recording():
    def fn(x):
        a, b = random.sample(range(0, 40, 4), 2)
        return x * a + b, random.choices(range(5), k=3)

    random.seed(3)
    eager = [(y.tolist(), v) for y, v in [fn(ingot.ones(2)) for _ in range(9)]]
    random.seed(3)
    traced = jit.trace(fn)
    assert [(y.tolist(), v) for y, v in [traced(ingot.ones(2)) for _ in range(9)]] == eager
    assert traced.stats()["compiles"] == 1


REFUSED = {"a shuffle of numpy's": "np.random.shuffle(items)", "bytes": "np.random.bytes(3)",
           "a sample of bytes": "random.sample(bytearray(b'abc'), 1)", "an array as an operand": "np.random.normal(array)",
           "bits that no number holds": "random.getrandbits(80)", "the state": "random.setstate(state)",
           "a class of the user's": "mine.random()", "the system": "system.random()",
           "a choice among keys": "random.choice({0: 1, 1: 2})", "a sample by the system": "system.sample(items, 1)"}


@pytest.mark.parametrize("row", REFUSED)
def test_refused_draws(row):
    class Mine(random.Random):
        pass

    space = {"__name__": "drawing", "random": random, "np": np, "items": [1, 2, 3], "state": random.getstate(), "mine": Mine(1),
             "system": random.SystemRandom(), "array": np.ones(2)}
    exec(compile(f"def fn(x):\n    v = {REFUSED[row]}\n    return x\n", "<drawing>", "exec"), space)
    with pytest.raises(jit.TraceError, match=r"random|changes"):
        jit.trace(space["fn"])(ingot.ones(2))


def test_states_are_put_back_in_the_order_of_draws():
    bits = np.random.PCG64(3)
    one, other = np.random.Generator(bits), np.random.Generator(bits)
    expected = one.random(), other.random()
    bits = np.random.PCG64(3)
    one, other = np.random.Generator(bits), np.random.Generator(bits)
    for _ in range(2):
        states = GeneratorStates()
        seen = []
        for generator in (one, other):
            states.keep(generator)
            seen.append(generator.random())
        assert tuple(seen) == expected
        states.undo()


def test_numbers_are_equal_if_they_call_the_same():
    generators = random.Random(1), random.Random(1)
    calls = [HostNumber(random.Random.uniform, g, args, {}, kind) for g, args, kind in itertools.product(
        generators, [(0, 1), (0.0, 1), (False, 1), (0, 2)], [float, int])]
    assert len({*calls}) == len(calls)
    assert HostNumber(random.Random.uniform, generators[0], (0, 1)) == HostNumber(random.Random.uniform, generators[0], (0, 1))
