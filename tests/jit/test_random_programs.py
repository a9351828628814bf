"""A traced function gives eager's result or a TraceError, never anything else: how arguments lie in memory, gradients that are
asked for after the call, many threads, seeded random programs over changing sizes, and random modules of Python state."""

import copy
import pickle
import random
import threading

import numpy as np
import pytest

import ingot
from fuzzed_modules import borders
from fuzzed_modules.generate import source
from fuzzed_modules.life import compare
from fuzzed_modules.reduce import reduced
from ingot import jit, nn, optim
from outcomes import outcome, plain
from random_programs import LONGEST, RandomProgram, _pick, bits
from seeds import seeds

F = nn.functional


def normal(*shape, seed=0):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape).astype("f"))


# How arguments lie in memory.

ROWS = (lambda: ingot.arange(6.0).reshape(2, 3), lambda: ingot.arange(6.0).reshape(3, 2).t(),
        lambda: ingot.arange(3.0).expand(2, 3), lambda: ingot.arange(8.0).reshape(2, 4)[:, :3],
        lambda: ingot.arange(12.0).reshape(4, 3)[::2])
READONLY = np.arange(6, dtype="f").reshape(2, 3)
READONLY.setflags(write=False)


def writes_flat(x):
    y = x.reshape(-1)
    y.add_(1)
    return y


def writes_contiguous(x):
    y = x.contiguous()
    y.mul_(2)
    return y


@pytest.mark.parametrize("fn", [
    lambda x: x * 2 if x.is_contiguous() else x * 3, lambda x: x * x.stride(0), lambda x: x.view(-1) + 1, writes_flat,
    writes_contiguous, lambda x: x.add_(1), lambda x: (x * 1).t().stride()])
def test_the_order_in_memory_is_part_of_what_was_recorded(fn):
    traced = jit.trace(fn)
    for make in (*ROWS, *ROWS[::-1], lambda: ingot.from_numpy(READONLY), *ROWS):
        mine, yours = make(), make()
        want, got = outcome(fn, mine), outcome(traced, yours)
        assert got == want and bits(yours) == bits(mine), make().stride()


def test_strides_of_symbolic_sizes():
    for fn in (lambda x: x * 2 if x.stride(0) > 50 else x, lambda x: x + x.stride(0), lambda x: x.t().stride()):
        traced = jit.trace(fn)
        for n in (3, 5, 7, 200, 4, 60):
            assert outcome(traced, ingot.ones(2, n)) == outcome(fn, ingot.ones(2, n)), n


def writes_a_slice(x):
    y = x[:, :5].reshape(-1)
    y.add_(1)
    return y


def test_slices_that_are_all_of_a_symbolic_size():
    for fn in (writes_a_slice, lambda x: x[:, :5].is_contiguous(), lambda x: x[:, : x.shape[1] // 2 + 2].is_contiguous()):
        traced = jit.trace(fn)
        for b, n in ((2, 3), (2, 5), (4, 7), (2, 20), (3, 3), (2, 4), (5, 5), (3, 5)):
            mine, yours = normal(b, n), normal(b, n)
            assert outcome(traced, yours) == outcome(fn, mine) and bits(yours) == bits(mine), (b, n)


def test_addresses_are_refused():
    assert outcome(jit.trace(lambda x: x.data_ptr()), ingot.ones(2))[0] == "trace"


def test_parts_of_one_memory_are_no_aliases():
    def fn(x, y):
        x.add_(1)
        return y * 2

    traced = jit.trace(fn)
    for make in (lambda t: (t[:2], t[:2]), lambda t: (t[:2], t[2:]), lambda t: (t[1:3], t[:2])):
        want = outcome(fn, *make(ingot.arange(4.0)))
        assert outcome(traced, *make(ingot.arange(4.0))) in (want, ("trace", outcome(traced, *make(ingot.arange(4.0)))[1]))


def test_a_leaf_is_another_kind_of_argument():
    traced = jit.trace(lambda x: x.mul_(2))
    assert outcome(traced, ingot.ones(2))[0] == "ok"
    assert outcome(traced, ingot.ones(2).requires_grad_())[0] == "error"
    traced = jit.trace(lambda x: x * (2 if x.is_leaf else 3))
    for make in (lambda t: t, lambda t: t * 1, lambda t: t):
        x = make(ingot.ones(2).requires_grad_())
        assert bits(traced(x)) == bits(x * (2 if x.is_leaf else 3))


# Gradients that are asked for after the call.


class Straight(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def hooked(x, w):
    y = x * w
    y.register_hook(lambda g: g * 3)
    return y


def ungraded(x, w):
    with ingot.no_grad():
        y = x * 2
    return y * w


def clamped(x, w):
    y = (x * w).exp()
    with ingot.no_grad():
        z = y.clone().clamp_(max=1)
    return y * z


def overwritten(x, w):
    y = x * 1
    z = y.exp()
    z.add_(1)
    return z * w


@pytest.mark.parametrize("fn", [
    lambda x, w: x.detach() * w, ungraded, lambda x, w: Straight.apply(x * w, 3.0), hooked, clamped, overwritten,
    lambda x, w: (x.round() - x).detach() + x + w, lambda x, w: x * w + (x * w).detach(),
    lambda x, w: (x.sort(0)[0] * w, x.sum())])
def test_gradients_after_the_call_go_where_eager_ones_go(fn):
    traced = jit.trace(fn)
    for i in range(4):
        seen = []
        for run in (fn, traced):
            x, w = normal(3 + i, 4, seed=i).requires_grad_(), normal(4, seed=9).requires_grad_()
            made = run(x, w)
            made = made if isinstance(made, tuple) else (made,)
            seen.append((outcome(sum([m.sum() for m in made]).backward), plain(made),
                         [None if t.grad is None else bits(t.grad) for t in (x, w)]))
        assert seen[1] == seen[0], f"call {i}"


def added_up(x, w):
    """Gradients of x and w are sums of many terms, which come in eager's order."""
    h = x
    for _ in range(3):
        h = h * w + (x * h).sin() - x
    return h


def added_up_in_parts(x, w):
    a, b, c = x.sin(), x * w, (x + x.sin()).exp()
    top, _ = c.sort(0)
    return (a * b + top * b.tanh() * x)[..., :2] * w[:2]


def differences(x, w):
    """Neighbours along both dims, whose parts are read in another order than they are made."""
    up, left = x[:-2], x[:, :-2]
    down, right = x[2:] * w, x[:, 2:] * w[2:]
    return down - up, right * 0.3 - left


@pytest.mark.parametrize("fn", [added_up, added_up_in_parts, differences])
def test_gradients_after_the_call_are_added_up_in_eagers_order(fn):
    traced = jit.trace(fn)
    for i in range(4):
        seen = []
        for run in (fn, traced):
            x, w = normal(6, 4, seed=i).requires_grad_(), normal(4, seed=9).requires_grad_()
            made = run(x, w)
            made = made if isinstance(made, tuple) else (made,)
            ingot.autograd.backward(made, [normal(*m.shape, seed=5) for m in made])
            seen.append((bits(x.grad), bits(w.grad)))
        assert seen[1] == seen[0], f"call {i}"


def test_hooks_of_arguments_run_once():
    fn = jit.trace(lambda x: x * 2)
    for i in range(4):
        x = ingot.ones(2 + i).requires_grad_()
        x.register_hook(lambda g: g * 10)
        fn(x).sum().backward()
        assert x.grad.tolist() == [20.0] * (2 + i)


@pytest.mark.parametrize("to_none", [False, True])
def test_zeroed_gradients(to_none):
    def life(wrap):
        w = ingot.ones(3).requires_grad_()
        opt, seen = optim.SGD([w], 0.1, momentum=0.9), []

        def step(x):
            opt.zero_grad(set_to_none=to_none)
            loss = (w * x).square().sum()
            loss.backward()
            opt.step()
            return loss

        step = wrap(step)
        for i in range(5):
            seen.append((bits(step(ingot.arange(3.0) + i)), bits(w), bits(w.grad)))
        return seen

    assert life(jit.trace) == life(lambda f: f)


# Numbers.


@pytest.mark.parametrize("dtype", [ingot.bfloat16, ingot.float16])
def test_constants_of_narrow_floats(dtype):
    for fn in (lambda x: ingot.full((3,), 2.5, dtype=dtype), lambda x: x // -1.25, lambda x: ingot.where(x > 2, x, 0.3),
               lambda x: ingot.zeros_like(x) - 1.5, lambda x: 0.1 - x):
        traced = jit.trace(fn)
        for _ in range(2):
            x = ingot.arange(6.0).to(dtype)
            assert bits(traced(x).float()) == bits(fn(x).float())


def test_nan_as_a_number():
    fn = jit.trace(lambda x, k: x * k)
    for k in (1.0, float("nan"), float("nan"), 2.0, -0.0, 0.0):
        assert bits(fn(ingot.ones(2), k)) == bits(ingot.ones(2) * k)


def test_transposed_convolution_under_autocast_with_changing_sizes():
    up, down = nn.ConvTranspose2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)

    def fn(x):
        with ingot.autocast("cpu", dtype=ingot.bfloat16):
            return down(up(x))

    traced = jit.trace(fn)
    with ingot.no_grad():
        for b, s in ((2, 8), (4, 12), (3, 9)):
            x = normal(b, 3, s, s)
            want, got = fn(x), traced(x)
            assert got.dtype is want.dtype is ingot.bfloat16
            assert (want.float() - got.float()).abs().max().item() < 0.05


# Threads and copies.


def test_threads_that_record_at_once():
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    fn, wrong = jit.trace(lambda x, k: net(x).softmax(-1) * k if x.shape[0] % 2 else net(x) + k), []

    def work(seed):
        try:
            rng = random.Random(seed)
            for i in range(12):
                x, k = normal(rng.randrange(1, 12), 6, seed=i), float(rng.randrange(3))
                with ingot.no_grad():
                    want = net(x).softmax(-1) * k if x.shape[0] % 2 else net(x) + k
                    if not ingot.allclose(fn(x, k), want, rtol=1e-5, atol=1e-6):
                        wrong.append((seed, i, "differs"))
        except Exception as e:
            wrong.append((seed, repr(e)))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong


@jit.trace
def decorated(x):
    return x * 2


def test_traced_functions_are_copied_and_pickled():
    assert pickle.loads(pickle.dumps(decorated)) is decorated and copy.deepcopy(decorated) is decorated
    net = jit.trace(nn.Linear(3, 2))
    x = ingot.ones(4, 3)
    for how in (copy.deepcopy, copy.copy, lambda t: pickle.loads(pickle.dumps(t))):
        again = how(net)
        for _ in range(2):
            assert bits(again(x)) == bits(net(x))


# Random programs over changing sizes.


class Resized(RandomProgram):
    """A random program whose arguments have other sizes at every call; what it does depends on sizes that a trace can see."""

    def __call__(self, *inputs):
        values = list(inputs)
        for kind, first, second, number in self.steps:
            floats = [v for v in values if v.dtype.is_floating_point]
            made = getattr(self, kind)(_pick(floats, first), _pick(floats, second), number)
            if made.numel() <= LONGEST:
                values.append(made)
        return values[-4:]

    def sized(self, seed, grow):
        kept = self.shapes
        self.shapes = [tuple([n if n == 1 else grow(n) for n in s]) for s in kept]
        try:
            return self.arguments(seed)
        finally:
            self.shapes = kept


GROWTH = (lambda n: n, lambda n: n + 3, lambda n: 2 * n + 1, lambda n: max(2, n // 2), lambda n: n, lambda n: n + 5)


@pytest.mark.parametrize("block", range(4))
def test_random_programs_over_changing_sizes(block):
    for seed in range(7000 + 4 * block, 7004 + 4 * block):
        program = Resized(seed)
        traced = jit.trace(program.__call__)
        for call, grow in enumerate(GROWTH):
            mine, yours = program.sized(seed + call, grow), program.sized(seed + call, grow)
            with ingot.no_grad():
                want, got = outcome(program, *mine), outcome(traced, *yours)
            assert got[0] == "trace" or (got == want and plain(yours) == plain(mine)), f"seed {seed}, call {call}"


# Random modules of Python state.

BLOCK = 20      # modules of one test


@pytest.mark.drawn(runs=20)         # a block takes 3 s
@pytest.mark.parametrize("block", range(100))
def test_random_modules_of_python_state(block):
    verdicts = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        verdicts[seed], _ = compare(source(seed))
        if verdicts[seed].kind == "wrong":
            pytest.fail(f"seed {seed}, call {verdicts[seed].call}: {verdicts[seed].text}\n{reduced(source(seed))}")
    assert sum(v.kind == "same" for v in verdicts.values()) >= BLOCK // 2, verdicts


@pytest.mark.parametrize("block", seeds(3, 60))
def test_random_borders_of_calls(block):
    """Arguments that share memory and have histories, writes to them, results over them, and what follows outside."""
    verdicts = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        verdicts[seed], _ = compare(borders.source(seed))
        if verdicts[seed].kind == "wrong":
            text = borders.source(seed)
            pytest.fail(f"seed {seed}, call {verdicts[seed].call}: {verdicts[seed].text}\n{reduced(text)}")
    assert sum(v.kind == "same" for v in verdicts.values()) >= BLOCK // 2, verdicts


def test_a_wrong_module_is_reduced():
    """A trace that freezes a global variable is found, and the module that shows it is reduced to what matters."""
    text = "k = 1\nl = []\ndef fn(x):\n    l.append(2)\n    if l:\n        return x * k\ndef args(i): return ingot.ones(1),\n" \
           "def turn(i):\n    global k\n    l.clear()\n    k = i\n"

    def freezes(t):
        return "return x * k" in t and "k = i" in t

    assert reduced(text, freezes).split("\n") == ["def fn(x):", "    return x * k", "", "def turn(i):", "    k = i"]
