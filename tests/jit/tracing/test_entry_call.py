"""Quick calls: taken for a call like the last one, and left when anything is different."""

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir import config
from ingot.jit.tracing.entry_call import MOST
from side_by_side import plain, vec

W, B = vec(0.5, 1.5, -2.0), vec(1.0, 0.0, 3.0)


def five(x):
    return ((x * W + B).relu() - x) * 0.5


def warm(fn, *args):
    traced = jit.trace(fn)
    traced = getattr(traced, "_jit_trace", traced)         # of a module
    for _ in range(4):
        traced(*args)
    assert traced._quick is not None
    return traced


@pytest.mark.parametrize("fn", [five, lambda x: (x * 2, {"a": x + W}), lambda x: ingot.zeros(3) + 1, lambda x: [x.sum()]])
def test_quick_calls_give_eager_results(fn):
    traced = warm(fn, vec())
    for i in range(5):
        x = vec(1.0 * i, -2.0, 0.5)
        assert plain(traced(x)) == plain(fn(x))
    assert traced.stats()["calls"] == 9 and traced.stats()["compiles"] == 1


STRANGE = {
    "another shape": lambda: ingot.ones(2, 3), "another dtype": lambda: vec().double(),
    "a gradient": lambda: vec().requires_grad_(), "every second": lambda: ingot.arange(6.0)[::2],
    "a parameter": lambda: nn.Parameter(vec()), "read only": lambda: vec().expand(3),
    "a history": lambda: vec().requires_grad_() * 1}


@pytest.mark.parametrize("fn", [five, lambda x: ingot.zeros(3), lambda x: (x * 1).stride(), lambda x: x.is_contiguous()])
@pytest.mark.parametrize("kind", STRANGE)
def test_other_arguments_take_the_full_path(fn, kind):
    traced = warm(fn, vec())
    for _ in range(3):
        x = STRANGE[kind]()
        want, got = fn(x), traced(x)
        assert plain(got) == plain(want)
        if isinstance(want, ingot.Tensor):
            assert got.requires_grad == want.requires_grad and got.stride() == want.stride()
        assert plain(traced(vec())) == plain(fn(vec()))


class Scaler:
    def __init__(self, k):
        self.k, self.w = k, vec()

    def scaled(self, x, flag=True):
        return x * self.w * self.k if flag else x + 1


MIXED = {      # functions of what is given to them each time, and what else they may be given
    "an array": (lambda x: ingot.from_numpy(x) * 2, (vec().numpy(),), [
        (np.ones(4, "f"),), (np.ones(3),), (vec(4.0, 5.0, 6.0).numpy(),), (np.ones((3, 2), "f")[:, 0],),
        (np.ones(6, "f")[::2],)]),
    "an array and a tensor": (lambda t, x: (t + ingot.tensor(x)).sum().item(), (vec(), np.ones(3)), [
        (vec(), np.zeros(3)), (vec(3.0, 4.0, 5.0), np.ones(3, "f")), (vec().requires_grad_(), np.ones(3))]),
    "a result that is read": (lambda x: (x * 2).tolist(), (vec(),), [(vec(5.0, 6.0, 7.0),), (ingot.ones(2),)]),
    "an object": (Scaler.scaled, (Scaler(2.0), vec()), [(Scaler(3.0), vec()), (Scaler(4.0), vec(1.0, 1.0, 1.0))]),
    "a flag": (lambda x, flag, name: x * 2 if flag else x + len(name or ""), (vec(), True, None), [
        (vec(), False, None), (vec(), False, "ab"), (vec(), 1, None), (vec(), False, "abc")]),
}


@pytest.mark.parametrize("kind", MIXED)
def test_arrays_and_objects_among_the_arguments(kind):
    fn, first, others = MIXED[kind]
    traced = warm(fn, *first)
    for args in others:
        for given in (args, first, args, first, first):
            assert plain(traced(*given)) == plain(fn(*given))
    assert traced._quick is not None


def test_called_methods_are_checked(monkeypatch):
    scaler, other = Scaler(2.0), Scaler(3.0)
    traced = warm(lambda x: scaler.scaled(x) * 2, vec())
    with monkeypatch.context() as patch:
        patch.setattr(traced, "_call", no_long_road)
        assert plain(traced(vec())) == plain(scaler.scaled(vec()) * 2)
    scaler.scaled = other.scaled
    assert plain(traced(vec())) == plain(other.scaled(vec()) * 2)
    del scaler.scaled
    monkeypatch.setattr(Scaler, "scaled", lambda self, x, flag=True: x - self.k)
    assert plain(traced(vec())) == plain((vec() - 2.0) * 2)


def test_alternating_kinds_of_calls_keep_their_quick_calls():
    """The last recording is tried first, and used ones are kept."""
    state = {"mode": "a"}
    traced = jit.trace(lambda x: x * len(state["mode"]))
    for k in range(40):
        state["mode"] = "a" * (1 + k % 4)
        for _ in range(1 + k % 3):
            assert plain(traced(vec())) == plain(vec() * (1 + k % 4))
    assert traced.stats()["compiles"] <= 4


def test_attributes_of_objects_are_checked():
    scaler = Scaler(2.0)
    traced = warm(scaler.scaled, vec())
    for k in (3.0, 4.0, True, 5.0):
        scaler.k = k
        assert plain(traced(vec())) == plain(scaler.scaled(vec()))
    scaler.w = vec(7.0, 8.0, 9.0)
    assert plain(traced(vec())) == plain(scaler.scaled(vec()))


def test_captured_tensors_and_numbers_are_checked():
    state = {"w": vec(), "k": 2.0, "flag": True}
    fn = lambda x: x * state["w"] * state["k"] if state["flag"] else x
    traced = warm(fn, vec())
    for key, value in (("w", vec(5.0, 6.0, 7.0)), ("k", 3.0), ("flag", False), ("flag", True), ("k", 4.0)):
        state[key] = value
        for _ in range(4):
            assert plain(traced(vec())) == plain(fn(vec()))
    state["w"].add_(1)
    assert plain(traced(vec())) == plain(fn(vec()))
    state["w"].data = vec(9.0, 9.0, 9.0)
    assert plain(traced(vec())) == plain(fn(vec()))


def test_the_mode_is_checked():
    m = nn.Linear(3, 2)
    with ingot.no_grad():
        traced = warm(m, vec())
    assert traced(vec()).requires_grad
    with ingot.no_grad():
        assert not traced(vec()).requires_grad
        with config.override(jit=False):
            calls = traced.stats()["calls"]
            traced(vec())
            assert traced.stats()["calls"] == calls
        with jit.profile() as p:
            traced(vec())
        assert p is not None


def test_wrong_numbers_of_arguments():
    traced = warm(five, vec())
    for args in ((), (vec(), vec())):
        with pytest.raises(TypeError):
            traced(*args)


def test_a_call_inside_of_a_recording_is_recorded():
    inner = warm(five, vec())
    outer = jit.trace(lambda x: inner(x) * 2)
    for x in (vec(), vec(3.0, 4.0, 5.0), vec(-1.0, 0.0, 2.0)):
        assert plain(outer(x)) == plain(five(x) * 2)


def test_a_captured_tensor_with_other_memory_or_a_gradient():
    w = vec()
    fn = lambda x: x * w
    traced = warm(fn, vec())
    w.data = vec(9.0, 8.0, 7.0)
    for _ in range(4):
        assert plain(traced(vec())) == plain(fn(vec()))
    assert traced._quick is not None
    w.requires_grad_()
    for _ in range(4):
        assert traced(vec()).requires_grad


def no_long_road(args, kwargs):
    raise AssertionError("the call left the quick path")


def test_values_derived_from_weights_are_checked(monkeypatch):
    net, x = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU()).eval(), ingot.randn(1, 3, 6, 6)
    with ingot.no_grad():
        traced = warm(net, x)
        weight = net[0].weight.detach().numpy()

        def is_right():
            for _ in range(3):
                np.testing.assert_allclose(traced(x).numpy(), net(x).numpy(), atol=1e-5)
            with monkeypatch.context() as patch:
                patch.setattr(traced, "_call", no_long_road)
                np.testing.assert_allclose(traced(x).numpy(), net(x).numpy(), atol=1e-5)

        is_right()
        weight[...] *= 3.0                     # lent memory is written without a version
        is_right()
        net[0].weight.mul_(2.0)
        is_right()
        net[1].running_var.fill_(3.0)
        is_right()
        net[0].weight.data = ingot.randn(4, 3, 3, 3)
        is_right()
    assert traced.stats()["compiles"] <= 2


def test_weights_that_change_at_every_call_leave_no_stale_copies():
    net, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval(), ingot.randn(1, 3, 6, 6)
    with ingot.no_grad():
        traced = warm(net, x)
        for _ in range(2 * MOST):
            net[0].weight.add_(0.1)
            np.testing.assert_allclose(traced(x).numpy(), net(x).numpy(), atol=1e-5)
    assert traced._quick is None


def test_a_tensor_passed_twice_is_another_kind_of_call():
    f = jit.trace(lambda a, b, c: a + c if a is b else a * 2 + b)
    x, y, z = (ingot.full((8,), float(n)) for n in (1, 3, 7))
    for _ in range(3):
        for args, expected in (((x, y, z), 5), ((x, x, z), 8), ((y, y, x), 4), ((x, y, x), 5), ((x, x, x), 2), ((y, x, x), 7)):
            for _ in range(4):
                assert f(*args).tolist() == [expected] * 8, args


def test_a_tensor_passed_twice_takes_the_quick_path(monkeypatch):
    f, x = jit.trace(lambda a, b: a * b + 1), ingot.full((8,), 2.0)
    for _ in range(4):
        f(x, x)
    monkeypatch.setattr("ingot.jit.tracing.trace.sharing", None)          # which the full path calls
    assert f(x, x).tolist() == [5.0] * 8


def scaled_by_an_attribute(o):
    return lambda x, k: x * o.k + W


def read_and_given_back(o):
    return lambda x, k: (x * k, o.k * 2, k)


def divided_by(o):
    return lambda x, k: x / k - o.k / (k + 1.5)


def decided_by(o):
    return lambda x, k: x * k if k > 1 else x + o.k


def with_powers(o):
    return lambda x, k: x ** k + nn.functional.leaky_relu(x - 1, o.k)


def of_integers(o):
    return lambda x, k: (x.long() * k, x.long() + o.k)


def counted(o):
    return lambda x, k: x * len(o.log) + k


def with_sizes(o):
    return lambda x, k: x.sum() / x.shape[0] * k + ingot.zeros(int(o.k) % 3 + 2).sum()


NUMBERS = [0.5, 1.5, 0.25, 3.0, 2.0, 1.0, -0.0, 0.0, 7.25, 2.0, float("inf"), float("nan"), 2.0, 4.0, 2, 3, True,
           np.float32(0.5), np.float64(2.5), 0.125, 1e300, -1.0, 5.0]


@pytest.mark.parametrize("make", [scaled_by_an_attribute, read_and_given_back, divided_by, decided_by, with_powers, of_integers,
                                  counted, with_sizes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("where", ["argument", "attribute", "both"])
def test_changing_numbers_are_read_at_each_call(make, where):
    def life(wrap):
        o = Scaler(0.75)
        o.log = [1]
        fn, got = wrap(make(o)), []
        for i, v in enumerate([*[0.3 + 0.01 * i for i in range(10)], *[v for n in NUMBERS for v in (n, 0.61, 0.62)]]):
            o.k = v if where != "argument" else 0.75
            o.log.append(v)
            with np.errstate(all="ignore"):
                try:
                    got.append(repr(plain(fn(vec(1.0, 2.0, 0.5 * i), v if where != "attribute" else 0.5))))
                except (ZeroDivisionError, ValueError, OverflowError) as error:
                    got.append(str(error))
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_changing_numbers_take_the_quick_path(monkeypatch):
    o = Scaler(0.5)
    traced = jit.trace(lambda x, k: x * o.k + k)
    for i in range(9):
        o.k *= 0.9
        traced(vec(), 1.0 / (i + 1))
    monkeypatch.setattr(type(traced), "_call", lambda *_: pytest.fail("the full path"))
    for k in (0.1, 0.2, 0.3):
        o.k = k
        assert plain(traced(vec(), k * 3)) == plain(vec() * k + k * 3)
