"""Exceptions from signal handlers in eager operators and in blocks that set state: they reach the caller, no operator runs
twice for them, and no state stays set."""

import copy
import pickle
import random
import signal

import pytest

import ingot
from ingot import serialization
from ingot.autograd import graph
from ingot.ir import config
from ingot.ir.blocks import block
from ingot.jit.torchscript.executor_switches import optimized_execution
from ingot.runtime.api.register import torch_function, type_promotion
from ingot.runtime.autograd import checkpoint, forward_ad
from ingot.runtime.autograd.saved_tensor_hooks import _forbidden
from ingot.runtime.backends import cudnn, mkldnn
from ingot.runtime.func.vmap_level import Level
from ingot.runtime.nn.utils import parametrize
from ingot.runtime.state.mode import OPEN_PROFILES, tls
from ingot.runtime.state.switches import Switch, ThreadSwitch
from interrupts import Interrupted, install_as_handler, interrupted_by, is_from_outside, points_of, raised_at

X, BOTH = ingot.ones(4), (ingot.ones(4), ingot.full((4,), 2.0))
GRADED, LAYER = ingot.ones(4).requires_grad_(), ingot.nn.Linear(4, 2)
CALLS = {
    "x + y": lambda: BOTH[0] + BOTH[1], "2 - x": lambda: 2.0 - BOTH[0], "sin": lambda: ingot.sin(X),
    "maximum": lambda: ingot.maximum(*BOTH), "large": lambda: ingot.zeros(1 << 16) + 1.0, "rand": lambda: ingot.rand(4),
    "index": lambda: X[1:] @ X[1:], "x += y": lambda: X.add_(BOTH[1]), "x *= 1.5": lambda: X.mul_(1.5),
}

MORE_CALLS = {
    **CALLS, "x[1:] = x[:3] + 1": lambda: X.__setitem__(slice(1, None), X[:3] + 1), "x[0] = 1": lambda: X.__setitem__(0, 1.0),
    "tensor": lambda: ingot.tensor([[1.0, 2.0], [3.0, 4.0]]), "reshape": lambda: X.reshape(2, 2).sum(0),
    "cat": lambda: ingot.cat(BOTH),
    "matmul": lambda: ingot.ones(3, 4) @ ingot.ones(4, 3), "softmax": lambda: ingot.softmax(BOTH[0], 0),
    "where": lambda: ingot.where(BOTH[0] > 1, *BOTH), "backward": lambda: (GRADED * GRADED).sum().backward(),
    "zeros": lambda: ingot.zeros(1 << 20).add_(1.0), "linear": lambda: LAYER(X), "sort": lambda: ingot.sort(BOTH[0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_exception_from_outside_reaches_the_caller_of_an_operator(name):
    call, before = CALLS[name], signal.getsignal(signal.SIGUSR2)
    install_as_handler(signal.SIGUSR2)
    try:
        for _ in range(3):
            call()
        for number in range(points_of(call)):
            old = X.tolist()
            _, error, reached = raised_at(number, call, Interrupted)
            assert is_from_outside(error) or not reached, (number, error)
            changed = ingot.tensor(old)
            if "=" in name and X.tolist() != old:
                changed = changed + 2.0 if name == "x += y" else changed * 1.5
            assert X.tolist() == changed.tolist(), "it ran twice"
            X.fill_(1.0)
    finally:
        signal.signal(signal.SIGUSR2, before)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("way", ["thread", "library"])
@pytest.mark.parametrize("name", MORE_CALLS)
def test_no_exception_is_taken_for_one_of_an_operator(name, way, seed):
    """They are builtin classes, or errors of library code, as operators could raise them."""
    call, rng = MORE_CALLS[name], random.Random(f"{name} {way} {seed}")
    for _ in range(3):
        call()
    count = points_of(call)
    for _ in range(30):
        X.fill_(1.0)
        error = interrupted_by(call, rng.randrange(count), way, rng)
        once = {"x += y": 3.0, "x *= 1.5": 1.5, "x[1:] = x[:3] + 1": 2.0}.get(name, 1.0)
        now = X.tolist()
        assert now[1:] == [once] * 3 or (error is not None and now[1:] == [1.0] * 3), (now, "it ran twice")


INVARIANTS = ingot.sparse.check_sparse_tensor_invariants
SWITCH, THREAD_SWITCH = Switch("s", 1), ThreadSwitch("s", 1)
BLOCKS = {          # a function that makes the block, and one that returns the state
    "Switch.held": (lambda: SWITCH.held(2), SWITCH.peek),
    "ThreadSwitch.held": (lambda: THREAD_SWITCH.held(2), THREAD_SWITCH.peek),
    "backends.flags": (lambda: ingot.backends.flags(fp32_precision="tf32"), lambda: ingot.backends.fp32_precision),
    "cudnn.flags": (lambda: cudnn.flags(benchmark=True, allow_tf32=False), lambda: (cudnn.benchmark, cudnn.allow_tf32)),
    "mkldnn.flags": (lambda: mkldnn.flags(deterministic=True), lambda: mkldnn.deterministic),
    "sdp_kernel": (lambda: ingot.backends.cuda.sdp_kernel(enable_flash=False), ingot.backends.cuda.flash_sdp_enabled),
    "config.override": (lambda: config.override(debug=3), lambda: config.current().debug),
    "optimized_execution": (lambda: optimized_execution(False), lambda: config.current().jit),
    "without_autocast": (type_promotion.without_autocast, lambda: tls.m.autocast),
    "unasked": (torch_function.unasked, lambda: torch_function._here.off),
    "safe_globals": (lambda: serialization.safe_globals([Interrupted]), lambda: len(serialization.get_safe_globals())),
    "sparse checks": (lambda: INVARIANTS(True), INVARIANTS.is_enabled),
    "no_grad": (ingot.no_grad, ingot.is_grad_enabled),
    "inference_mode": (ingot.inference_mode, lambda: (ingot.is_grad_enabled(), ingot.is_inference_mode_enabled())),
    "autocast": (lambda: ingot.autocast("cpu", enabled=False), lambda: (tls.m.autocast, tls.m.special)),
    "detect_anomaly": (ingot.autograd.detect_anomaly, lambda: (tls.m.anomaly, tls.m.told)),
    "saved_tensors_hooks": (lambda: graph.saved_tensors_hooks(abs, abs), lambda: (tls.m.saved_hooks, tls.m.told)),
    "disable_saved_tensors_hooks": (lambda: graph.disable_saved_tensors_hooks("no"), _forbidden),
    "vmap": (lambda: Level(3), lambda: (tls.m.batched, tls.m.told)),
    "dual_level": (forward_ad.dual_level, lambda: len(forward_ad._LEVELS)),
    "early stop": (lambda: checkpoint.set_checkpoint_early_stop(False), checkpoint._early.get),
    "parametrize.cached": (parametrize.cached, lambda: len(parametrize._Cache.open)),
    "jit.profile": (ingot.jit.profile, lambda: len(OPEN_PROFILES)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_no_interrupt_leaves_the_state_of_a_block(name):
    """The exception is held, so nothing is put back because it goes."""
    make, state = BLOCKS[name]

    def enter():
        with make():
            assert state() != before
            len("")

    with ingot.autocast("cpu"):
        before, held, reached, number = state(), [], True, 0
        while reached:
            _, error, reached = raised_at(number, enter)
            held.append(error)
            assert is_from_outside(error) is reached and state() == before, number
            number += 1
    assert number > 3


def test_a_random_state_is_put_back():
    """Here an interrupt may come before the block draws."""
    before, held, reached, number = ingot.get_rng_state().tolist(), [], True, 0

    def enter():
        with ingot.random.fork_rng():
            ingot.rand(2)

    while reached:
        held.append(raised_at(number, enter))
        reached, number = held[-1][2], number + 1
        assert ingot.get_rng_state().tolist() == before


def test_blocks_raise_what_their_parts_raise():
    done: list = []

    def fail():
        done.append("failed")
        raise ValueError("put back")

    with pytest.raises(ValueError, match="put back"), block(lambda: (lambda: done.append("begun"), fail))():
        done.append("inside")
    assert done == ["begun", "inside", "failed", "failed"]
    done.clear()
    with pytest.raises(KeyError), block(lambda: ({}.popitem, lambda: done.append("put back")))():
        done.append("inside")
    assert done == ["put back"]
    with pytest.raises(IndexError), block(lambda: (lambda: 3, tuple))() as given:
        [].pop(given)

    @block(lambda: (lambda: done.append("begun"), lambda: done.append("put back")))()
    def decorated():
        return done.copy()

    done.clear()
    again = SWITCH.held(2)
    with again:
        SWITCH.put(3)
        with again:
            assert SWITCH.peek() == 2
        assert SWITCH.peek() == 3
    assert SWITCH.peek() == 1
    assert decorated() == ["begun"] and decorated() == ["begun", "put back", "begun"]


@pytest.mark.parametrize("make", [ingot.no_grad, lambda: ingot.autocast("cpu"), lambda: ingot.inference_mode(True)])
def test_copies_of_blocks(make):
    for one in (copy.copy(make()), copy.deepcopy(make()), pickle.loads(pickle.dumps(make()))):
        assert type(one) is type(make())
        with one:
            assert tls.m.autocast or not ingot.is_grad_enabled()
        assert not tls.m.autocast and ingot.is_grad_enabled()
