"""Switches of ingot in traced functions: a call gets what eager code gets, and a trace that would not set them is refused."""

import sys
import threading
import warnings

import pytest

import ingot
import public_questions
from ingot import jit
from ingot.ir import config
from ingot.runtime.state import float32_precision
from ingot.runtime.state.mode import Defaults, tls
from ingot.runtime.state.recorder import NullRecorder
from ingot.runtime.state.switches import LentSwitch, Setting, Switch

B, dist = ingot.backends, ingot.distributed
VALUES = (True, False, 0, 1, 2, 3, "default", "warn", "error", "highest", "high", "medium", "none", "ieee", "tf32", "bf16",
          "cpu", "meta", "auto", "/tmp/folder", "x86", "qnnpack", ingot.float64, ingot.float16, ingot.bfloat16, [dict],
          (("STATIC", 1),))


def switches() -> list:
    """Return the switches that the modules of ingot hold, by names, in dictionaries, and behind settings."""
    found: dict = {}
    for m in [m for name, m in sys.modules.items() if name.startswith("ingot.")]:
        classes = [vars(c) for c in (type(m), *vars(m).values()) if isinstance(c, type)]
        for table in (vars(m), *classes, *[v for v in vars(m).values() if type(v) is dict]):
            for x in [v.switch if type(v) is Setting else v for v in list(table.values())]:
                found |= {id(x): x} if isinstance(x, Switch) else {}
    return list(found.values())


class State:
    """All switches and modes, to put back."""

    def __init__(self):
        m = tls.m
        self.switches = [(s, s.peek()) for s in switches() if not _is_absent(s)]
        self.mode = m.grad, m.inference, m.autocast, m.anomaly, Defaults.dtype, Defaults.device, config.overridden.settings

    def put_back(self):
        m = tls.m
        for switch, value in self.switches:
            if type(switch) is not LentSwitch or switch.peek() != value:
                switch.put(value)
        float32_precision.restore(float32_precision.chosen())
        m.grad, m.inference, m.autocast, m.anomaly, dtype, Defaults.device, config.overridden.settings = self.mode
        m.refresh()
        ingot.set_default_dtype(dtype)


def _is_absent(switch) -> bool:
    try:
        switch.peek()
    except Exception:       # of a device that is not there
        return True
    return False


@pytest.fixture(autouse=True)
def state():
    found = State()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield found
    found.put_back()


def answer(ask):
    try:
        found = ask()
    except Exception as error:
        return type(error)
    return found.tolist() if isinstance(found, ingot.Tensor) else repr(found)


def traced_answer(f, x):
    try:
        found = f(x)[1]
    except jit.TraceError:
        return jit.TraceError
    except Exception as error:
        return type(error)
    return found.tolist() if isinstance(found, ingot.Tensor) else repr(found)


def asked() -> dict:
    """Return the public questions and settings that are no constants: a recorder hears of them, or a mode answers."""
    found = public_questions.questions()
    found |= {path: lambda owner=owner, name=name: getattr(owner, name)
              for path, (owner, name) in public_questions.settings().items()}

    class Listener(NullRecorder):
        heard = False

        def switch_read(self, *args):
            self.heard = True

        refuse = asked = switch_read

    def is_heard(ask):
        tls.m.recorder = Listener()
        answer(ask)
        return tls.m.recorder.heard

    kept = {path for path, ask in found.items() if is_heard(ask)}
    tls.m.recorder = None
    kept = {path for path in kept if answer(found[path]) == answer(found[path])}
    modes = {f"ingot.{name}" for name in ("get_default_dtype", "get_default_device", "is_anomaly_enabled", "is_grad_enabled",
                                          "is_autocast_cpu_enabled", "is_anomaly_check_nan_enabled")}
    return {path: ask for path, ask in found.items() if path in kept | modes}


def changing(questions, set_value, state) -> list:
    """Return (value, another, path) of the questions whose answers a setter changes."""
    seen, found = {}, {}
    for value in VALUES:
        try:
            set_value(value)
        except Exception:
            state.put_back()
            continue
        for path, ask in questions.items():
            now = answer(ask)
            first = seen.setdefault(path, (value, now))
            if first[1] != now:
                found.setdefault(path, (first[0], value, path))
    state.put_back()
    return list(found.values())


def test_whatever_a_public_setter_changes_a_traced_question_sees(state):
    """Found over the whole public surface: a new setter with a new question is in here by itself."""
    questions, x, pairs, wrong = asked(), ingot.ones(3), set(), []
    for setter, set_value in public_questions.setters().items():
        for value, another, path in changing(questions, set_value, state):
            ask = questions[path]
            traced = jit.trace(lambda x, ask=ask: (x * 2, ask()))
            pairs.add((setter, path))
            for given in (value, value, value, another, another, value, another):
                set_value(given)
                want, got = answer(ask), traced_answer(traced, x)
                if got not in (want, jit.TraceError):
                    wrong.append((setter, path, given, want, got))
            state.put_back()
    assert not wrong, wrong[0]
    assert len(pairs) >= 60, sorted(pairs)


def two_threads(x):
    ingot.set_num_threads(2)
    return x * ingot.get_num_threads()


def a_context(x):
    with B.cuda.sdp_kernel(enable_flash=False):
        inside = B.cuda.flash_sdp_enabled()
    return x * (1 + inside + 2 * B.cuda.flash_sdp_enabled())


def flags(x):
    with B.cudnn.flags(enabled=True, benchmark=True):
        inside = B.cudnn.benchmark
    return x * (1 + inside + 2 * B.cudnn.benchmark)


def set_and_back(x):
    before = ingot.get_float32_matmul_precision()
    ingot.set_float32_matmul_precision("high")
    inside = ingot.get_float32_matmul_precision()
    ingot.set_float32_matmul_precision(before)
    return x * (1 + (before == "high") + 2 * (inside == "high"))


def autocast_by_default(x):
    with ingot.autocast("cpu"):
        return (x @ x).float() * (1 + (ingot.get_autocast_dtype("cpu") is ingot.float16))


def rank_or_error(x):
    try:
        return x * (2 + dist.get_rank())
    except ValueError:
        return x


def settings(x):
    return x * (1 + config.current().debug)


def group(there):
    if there and not dist.is_initialized():
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    elif not there and dist.is_initialized():
        dist.destroy_process_group()


# Function, what sets the state from outside, the states of the calls, and how many recordings these take at most.
OWN = {
    "set to what it was": (two_threads, lambda _: ingot.set_num_threads(2), (0, 0, 0), 1),
    "a context": (a_context, B.cuda.enable_flash_sdp, (True, True, False, True, False), 2),
    "flags": (flags, lambda on: setattr(B.cudnn, "benchmark", on), (False, False, True, False), 2),
    "set and back": (set_and_back, ingot.set_float32_matmul_precision, ("highest", "highest", "high", "highest"), 2),
    "autocast": (autocast_by_default, lambda d: ingot.set_autocast_dtype("cpu", d), (ingot.bfloat16, ingot.float16) * 2, 2),
    "an error": (rank_or_error, group, (False, True, True, False, True), 2),
    "ingot's own settings": (settings, lambda n: config.hold(debug=n), (0, 0, 1, 0), 2),
}


@pytest.mark.parametrize("name", OWN)
def test_switches_that_the_function_sets_itself(name, capsys):
    f, prepare, states, most = OWN[name]
    traced, x = jit.trace(f), ingot.ones(3)
    try:
        for state in states:
            prepare(state)
            assert traced(x).tolist() == f(x).tolist()
    finally:
        group(False)
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


LEAVES = {
    "the number of threads": two_threads,
    "cudnn.benchmark": lambda x: setattr(B.cudnn, "benchmark", True) or x,
    "the precision of float32 products": lambda x: ingot.set_float32_matmul_precision("medium") or x,
    "how tensors print": lambda x: ingot.set_printoptions(precision=2) or x,
    "the dtype of autocast on cpu": lambda x: ingot.set_autocast_dtype("cpu", ingot.float16) or x,
    "the switches of ingot": lambda x: ingot.compiler.set_stance("force_eager") and x,
}


@pytest.mark.parametrize("name", LEAVES)
def test_switches_left_changed_are_refused(name):
    ingot.set_num_threads(1)
    with pytest.raises(jit.TraceError, match=f"leaves {name} changed"):
        jit.trace(LEAVES[name])(ingot.ones(3))


def test_quick_calls_heed_anomaly_mode():
    """The generated call of the third time on asks for all modes in which traces run as they are."""
    traced = jit.trace(lambda x: (x.log(), ingot.is_anomaly_enabled()))
    x = ingot.ones(3)
    for on in (False, False, False, False, True, False, True):
        with ingot.autograd.set_detect_anomaly(on):
            assert traced(x)[1] is on


def test_threads_have_answers_of_their_own():
    traced = jit.trace(lambda x: x * (1 + (ingot.get_autocast_dtype("cpu") is ingot.float16)))
    x, seen = ingot.ones(1), []

    def other():
        ingot.set_autocast_dtype("cpu", ingot.float16)
        seen.append(traced(x).item())

    assert [traced(x).item() for _ in range(3)] == [1, 1, 1]
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert (seen, traced(x).item()) == ([2.0], 1.0)


def test_host_steps_change_switches():
    @jit.host
    def forbid():
        B.cuda.enable_flash_sdp(False)

    def f(x):
        forbid()
        return x * (1 + B.cuda.flash_sdp_enabled())

    traced, x = jit.trace(f), ingot.ones(1)
    for before in (False, False, True, True, False, True):
        B.cuda.enable_flash_sdp(before)
        assert traced(x).item() == 1
