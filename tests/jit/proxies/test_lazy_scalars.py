"""Numbers that a traced function reads with `item()`: every call gives its own, in as few recordings as the answers need."""

import copy
import json
import math
import random

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim
from ingot.runtime.state.mode import OPEN_READERS, computes_with_numbers
from side_by_side import plain, vec
from state_programs import Holder

BATCH = ingot.ones(3, 2)


def loss_of(x):
    return (x * x).mean()


def count_of(x):
    return (x > 0.5).sum()


def is_nan(v):
    return "nan" if math.isnan(v) else v * 2


def clipped(v):
    return max(v, 0.25) if v < 0.9 else 1.0


# (what is made of the number, how many recordings are enough for 24 calls; None where each value has its own)
USES = [
    (lambda v: v, 1), (lambda v: {"loss": v, "more": [v, (v,)]}, 1), (lambda v: -v, 1), (lambda v: +v, 1), (lambda v: v + 1, 1),
    (lambda v: 2.5 - v, 2), (lambda v: v * 3 + v, 2), (lambda v: v / 4, 2), (lambda v: v / 3.0 - 1, 2),
    (lambda v: sum([v, v]), 2),
    (lambda v: v * True, 2), (lambda v: v < 0.5, 2), (lambda v: v >= 0.5, 2), (lambda v: (v == 0.0, v != 0), 2),
    (lambda v: 0.5 > v, 2),  # noqa: SIM300
    (lambda v: 0.2 < v <= 0.7, 3), (lambda v: 1 if v else 2, 2), (lambda v: min(v, 0.5), 2),
    (lambda v: sorted([0.5, v]), 2), (clipped, 4), (lambda v: [v] * 3, 1), (lambda v: (v + 1) / 2 < 0.75, 2),
    (lambda v: 1 / v if v != 0 else 0, 3), (lambda v: v ** 2, 1), (lambda v: v // 0.3, 1), (lambda v: v % 0.3, 1),
    (lambda v: round(v, 2), 1), (lambda v: f"{v:.3f}", None), (str, None), (repr, None), (int, None), (is_nan, 2),
    (lambda v: math.sqrt(abs(v)), 1), (lambda v: int(v), 1), (lambda v: float(v), 1), (lambda v: int(v * 10) // 3, 1),
    (lambda v: (math.floor(v), math.ceil(v), math.trunc(v), round(v)), 1), (lambda v: 10.0 * v + int(v), 1),
    (lambda v: 0.9 ** int(v * 10), 1), (lambda v: math.log(v + 1) * math.atan2(v, 2), 1), (lambda v: math.exp(-v) ** 0.5, 1),
    (lambda v: math.isfinite(v) and not math.isinf(v), 3), (lambda v: 100.0 * int(v * 4) / 7, 1),
    (lambda v: sum(i * float(v) for i in range(3)), 1), (lambda v: isinstance(v, int) or int(v), 1),
    (lambda v: isinstance(int(v), (int, float)) and float(v), 1), (lambda v: json.dumps({"v": [v]}), None),
    (lambda v: max(1, int(v * 3)) / max(0.5, float(v)), 4), (lambda v: (type(int(v)) is int, int(v)), None),
    (lambda v: abs(v - 0.5), 1), (lambda v: copy.deepcopy({"v": [v]}), 1),
    (lambda v: np.float64(v), None), (lambda v: np.float32(2) * v, None),
    (lambda v: np.array([v, 1.0]).sum().item(), None), (lambda v: json.dumps(float(v)), None), (lambda v: {v: 1}, None),
    (lambda v: isinstance(v, (int, float)), 1), (lambda v: v.real, None), (copy.copy, 1), (lambda v: hash(v), None),
    (lambda v: v + 1j, None), (lambda v: divmod(v, 0.25), 1), (lambda v: 2 ** v, 1),
]


def same_number(a, b):
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_number, a, b))
    if isinstance(a, dict):
        return list(map(repr, a)) == list(map(repr, b)) and all(map(same_number, a.values(), b.values()))
    return type(a) is type(b) and repr(a) == repr(b)


READS = {"float": loss_of, "int": count_of, "double": lambda x: loss_of(x).double(), "half": lambda x: x.sum().half()}
EACH = [(kind, number) for number in range(len(USES)) for kind in READS]
BRIEFLY = [(kind, number) for kind, number in EACH if [*READS].index(kind) == (number % 2 and 1 + number // 2 % 3)]


@pytest.mark.parametrize("kind, number", [
    pytest.param(*one, marks=[] if one in BRIEFLY else pytest.mark.slow) for one in EACH])
def test_each_call_gives_its_own_number(kind, number):
    """Floats and other kinds in turns; the slow run takes all."""
    (use, enough), read = USES[number], READS[kind]

    def fn(x):
        return use(read(x).item())

    traced, r = jit.trace(fn), random.Random(number)
    for _ in range(24):
        x = vec(*[r.choice([0.0, 0.25, 0.5, r.random(), r.random() * 1.5]) for _ in range(5)])
        assert same_number(traced(x), fn(x)), (number, x)
    if enough is not None and read is loss_of:
        assert traced.stats()["compiles"] <= enough, traced.stats()["misses"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, 3.4e38])
@pytest.mark.parametrize("use", [lambda v: v, lambda v: v + 1, lambda v: -v, lambda v: v * 2, lambda v: v < 1,
                                 lambda v: v == v])
def test_numbers_at_the_edges(value, use):
    traced = jit.trace(lambda x: use(x.max().item()))
    for v in (1.0, value, 2.0, value):
        assert same_number(traced(vec(v)), use(vec(v).max().item()))


@pytest.mark.parametrize("use", [
    lambda n: n + 1, lambda n: n - 5, lambda n: 3 * n, lambda n: n * n, lambda n: n + n, lambda n: n / 7, lambda n: n < 2 ** 70,
    lambda n: n == 0.5, lambda n: n != 0.5, lambda n: n == 7.0, lambda n: n <= 7.0, lambda n: n > 2.5, lambda n: n < 1e300,
    lambda n: n == 2.0 ** 63, lambda n: n == float("inf"), lambda n: -n, lambda n: n / 2.5, lambda n: n % 7])
def test_integers_are_exact(use):
    traced = jit.trace(lambda x: use(x.max().item()))
    for n in (1, 2, 2 ** 31, 2 ** 53 + 1, 2 ** 62, 2 ** 63 - 1, -2 ** 63, 7, 2 ** 62 - 1, 3):
        assert same_number(traced(ingot.tensor([n])), use(n)), n


def test_division_by_zero_is_pythons():
    traced = jit.trace(lambda x: 1.0 / x.sum().item())
    assert traced(vec(2.0)) == 0.5
    with pytest.raises(ZeroDivisionError):
        traced(vec(0.0))
    assert traced(vec(4.0)) == 0.25


class Meter:
    def __init__(self):
        self.total, self.count, self.best, self.values = 0.0, 0, 1e9, []

    def update(self, value, n=1):
        self.total += value * n
        self.count += n
        self.best = min(self.best, value)
        self.values.append(value)


def training(meter, wrap):
    ingot.manual_seed(0)
    net = nn.Linear(2, 1)
    optimizer = optim.Adam(net.parameters(), 0.05)

    @wrap
    def step(x):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(x))
        return loss.item()
    return step


def test_a_meter_in_a_training_step():
    xs = [ingot.randn(4, 2) for _ in range(20)]
    runs = []
    for wrap in (lambda f: f, jit.trace):
        meter = Meter()
        step = training(meter, wrap)
        runs.append(([step(x) for x in xs], vars(meter)))
    assert same_number(runs[0][0], runs[1][0]) and same_number(runs[0][1], runs[1][1])
    assert all(type(v) is float for v in (*runs[1][1]["values"], runs[1][1]["total"], runs[1][1]["best"]))
    assert step.stats()["compiles"] <= 6, step.stats()["misses"]


def test_counts_in_attributes_globals_and_lists():
    o, log = Holder(correct=0, seen=0.0), []

    def fn(x):
        n = (x > 0).sum().item()
        o.correct += n
        o.seen += x.sum().item()
        log.append(n)
        log.append([n, x.max().item()])
        return o.correct

    traced, r = jit.trace(fn), random.Random(1)
    total = 0
    for _ in range(20):
        x = vec(*[r.uniform(-1, 1) for _ in range(4)])
        total += int((x > 0).sum())
        assert traced(x) == total and type(o.correct) is int and type(o.seen) is float
        assert log[-1] == [int((x > 0).sum()), x.max().item()] and type(log[-2]) is int
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


def test_a_number_may_be_an_operand_of_tensors():
    def fn(x, y):
        s = x.max().item()
        y.mul_(s)
        z = y / s + ingot.full((2,), s) + ingot.tensor(s)
        return z.clamp(max=s), ingot.zeros(2).fill_(s), y[: int(s)], s

    traced = jit.trace(fn)
    for v in (1.0, 2.0, 1.0, 0.5, 2.0):
        y = vec(1.0, 3.0)
        got, want = traced(vec(v), y.clone()), fn(vec(v), y.clone())
        assert [repr(g) for g in got] == [repr(w) for w in want] and got[0].dtype is ingot.float32


def test_a_read_gives_the_value_at_that_time():
    def fn(x):
        before = x[0].item()
        x += 1.0
        return before, x[0].item(), before < 1.5

    traced = jit.trace(fn)
    for v in (1.0, 2.0, 0.5, 3.0):
        assert traced(vec(v)) == (v, v + 1, v < 1.5)


def test_unused_numbers_cost_nothing():
    def fn(x):
        unused = loss_of(x).item()  # noqa: F841
        return x * 2

    traced = jit.trace(fn)
    for i in range(5):
        assert traced(vec(float(i))).item() == 2.0 * i
    assert traced.stats()["compiles"] == 1 and traced.stats()["kernels"] == 1


def test_host_functions_get_numbers(capsys):
    seen = []

    @jit.trace
    def fn(x):
        v = loss_of(x).item()
        jit.host(seen.append)(v)
        jit.host(lambda: seen.append(v + 0.5))()
        print("loss", v)
        return v

    for i in (1.0, 2.0, 3.0, 2.0):
        assert fn(vec(i)) == i * i
    assert seen == [1.0, 1.5, 4.0, 4.5, 9.0, 9.5, 4.0, 4.5] and all(type(v) is float for v in seen)
    assert capsys.readouterr().out.split() == ["loss", "1.0", "loss", "4.0", "loss", "9.0", "loss", "4.0"]


def test_generators_and_closures_of_the_function_see_numbers():
    def fn(x):
        v = loss_of(x).item()
        add = lambda k: v + k
        return sum(add(k) for k in range(3)), [add(1), v]

    traced = jit.trace(fn)
    for i in (1.0, 2.0, 3.0):
        assert same_number(traced(vec(i)), fn(vec(i)))
    assert traced.stats()["compiles"] == 1


def test_a_list_that_a_host_function_fills_is_filled_once():
    log = []

    @jit.trace
    def fn(x):
        jit.host(log.append)(x.sum().item())
        return x * 2

    for i in range(6):
        assert fn(vec(float(i % 3))).tolist() == [2.0 * (i % 3)]
        assert log == [float(k % 3) for k in range(i + 1)]
    assert fn.stats()["compiles"] == 1


def test_a_list_that_both_fill_is_refused():
    log = []

    @jit.trace
    def fn(x):
        log.append(1.0)
        jit.host(log.append)(x.sum().item())

    with pytest.raises(jit.TraceError, match="a host function"):
        fn(vec(1.0))


def in_place(x, v):
    y = x.clone()
    y.mul_(v).add_(v)
    return y


# (what is made of a tensor and a number that was read, whether every value of the number has a recording of its own)
BESIDE_TENSORS = [
    (lambda x, v: x * v, False), (lambda x, v: v * x, False), (lambda x, v: v - x, False), (lambda x, v: x / v, False),
    (lambda x, v: v / (1 + x * x), False), (lambda x, v: x.double() * v + v, False), (in_place, False),
    (lambda x, v: x > v, False), (lambda x, v: ingot.where(x > v, x, v), False), (lambda x, v: x * v / (v + 1), False),
    (lambda x, v: x[0, 0] * v, False), (lambda x, v: ingot.where(x > 0.5, v, x.double()), False),
    (lambda x, v: x.clamp(max=v), False), (lambda x, v: x.masked_fill(x > 0.5, v), False),
    (lambda x, v: x.detach() ** v, False), (lambda x, v: v ** x.detach(), False),
    (lambda x, v: ingot.maximum(x, ingot.tensor(0.1)) * v, False),
    (lambda x, v: x.half() * v, True), (lambda x, v: x.long() + v, True), (lambda x, v: x ** v, True),
    (lambda x, v: ingot.add(x, x, alpha=v), True), (lambda x, v: x.cfloat() * v, True),
]


@pytest.mark.parametrize("number", range(len(BESIDE_TENSORS)))
@pytest.mark.parametrize("read", [loss_of, count_of])
def test_numbers_beside_tensors_are_part_of_the_graph(number, read):
    fn, has_each = BESIDE_TENSORS[number]

    def program(x):
        y = fn(x, read(x).item())
        g = ingot.autograd.grad(y.sum(), x)[0] if y.requires_grad and not y.is_complex() else None
        return y.detach(), g

    traced, r = jit.trace(program), np.random.default_rng(0)
    for _ in range(6):
        x = ingot.tensor((r.random((3, 4)) * 1.5 + 0.01).astype(np.float32)).requires_grad_()
        got, want = traced(x), program(x)
        assert got[0].dtype is want[0].dtype and got[0].tolist() == want[0].tolist()
        assert (got[1] is None) == (want[1] is None) and (want[1] is None or got[1].tolist() == want[1].tolist())
    if not has_each:
        assert traced.stats()["compiles"] <= 2, traced.stats()["misses"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("fn", [lambda x, v: x ** v, lambda x, v: v ** x, lambda x, v: ingot.where(x > 1, x, v),
                                lambda x, v: ingot.where(x > 1, v, x)], ids=["x ** v", "v ** x", "where", "where not"])
def test_numbers_at_the_edges_beside_tensors(fn, dtype):
    values = [0.3, 1.7, 2.0, 3.0, -1.0, 1.0, 0.5, 0.0, -0.0, -2.5, 1e-40, 1e30, 0.1, *map(float, ("inf", "-inf", "nan"))]

    def program(x, t):
        return fn(x, t.item())

    traced = jit.trace(program)
    for v in values:
        x = ingot.tensor([0.0, -0.0, 0.7, 1.0, -1.5, 4.0, float("inf"), float("nan")], dtype=getattr(ingot, dtype))
        t = ingot.tensor(v, dtype=ingot.float64)
        assert plain(traced(x, t)) == plain(program(x, t)), v
    if dtype != "bfloat16":
        assert traced.stats()["compiles"] <= 6, traced.stats()["misses"]      # squares, roots and the like


def test_a_weight_that_is_read_and_kept_outside_is_one_recording():
    state = {"alpha": 1.0}

    def run(wrap):
        state["alpha"] = 1.0
        w = ingot.zeros(1, requires_grad=True)
        opt = optim.Adam([w], 0.1)

        def step(x):
            for _ in range(2):
                opt.zero_grad()
                (w.exp() * (state["alpha"] * x).mean()).sum().backward()
                opt.step()
                state["alpha"] = w.exp().item()
            return state["alpha"]
        fn = wrap(step)
        return [fn(ingot.ones(3) + i) for i in range(8)], fn

    want, _ = run(lambda f: f)
    got, traced = run(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64])
def test_bins_over_the_range_of_the_data(dtype):
    """The range is read at each call, and decides the way only where it is empty or not finite."""
    def f(x):
        return ingot.histc(x, 7)

    traced = jit.trace(f)
    for i in range(24):
        ingot.manual_seed(i)
        x = ingot.rand(20 + i % 3, dtype=dtype) * (i % 5)
        assert plain(traced(x)) == plain(f(x)), i
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]
    for worst in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite"):
            traced(ingot.tensor([0.0, worst, 3.0], dtype=dtype))
    assert plain(traced(x)) == plain(f(x))


def test_functions_inside_a_host_function_are_host_functions():
    def extremes(x):
        return [fn(x).item() for fn in (lambda t: t.min(), lambda t: t.max())]

    before = set(OPEN_READERS)
    try:
        computes_with_numbers(extremes)
        inside = [c for c in extremes.__code__.co_consts if hasattr(c, "co_code")]
        assert inside and OPEN_READERS - before == {extremes.__code__, *inside}
    finally:
        OPEN_READERS.intersection_update(before)
