"""Kernels that are compiled beside the program: what waits for them comes in its order, and nobody sees that it came late."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir import config
from ingot.ir.errors import DeviceError
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.compiler import launch
from ingot.runtime.cuda.driver import driver, launch_queue
from ingot.runtime.cuda.driver.driver import OUT_OF_MEMORY
from tests.runtime.cuda import test_programs as programs
from tests.runtime.cuda import test_random_programs as fuzz

pytestmark = pytest.mark.skipif(not compiler._version(), reason="threads compile where Triton is installed")


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


class Gate:
    """Threads that compile nothing before it is open."""

    def __init__(self):
        self.jobs, self.is_open = [], False

    def submit(self, most, work, *args):
        self.jobs.append((work, args))
        if self.is_open:
            self.open()

    def open(self):
        """Compiles what was asked for, in another order, and what is from now on."""
        self.is_open = True
        random.Random(0).shuffle(self.jobs)
        while self.jobs:
            work, args = self.jobs.pop()
            work(*args)

    def open_later(self, seconds=0.05):
        threading.Timer(seconds, self.open).start()


@pytest.fixture
def gate(monkeypatch):
    made = Gate()
    monkeypatch.setattr(compiler, "_threads", made)
    yield made
    made.open()


def test_the_program_goes_on_while_kernels_are_compiled(cuda, gate):
    x = ingot.arange(6.0).pin_memory().to("cuda", non_blocking=True)
    y = (x * 2 + 1).tanh()
    z = y.clone()
    y.add_(1)
    total = (y - z).sum()
    mark = ingot.cuda.current_stream().record_event()
    assert not cuda.launched and len(gate.jobs) >= 3 and launch_queue.waiting
    assert not mark.query() and not ingot.cuda.current_stream().query()
    gate.open_later()
    np.testing.assert_array_equal(total.cpu(), np.float32(6))
    assert mark.query() and not launch_queue.waiting and len(cuda.launches) >= 4
    np.testing.assert_allclose(z.cpu(), np.tanh(np.arange(6) * 2 + 1), rtol=1e-5)


def test_traced_functions_and_their_graphs(cuda, gate):
    step = jit.trace(lambda x, w: ((x @ w).relu() * 3 + 1, x.exp().sum(0)))
    x, w = ingot.randn(5, 7), ingot.randn(7, 3)
    there = x.cuda(), w.cuda()
    for _ in range(5):
        got = step(*there)
        gate.open_later()
        for g, want in zip(got, step(x, w)):        # (the first call is recorded, the third is the first of a plan)
            np.testing.assert_allclose(g.cpu(), want, rtol=1e-5, atol=1e-6)
    assert cuda.calls["cuGraphLaunch"] >= 1


def test_memory_and_events_freed_while_calls_are_queued(cuda, gate):
    x = ingot.full((1000,), 3.0, device="cuda")
    for n in range(20):
        x = x * 1 + n               # each takes the memory of the one before the last
        side = ingot.cuda.Stream()
        side.wait_stream(ingot.cuda.current_stream())
        ingot.cuda.current_stream().wait_stream(side)
    assert launch_queue.waiting and not cuda.launched
    gate.open_later()
    assert (x.cpu() == 3 + sum(range(20))).all()
    assert ingot.cuda.memory_reserved() <= 4 << 20


def test_ordinary_memory_is_copied_at_once(cuda, gate):
    source = np.ones(4, np.float32)
    x = ingot.zeros(4, device="cuda") + 1
    gate.open_later()
    y = ingot.from_numpy(source).to("cuda", non_blocking=True)
    source[:] = 7
    assert (x + y).tolist() == [2.0] * 4


def test_a_capture_runs_queued_calls_first(cuda, gate):
    x = ingot.full((8,), 2.0, device="cuda") * 5
    gate.open_later()
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        y = x.sqrt() + 1
    graph.replay()
    np.testing.assert_allclose(y.cpu(), np.sqrt(10) + 1, rtol=1e-6)


@pytest.mark.parametrize("show", [
    lambda x: x.data_ptr(), lambda x: x.untyped_storage().data_ptr(), lambda x: x.__cuda_array_interface__,
    lambda x: x.__dlpack__(), lambda x: ingot.cuda.current_stream().cuda_stream,
    lambda x: ingot.cuda.ExternalStream(0), lambda x: ingot.cuda.current_stream().record_event().cuda_event],
    ids=["data_ptr", "storage", "interface", "dlpack", "stream", "external", "event"])
def test_nothing_waits_once_another_library_may_look(cuda, gate, show):
    x = ingot.ones(3, device="cuda") * 2
    gate.open_later()
    show(x)
    assert not launch_queue.waiting
    gate.is_open = False
    x.add_(1).exp()
    assert not launch_queue.waiting and not gate.jobs and len(cuda.launched) >= 3


def test_every_waiter_gets_the_error_of_a_failed_compilation(cuda, gate, monkeypatch):
    def refuse(variant):
        raise DeviceError("Triton could not compile it")

    x = ingot.ones(3, device="cuda")
    y = x * 2 + 1
    monkeypatch.setattr(compiler, "build", refuse)
    gate.open_later()
    stream = ingot.cuda.current_stream()
    mark = ingot.cuda.Event()
    mark.record()
    while launch_queue._State.error is None:
        time.sleep(0.01)
    for read in (y.cpu, x.tolist, ingot.cuda.synchronize, lambda: y.copy_(x), stream.query, mark.query):
        with pytest.raises(DeviceError, match=r"could not compile it\n.*has not run"):
            read()


def test_out_of_memory_is_raised_once_and_the_queue_runs_later(cuda, gate):
    x = ingot.ones(3, device="cuda")
    x.add_(1)
    cuda.failing["cuModuleLoadData"] = OUT_OF_MEMORY
    gate.open_later(0)
    with pytest.raises(ingot.OutOfMemoryError):
        x.tolist()
    del cuda.failing["cuModuleLoadData"]
    assert x.tolist() == [2.0] * 3


def test_polling_makes_progress_without_waiting(cuda, gate):
    """A call that a finaliser queues just after the queue's thread has ended runs, too."""
    x = ingot.ones(3, device="cuda")
    gate.open()
    mark = ingot.cuda.Event()
    mark.record()
    for ask in (mark.query, ingot.cuda.current_stream().query):
        ran: list = []
        launch_queue.waiting.append(launch_queue._entry(driver.get(), ran.append, (1,)))
        ask_until_nothing_waits(ask)
        assert ran == [1]
    cuda.drain()
    assert mark.query() and ingot.cuda.current_stream().query() and x.tolist() == [1.0] * 3


def test_queries_raise_out_of_memory(cuda, gate):
    x = ingot.ones(3, device="cuda")
    x.add_(1)
    mark = ingot.cuda.Event()
    mark.record()
    cuda.failing["cuModuleLoadData"] = OUT_OF_MEMORY
    gate.open_later(0)
    with pytest.raises(ingot.OutOfMemoryError):
        ask_until_nothing_waits(mark.query)
    del cuda.failing["cuModuleLoadData"]
    ask_until_nothing_waits(mark.query)
    assert x.tolist() == [2.0] * 3


def ask_until_nothing_waits(ask):
    start = time.perf_counter()
    while launch_queue.waiting:
        ask()
        time.sleep(1e-3)
        assert time.perf_counter() - start < 60


def test_without_threads_errors_are_raised_at_the_launch(cuda, monkeypatch):
    def refuse(variant):
        raise DeviceError("Triton could not compile it")

    x = ingot.ones(3, device="cuda")
    monkeypatch.setattr(compiler, "build", refuse)
    with config.override(cuda_compilers=0), pytest.raises(DeviceError, match=r"could not compile it$"):
        x * 2
    assert x.tolist() == [1, 1, 1] and not launch_queue.waiting


def test_an_interrupt_during_a_wait_loses_nothing(cuda, gate):
    x = ingot.zeros(4, device="cuda")
    for _ in range(10):
        x.add_(1)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(KeyboardInterrupt):
        x.tolist()
    x.add_(1)
    gate.open_later(0)
    assert x.tolist() == [11.0] * 4


def test_other_threads_line_up_behind(cuda, gate):
    x = ingot.ones(5, device="cuda") * 4
    thread = threading.Thread(target=lambda: x.add_(1))
    thread.start()
    thread.join()
    gate.open_later()
    assert x.tolist() == [5.0] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_nothing_that_waits(cuda, gate):
    x = ingot.ones(3, device="cuda") * 2
    child = os.fork()
    if not child:
        os._exit(0 if not launch_queue.waiting and not compiler._coming else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.open_later()
    assert x.tolist() == [2.0] * 3


EXIT = """
import atexit, sys, time
sys.path.insert(0, sys.argv[1])
import ingot, mock_cuda
from ingot.runtime.cuda.compiler import compile as compiler

def slow(variant, build=mock_cuda.build):
    time.sleep(0.3)
    return build(variant)

mock_cuda.build = slow
manager = mock_cuda.installed()
manager.__enter__()
x = ingot.ones(3, device="cuda")
for f in ("exp", "sin", "cos", "tanh", "sqrt", "log", "abs", "neg", "erf", "floor") * 4:
    x = getattr(x, f)()
print(len(compiler._coming), flush=True)
start = time.perf_counter()
atexit.register(lambda: print(time.perf_counter() - start))      # runs when all threads have ended
"""


def test_the_end_of_a_program_waits_for_no_compilation(pytestconfig):
    folder = str(pytestconfig.rootpath / "tests" / "support")
    found = subprocess.run([sys.executable, "-c", EXIT, folder], capture_output=True, text=True, timeout=60,
                           env={**os.environ, "INGOT_CUDA_COMPILERS": "1"})
    left, seconds = found.stdout.split()
    assert found.returncode == 0 and not found.stderr, found.stderr
    assert int(left) > 5 and float(seconds) < 0.3 * int(left), "what was left was compiled first"


@pytest.fixture(params=range(3))
def late_launches(request, monkeypatch):
    """Any launch may have to wait a little, as if its kernel were compiled."""
    chance = random.Random(request.param)
    plain = launch.Function.__call__

    def call(self, grid, stream, *args):
        if launch_queue.may_defer() and not launch_queue.thread.runs and not launch_queue.waiting and chance.random() < 0.3:
            launch_queue.enqueue(driver.get(), wait, (chance.random() * 2e-3, self, grid, stream, args))
        else:
            plain(self, grid, stream, *args)

    def wait(seconds, function, grid, stream, args):
        time.sleep(seconds)
        plain(function, grid, stream, *args)

    monkeypatch.setattr(launch.Function, "__call__", call)
    return request.param


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_over_streams_and_graphs(cuda, late_launches, seed):
    """(The seeds are in the name of the test.)"""
    fuzz.World(seed, 2, cuda.run_some).run()


@pytest.mark.parametrize("program", [programs.PROGRAMS[n] for n in (0, 1, 2, 3)], ids=lambda f: f.__name__)
def test_programs_equal_the_cpu(cuda, late_launches, program):
    ingot.manual_seed(1337)
    want = program("cpu")
    ingot.manual_seed(1337)
    np.testing.assert_allclose(program("cuda"), want, rtol=2e-3, atol=2e-3)
