"""Traced functions and the world around them: random streams that are set back, hooks that come later, files, Python's own
random numbers, lazy modules, `math` of changing numbers. Each program gives eager results or is refused."""

import contextlib
import copy
import io
import json
import math
import operator
import os
import pathlib
import random

import numpy as np
import pytest

import ingot
from call_sequences import life, nothing
from ingot import jit, nn, optim
from ingot.utils.checkpoint import checkpoint


def later(made):
    """(program without its change) for those that only draw."""
    return lambda: (made(), nothing, lambda: ingot.rand(2))


def forked():
    def fn(x):
        with ingot.random.fork_rng():
            a = ingot.rand(3)
        return a + x + ingot.rand(3)
    return fn


def forked_and_seeded():
    def fn(x):
        with ingot.random.fork_rng():
            ingot.manual_seed(1)
            a = ingot.rand(3)
        return a + x
    return fn


def put_back():
    def fn(x):
        state = ingot.get_rng_state()
        a = ingot.rand(3)
        ingot.set_rng_state(state)
        return a + ingot.rand(3) * x
    return fn


def seeded():
    def fn(x):
        ingot.manual_seed(3)
        return x + ingot.rand(3)
    return fn


def moved_without_a_draw():
    def fn(x):
        state = ingot.get_rng_state()
        a = ingot.rand(3) + x
        ingot.set_rng_state(state)
        return a
    return fn


def own_generator():
    def fn(x):
        g = ingot.Generator().manual_seed(1)
        return ingot.rand(3, generator=g) + x
    return fn


def under_a_branch():
    def fn(x):
        with ingot.random.fork_rng():
            a = ingot.rand(3)
            if x.sum() > 6:
                a = a + ingot.rand(3)
        return a + x
    return fn


def checkpointed(reentrant):
    def made():
        layer = nn.Linear(3, 3)

        def fn(x):
            layer.zero_grad()
            rows = x.expand(8, 3).detach().requires_grad_()
            y = checkpoint(lambda x: nn.functional.dropout(layer(x), 0.5), rows, use_reentrant=reentrant)
            y.sum().backward()
            return y, layer.bias.grad * 1
        return fn
    return made


def checkpointed_forward():
    layer = nn.Linear(3, 3)

    def fn(x):
        return checkpoint(lambda x: nn.functional.dropout(layer(x), 0.5), x.expand(8, 3), use_reentrant=False)
    return fn


DRAWS = {made.__name__: made for made in (forked, forked_and_seeded, put_back, seeded, moved_without_a_draw, own_generator,
                                          under_a_branch, checkpointed_forward)}
DRAWS |= {"checkpointed": checkpointed(False), "checkpointed_reentrant": checkpointed(True)}


@pytest.mark.parametrize("name", DRAWS)
def test_random_streams_end_where_eager_ones_do(name):
    want, _ = life(later(DRAWS[name]), lambda fn: fn)
    got, traced = life(later(DRAWS[name]), jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 2


def test_a_mask_that_is_drawn_again_is_the_same_one():
    ingot.manual_seed(0)
    step = jit.trace(checkpointed(True)())
    for _ in range(4):
        y, grad = step(ingot.ones(3).requires_grad_())
        assert ((y != 0) * 2.0).sum(0).tolist() == grad.tolist()


def test_a_state_is_no_tensor_and_other_states_are_refused():
    outside = ingot.get_rng_state()
    for fn in (lambda x: (x, ingot.get_rng_state()), lambda x: ingot.set_rng_state(outside) or x,
               lambda x: x * ingot.initial_seed(), lambda x: x * ingot.seed()):
        with pytest.raises(jit.TraceError, match="random generator"):
            jit.trace(fn)(ingot.ones(3))


# Hooks that are registered, or modes that are entered, after a function was recorded.


def leaf_hook():
    w = ingot.ones(3, requires_grad=True)

    def fn(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad * 1
    return fn, lambda: w.register_hook(lambda g: g * 3), nothing


def leaf_hook_asked_for_a_gradient():
    w = ingot.ones(3, requires_grad=True)
    return (lambda x: ingot.autograd.grad((w * x).sum(), [w])[0]), lambda: w.register_hook(lambda g: g * 3), nothing


def leaf_hook_removed():
    w = ingot.ones(3, requires_grad=True)
    handle = w.register_hook(lambda g: g * 3)
    return (lambda x: ingot.autograd.grad((w * x).sum(), [w])[0]), handle.remove, nothing


def argument_hook():
    hooked = []

    def fn(x):
        return ingot.autograd.grad((x * x).sum(), [x])[0]

    def call(x):
        x.requires_grad_()
        if hooked:
            x.register_hook(hooked[0])
        return call.traced(x)

    call.traced = fn
    return call, lambda: hooked.append(lambda g: g * 3), nothing


def accumulated_hook():
    w, times = ingot.ones(3, requires_grad=True), []

    def fn(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad * 1
    return fn, lambda: w.register_post_accumulate_grad_hook(lambda p: times.append(1)), lambda: len(times)


def optimizer_hook():
    w, times = nn.Parameter(ingot.ones(3)), []
    opt = optim.SGD([w], lr=0.1)

    def fn(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        return w * 1
    return fn, lambda: opt.register_step_post_hook(lambda *a: times.append(1)), lambda: len(times)


def saved_hooks():
    w, entered = ingot.ones(3, requires_grad=True), contextlib.ExitStack()

    def fn(x):
        w.grad = None
        (w * w * x).sum().backward()
        return w.grad * 1

    def enter():
        entered.enter_context(ingot.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t))
    return fn, enter, entered.close


def anomalies():
    w, entered = ingot.zeros(3, requires_grad=True), contextlib.ExitStack()

    def fn(x):
        w.grad = None
        (w.sqrt() * 0).sum().backward()
        return ingot.isnan(w.grad)
    return fn, lambda: entered.enter_context(ingot.autograd.detect_anomaly()), entered.close


HOOKS = (leaf_hook, leaf_hook_asked_for_a_gradient, leaf_hook_removed, accumulated_hook, optimizer_hook, saved_hooks, anomalies)


@pytest.mark.filterwarnings("ignore:.*runs as it is")
@pytest.mark.parametrize("program", HOOKS, ids=lambda p: p.__name__)
def test_later_hooks_and_modes_are_noticed(program):
    want, _ = life(program, lambda fn: fn)
    assert want[:5] != want[5:]
    assert life(program, jit.trace)[0] == want


MODES = {"plain": contextlib.nullcontext, "no_grad": ingot.no_grad, "inference": ingot.inference_mode,
         "off": lambda: ingot.set_grad_enabled(False)}


@pytest.mark.parametrize("inner", [ingot.enable_grad, ingot.no_grad, ingot.inference_mode, contextlib.nullcontext])
def test_modes_around_and_inside(inner):
    """Gradients, and the mode that the function reads, are eager's in each mode of the caller, in any order."""
    w = ingot.ones(3, requires_grad=True)

    def fn(x):
        with inner():
            y = x * w
            inside = ingot.is_grad_enabled(), ingot.is_inference_mode_enabled()
        return y, y * w, inside, ingot.is_grad_enabled(), ingot.is_inference_mode_enabled()

    def called(f, mode):
        with MODES[mode]():
            y, z, *read = f(ingot.ones(3))
        w.grad = None
        lasting = [t.sum() for t in (y, z) if t.requires_grad]
        if lasting:
            sum(lasting).backward()
        return y.requires_grad, z.requires_grad, read, None if w.grad is None else w.grad.tolist()

    traced = jit.trace(fn)
    for mode in (*MODES, *MODES, "inference", "no_grad"):
        assert called(traced, mode) == called(fn, mode), mode


def test_hooks_of_arguments_belong_to_the_kind_of_call():
    def wrap(call):
        call.traced = jit.trace(call.traced)
        return call

    want, _ = life(argument_hook, lambda fn: fn)
    assert want[:4] != want[5:9]
    assert life(argument_hook, wrap)[0] == want


def test_a_hook_left_on_a_tensor_from_outside_is_refused():
    w = ingot.ones(3, requires_grad=True)
    with pytest.raises(jit.TraceError, match="hook"):
        jit.trace(lambda x: (w * x) * (w.register_hook(lambda g: g).id > 0))(ingot.ones(3))


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_traced_function_in_a_checkpoint_gives_eager_s_results(reentrant):
    def run(wrap):
        ingot.manual_seed(0)
        layer, seen = nn.Linear(3, 3), []
        fn = wrap(lambda x: nn.functional.dropout(layer(x).relu(), 0.5))
        for _ in range(4):
            layer.zero_grad()
            y = checkpoint(fn, ingot.ones(8, 3).requires_grad_(), use_reentrant=reentrant)
            y.sum().backward()
            seen.append((y.tolist(), layer.bias.grad.tolist()))
        return seen, ingot.rand(2).tolist()

    want = run(lambda fn: fn)
    with contextlib.nullcontext() if reentrant else pytest.warns(RuntimeWarning, match="runs as it is"):
        assert run(jit.trace) == want


# Files.


def as_text(path):
    return lambda x: x * float(pathlib.Path(path).read_text())


def opened(path):
    def fn(x):
        with open(path) as f:
            return x * float(f.read())
    return fn


def as_json(path):
    def fn(x):
        with open(path) as f:
            return x * json.load(f)
    return fn


def exists(path):
    return lambda x: x * (2 if os.path.exists(path) else 3)


def is_file(path):
    return lambda x: x * (2 if pathlib.Path(path).is_file() else 3)


def size(path):
    return lambda x: x * os.path.getsize(path)


@pytest.mark.parametrize("made", [as_text, opened, as_json, exists, is_file, size], ids=lambda m: m.__name__)
def test_files_are_conditions(made, tmp_path):
    def program(path):
        path.write_text("2.0")
        return made(path), lambda: path.unlink() if made in (exists, is_file) else path.write_text("7.25"), nothing

    want, _ = life(program, lambda fn: fn, tmp_path / "eager")
    assert want[:4] != want[5:9]
    got, traced = life(program, jit.trace, tmp_path / "traced")
    assert got == want and traced.stats()["compiles"] == 2


def test_an_array_in_a_file_is_a_condition(tmp_path):
    np.save(tmp_path / "a.npy", np.full(3, 2, np.float32))
    traced = jit.trace(lambda x: x * ingot.from_numpy(np.load(tmp_path / "a.npy")))
    assert traced(ingot.ones(3)).tolist() == [2, 2, 2]
    np.save(tmp_path / "a.npy", np.full(3, 7.25, np.float64))
    assert traced(ingot.ones(3)).tolist() == [7.25] * 3


def written(path):
    with open(path, "w") as f:
        json.dump(1, f)


OUTSIDE = random.Random(3)
LEGACY = np.random.RandomState(3)
REFUSED = {
    "writes": lambda path: written(path),
    "reads a device": lambda path: open(os.devnull, "rb").close(),
    "loads": lambda path: ingot.load(path),
    "asks the user": lambda path: input(),
    "random.Random": lambda path: OUTSIDE.getrandbits(80),
    "numpy.random.shuffle": lambda path: np.random.shuffle([1, 2]),
    "SystemRandom": lambda path: random.SystemRandom().randrange(3),
    "RandomState": lambda path: LEGACY.bytes(2),
}


@pytest.mark.parametrize("what", REFUSED)
def test_values_that_differ_at_each_call_are_refused(what, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    ingot.save(ingot.ones(3), tmp_path / "file")

    def fn(x):
        with contextlib.suppress(EOFError):
            REFUSED[what](tmp_path / "file")
        return x * 2

    with pytest.raises(jit.TraceError):
        jit.trace(fn)(ingot.ones(3))


def test_a_file_that_was_opened_outside_is_refused(tmp_path):
    (tmp_path / "file").write_text("1 2 3")
    with open(tmp_path / "file") as f, pytest.raises(jit.TraceError, match="opened outside"):
        jit.trace(lambda x: x * float(f.read(2)))(ingot.ones(3))


def test_generators_seeded_inside_repeat_their_numbers():
    def fn(x):
        mine = random.Random(5)
        return x * (random.Random(3).uniform(1, 2) + mine.random() + np.random.default_rng(4).standard_normal())

    traced = jit.trace(fn)
    assert [traced(ingot.ones(3)).tolist() for _ in range(3)] == [fn(ingot.ones(3)).tolist()] * 3


def test_lazy_modules_take_their_sizes_once():
    def program():
        layer = nn.LazyLinear(2)
        return (lambda x: layer(x)), nothing, lambda: layer.weight

    want, _ = life(program, lambda fn: fn)
    got, traced = life(program, jit.trace)
    assert got == want and traced.stats()["compiles"] == 1


# Numbers that change, and functions of them.

MATH = {
    "cosine": lambda k: 0.5 * (1 + math.cos(math.pi * k / 20)),
    "warm-up": lambda k: min(1.0, math.sqrt(k) / 4) * math.exp(-k / 30),
    "two arguments": lambda k: math.atan2(k, 3) + math.hypot(k, 2) + math.log(k + 1, 2) + math.pow(k, 0.5),
    "copysign": lambda k: math.copysign(math.fabs(3 - k), k - 4.5),
    "undefined": lambda k: math.sqrt(5.0 - k),
}


@pytest.mark.parametrize("of", MATH)
def test_functions_of_math_follow_numbers_that_change(of):
    def program():
        state = {"step": 0}

        def fn(x):
            state["step"] += 1
            return x * MATH[of](state["step"])
        return fn, nothing, lambda: dict(state)

    want, _ = life(program, lambda fn: fn)
    got, traced = life(program, jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 4
    assert math.cos.__module__ == "math" and type(math.cos) is type(len)


def test_keyword_defaults_and_globals_are_conditions():
    def scaled(x, *, by=2.0):
        return x * by

    def fn(x):
        return scaled(x) + globals()["RATE"]

    traced = jit.trace(fn)
    for by, rate in ((2.0, 1.0), (5.0, 1.0), (5.0, 7.0), (5.0, 8.0)):
        scaled.__kwdefaults__["by"] = by
        globals()["RATE"] = rate
        for _ in range(2):
            assert traced(ingot.ones(3)).tolist() == [by + rate] * 3


RATE = 1.0


def test_one_autocast_around_several_steps():
    x, w = ingot.ones(2, 3), ingot.ones(3, 3, requires_grad=True)
    with ingot.autocast("cpu"):
        for _ in range(3):
            (x @ w).sum().backward()
    assert w.grad.tolist() == [[6.0] * 3] * 3


def test_looking_at_an_attribute_runs_no_parametrization():
    """Spectral norm moves its vectors each time that the weight is read."""
    net = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4))
    other, names = copy.deepcopy(net), ["weight"]

    def weights(module, x):
        return module(x), getattr(module, names[0]), operator.attrgetter(*names)(module)

    traced = jit.trace(lambda x: weights(net, x))
    for _ in range(3):
        x = ingot.randn(2, 3)
        got, want = traced(x), weights(other, x)
        assert [a.tolist() for a in got] == [b.tolist() for b in want]
        assert net.parametrizations.weight[0]._u.equal(other.parametrizations.weight[0]._u)
