"""Forks while other threads work: no lock stays closed in the child, and all of ingot works there."""

import importlib
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import ingot
from ingot.ir import cached_property, locks
from ingot.jit.python_state.tracker import Tracker
from ingot.runtime.cpu.compiler import compile as compiler
from interrupts import Interrupted, raised_at
from ir_modules import run_python

ROOT = Path(ingot.__file__).parent
LAYERS = ("ir", "passes", "runtime", "jit", "as_torch")
MADE_ELSEWHERE = re.compile(
    r"threading\.(?:Lock|RLock|Condition|Semaphore|BoundedSemaphore|Barrier|Event)\(|multiprocessing\.R?Lock\(|\bR?Lock\("
    r"|\b(?:Simple)?Queue\(|@(?:functools\.)?cached_property")
NOT_ASKED_IN_A_CHILD = {
    "ir/locks.py": "makes the locks",
    "runtime/distributed/checkpoint/saving.py": "an event of a save, which the child forgets",
    "runtime/distributed/engines/mpi_progress.py": "an event of a thread that no child has; MPI does not survive a fork",
    "runtime/distributed/engines/tcp_engine.py": "a queue of one admission, whose threads no child has",
    "runtime/data/worker_loop.py": "a queue of a worker process, made after its fork",
}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_every_lock_is_open_in_a_child():
    """The source makes locks, and properties that lock on Python 3.11, only where a fork opens them."""
    found, listed = [], set()
    for path in (p for layer in LAYERS for p in (ROOT / layer).rglob("*.py")):
        text, name = path.read_text(), path.relative_to(ROOT).as_posix()
        if "ir.cached_property import" in text or ".cached_property import" in text:
            text = re.sub(r"@(?:functools\.)?cached_property", "", text)
        if MADE_ELSEWHERE.search(text):
            listed.add(name)
            found += [f"{name}: {MADE_ELSEWHERE.search(text).group()}"] * (name not in NOT_ASKED_IN_A_CHILD)
    assert not found, "make these with ir/locks.py or ir/cached_property.py, or say why no child asks for them"
    assert listed == NOT_ASKED_IN_A_CHILD.keys()


def in_child(work) -> bool:
    """Return whether `work()` ends without an error in a forked process, within ten seconds."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


class Slow:
    """An object with a property that is computed when the test says so."""

    def __init__(self, reached, go_on):
        self.reached, self.go_on = reached, go_on

    @cached_property.cached_property
    def value(self):
        self.reached.set()
        self.go_on.wait(20)
        return 7


def holding(lock, reached, go_on):
    with lock:
        reached.set()
        go_on.wait(20)


def waiting(condition, reached, go_on):
    with condition:
        reached.set()
        condition.wait(20)


def notify_one(condition):
    """A thread that waits in the child is the one that is woken, not one of the parent."""
    reached = threading.Event()
    thread = threading.Thread(target=waiting, args=(condition, reached, None))
    thread.start()
    reached.wait()
    with condition:
        condition.notify(1)
    thread.join(5)
    assert not thread.is_alive()


def enter(lock):
    assert lock.acquire(timeout=5)
    lock.release()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("make, hold, use", [
    (locks.new_lock, holding, enter), (locks.new_rlock, holding, enter), (locks.new_condition, holding, enter),
    (locks.new_condition, waiting, notify_one),
    (None, lambda _, *events: Slow(*events).value, lambda _: Slow(threading.Event(), _set()).value)],
    ids=["lock", "rlock", "condition", "waiting", "property"])
def test_a_child_finds_open(make, hold, use):
    reached, go_on = threading.Event(), threading.Event()
    lock = None if make is None else make()
    thread = threading.Thread(target=hold, args=(lock, reached, go_on))
    thread.start()
    reached.wait()
    try:
        assert in_child(lambda: use(lock))
    finally:
        go_on.set()
        if hold is waiting:
            with lock:
                lock.notify_all()
        thread.join()


def _set():
    event = threading.Event()
    event.set()
    return event


@needs_fork
def test_a_fork_waits_until_no_thread_is_inside_of_llvm():
    lock = compiler._State.llvm_lock
    reached, go_on, order = threading.Event(), threading.Event(), []
    thread = threading.Thread(target=holding, args=(lock, reached, go_on))
    thread.start()
    reached.wait()
    threading.Timer(0.2, lambda: (order.append("leave"), go_on.set())).start()
    assert in_child(lambda: enter(lock))
    assert order == ["leave"]
    thread.join()
    enter(lock)


@needs_fork
def test_a_fork_waits_until_no_other_thread_imports(tmp_path, monkeypatch):
    (tmp_path / "halfway_in.py").write_text("import time\ntime.sleep(0.3)\nvalue = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    thread = threading.Thread(target=importlib.import_module, args=("halfway_in",))
    thread.start()
    while "halfway_in" not in sys.modules:
        time.sleep(0.001)
    assert in_child(lambda: importlib.import_module("halfway_in").value / 7)
    thread.join()
    del sys.modules["halfway_in"]


def test_locks_that_are_gone_are_forgotten():
    before = len(locks._known)
    made = [locks.new_lock() for _ in range(50)] + [locks.new_condition() for _ in range(50)]
    assert len(locks._known) == before + 150
    del made
    assert len(locks._known) == before


# Eight threads record, compile and train; the main thread forks, and each child records, compiles and trains.
BUSY = """
import faulthandler, os, random, threading, time
import ingot
from ingot import jit, nn, optim

forks, seed, threads = {forks}, {seed}, {threads}

def work(number):
    draw, turn = random.Random(seed + number), 0
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = optim.Adam(net.parameters())
    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss
    traced = jit.trace(step)
    while True:
        if turn % 7 == 0:
            scale = turn + number + 0.5
            fresh = jit.trace(lambda x, scale=scale: ((x * scale + scale).sin().sum(), (x @ x.T).exp().mean()))
        x = ingot.randn(draw.randint(1, 20), 4)
        fresh(x), traced(x)
        turn += 1

def child(number):
    faulthandler.dump_traceback_later(60, exit=True)
    f = jit.trace(lambda x: (x * number).abs().sum() + x.mean())
    for rows in (3, 4, 5):
        assert abs(float(f(ingot.ones(rows, 2))) - (2 * rows * number + 1)) < 1e-3
    w = ingot.ones(6, 6, requires_grad=True)
    (w @ w).sum().backward()
    assert float(w.grad.sum()) == 432

for number in range(threads):
    threading.Thread(target=work, args=(number,), daemon=True).start()
time.sleep(0.5)
draw, failed = random.Random(seed), 0
for number in range(1, forks + 1):
    pid = os.fork()
    if not pid:
        try:
            child(number)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    failed += os.waitpid(pid, 0)[1] != 0
    time.sleep(draw.random() * 0.02)
print("failed", failed, flush=True)
os._exit(0)
"""


def forks_fail(forks, seed, threads):
    ran = run_python(BUSY.format(forks=forks, seed=seed, threads=threads), timeout=60 * forks)
    return ran.stdout.strip().splitlines()[-1:], ran.stderr


@needs_fork
def test_children_of_busy_threads_work(request):
    seed = request.config.getoption("--seed", None) or 1
    said, errors = forks_fail(6, seed, 3)
    assert said == ["failed 0"], f"seed {seed}: {errors}"


@needs_fork
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_thousand_children_of_eight_busy_threads_work():
    said, errors = forks_fail(1000, 11, 8)
    assert said == ["failed 0"], f"seed 11: {errors}"


LOCKS = {"lock": locks.new_lock, "nested": locks.new_rlock, "condition": locks.new_condition}


def _block(lock):
    with lock:
        len("")


def _turn(lock):
    turn = locks.Turn()
    try:
        if turn.takes(lock, False):
            len("")
    finally:
        turn.give_back()


@pytest.mark.parametrize("block", [_block, _turn])
@pytest.mark.parametrize("kind", LOCKS)
@pytest.mark.parametrize("listener", ["profile", "signals"])
def test_no_exception_from_outside_leaves_a_lock_closed(kind, block, listener):
    """At any event of a profile function, as while a call is recorded, and wherever the interpreter looks for signals."""
    lock, number = LOCKS[kind](), 0
    while True:
        if listener == "profile":
            reached = _raised_at_event(number, lambda: block(lock))
        else:
            _, _, reached = raised_at(number, lambda: block(lock))
        free: list = []
        other = threading.Thread(target=lambda: free.append(lock.acquire(False)) or (free[0] and lock.release()))
        other.start()
        other.join()
        assert free == [True], number
        if not reached:
            break
        number += 1
    assert number > 1


def _raised_at_event(number, call) -> bool:
    """Call a function, and raise at the event of a profile function with this number; return whether the call reached it."""
    left = number

    def profile(frame, event, arg):
        nonlocal left
        left -= arg is not sys.setprofile
        if left == -1 and arg is not sys.setprofile:
            raise Interrupted("from outside")

    try:
        sys.setprofile(profile)
        call()
    except Interrupted:
        pass
    finally:
        sys.setprofile(None)
    return left < 0


def test_a_recording_gives_no_lock_back_where_it_could_be_interrupted():
    """The search: no event of the functions that record is about a lock of ingot."""
    heard, real = [], Tracker._event

    def event(self, frame, event, arg):
        owner = getattr(arg, "__self__", None) if event == "c_call" else None
        if type(owner).__name__ in ("lock", "RLock") and str(frame.f_globals["__name__"]).startswith("ingot"):
            heard.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return real(self, frame, event, arg)

    net = ingot.nn.Sequential(ingot.nn.Linear(4, 4), ingot.nn.Dropout(0.5), ingot.nn.ReLU(inplace=True))
    optimizer = ingot.optim.Adam(net.parameters(), lr=0.1)

    def step(x):
        ingot.manual_seed(0)
        optimizer.zero_grad()
        loss = (net(x)[1:] + ingot.rand(4)).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tracker, "_event", event)
        ingot.jit.trace(step, fullgraph=True)(ingot.ones(3, 4))
    assert not heard, set(heard)
