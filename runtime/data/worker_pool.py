"""Parent's side of workers: starts them, orders batches, collects them in order, ends them."""

import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
import weakref
from multiprocessing.connection import wait
from multiprocessing.reduction import DupFd
from typing import Any

from ...ir.errors import IngotError
from ...ir.process_state import without_warnings
from ..multiprocessing.spawn import signal_name
from ..state.forks import check_start_method
from .sampler import drawn_seed
from .transport import Inbox, socket_of
from .worker_loop import CrashReport, Job, WorkerError, run

_LOOK_SECONDS = 5.0        # how often a silent worker is checked for life
_GRACE_SECONDS = 5.0       # for a worker to end by itself, before it is terminated


class LoaderTimeout(IngotError, TimeoutError, RuntimeError):
    """No batch came within the loader's `timeout`."""


def default_context():
    """Return the default start context: on Linux a fork, which takes milliseconds and any dataset, also one with lambdas. From
    Python 3.14 on its own default pickles datasets."""
    is_open = multiprocessing.get_start_method(allow_none=True) is None
    return multiprocessing.get_context("fork" if is_open and sys.platform == "linux" else None)


class Handle:
    """One worker process, its connection, and its unread answers. It adds itself to `others` before it starts."""

    def __init__(self, context, number, job, seed, others):
        method = context.get_start_method()
        check_start_method(method, "Give the DataLoader multiprocessing_context='forkserver'")
        self.number = number
        self.inbox, self.active = Inbox(), True
        self.connection: Any = None
        self.sock: Any = None
        self.report: Any = None
        self.process: Any = None
        others.append(self)         # an interrupt may come behind any part, or the start: `end` finds what there is
        self.connection, theirs = context.Pipe()
        self.sock = socket_of(self.connection)
        self.report = _new_report()
        forks = method == "fork"
        foreign = [end for w in others for end in (w.connection, w.sock)] if forks and self.sock is not None else []
        report = self.report if forks else _TravellingReport(self.report)
        self.process = context.Process(target=run, daemon=True, args=(number, job, theirs, foreign, seed, report))
        with without_warnings(message=".*fork.*", category=DeprecationWarning):
            self.process.start()
        theirs.close()

    def order(self, *words):
        """Send an order. An order to a dead worker is lost, and its missing answer reveals that."""
        with contextlib.suppress(OSError):
            self.connection.send(words or None)

    def receive(self):
        """Return the next answer; raise WorkerError if the worker has died."""
        try:
            return self.inbox.receive(self.connection, self.sock)
        except (EOFError, OSError):
            raise self.crashed() from None

    def crashed(self) -> WorkerError:
        """Return an error that says how the worker ended."""
        self.process.join(1)
        code, pid = self.process.exitcode, self.process.pid
        how = "closed its connection" if code is None else (f"was killed by {signal_name(code)}" if code < 0 else
                                                            f"exited with code {code}")
        hint = {-7: "; is the machine out of shared memory?", -9: "; is the machine out of memory?"}.get(code, "")
        last_words = self.report.text()
        return WorkerError(f"DataLoader worker {self.number} (pid {pid}) {how} unexpectedly{hint}"
                           + (f"\nIts last words:\n{last_words}" if last_words else ""))

    def close(self):
        """Close the connection; the worker ends after its current order."""
        if self.connection is not None:
            self.order()
            self.connection.close()
        if self.sock is not None:
            self.sock.close()


def _new_report() -> CrashReport:
    with tempfile.TemporaryFile(buffering=0) as file:
        return CrashReport(os.dup(file.fileno()))


class _TravellingReport:
    """Crash report on its way to a process that does not inherit file descriptors."""

    def __init__(self, report):
        self.report = report

    def __reduce__(self):
        return _arrived, (DupFd(self.report.fd),)


def _arrived(handle) -> CrashReport:
    return CrashReport(handle.detach())


def end(workers, owner, grace):
    """End workers: ask, wait, terminate, kill. Do nothing in a process that did not start them."""
    if os.getpid() != owner:
        return
    for w in workers:
        w.close()
    deadline = time.monotonic() + grace[0]
    started = [w for w in workers if w.process is not None and w.process.pid is not None]
    for w in started:
        w.process.join(max(0.0, deadline - time.monotonic()))
    for stop in ("terminate", "kill"):
        for w in started:
            if w.process.is_alive():
                getattr(w.process, stop)()
        for w in started:
            w.process.join(1)
    for w in workers:
        if w.report is not None:
            w.report.close()
    workers.clear()


class WorkerIterator:
    """Batches from worker processes, in the order of the sampler (unless the loader's `in_order` is False)."""

    def __init__(self, loader):
        self.epoch = -1
        self.workers, self.grace = [], [_GRACE_SECONDS]
        self.shutdown = weakref.finalize(self, end, self.workers, os.getpid(), self.grace)
        context = loader.multiprocessing_context or default_context()
        job = Job(loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last,
                  loader.worker_init_fn, loader.num_workers)
        base = drawn_seed(loader.generator)
        try:
            for i in range(loader.num_workers):
                Handle(context, i, job, (base + i) % 2 ** 63, self.workers)
            self.begin(loader, base)
        except BaseException:
            self.stop()
            raise

    def begin(self, loader, base):
        """Start a pass over the dataset with the existing workers."""
        self.in_order, self.timeout, self.persistent = loader.in_order, loader.timeout, loader.persistent_workers
        self.indices = iter(loader._index_sampler)
        self.epoch += 1
        self.next_result = self.next_order = self.next_worker = 0
        self.arrived, self.owner = {}, {}
        for w in self.workers:
            w.active = True
            w.order("epoch", self.epoch, base)
        for _ in range(loader.prefetch_factor * len(self.workers)):
            self.ask()

    def ask(self):
        """Order the next batch from the next worker in turn that is not exhausted."""
        for turn in range(len(self.workers)):
            w = self.workers[(self.next_worker + turn) % len(self.workers)]
            if w.active:
                break
        else:
            return
        try:
            index = next(self.indices)
        except StopIteration:
            return
        self.next_worker = (w.number + 1) % len(self.workers)
        self.owner[self.next_order] = w
        w.order("fetch", self.next_order, index, w.inbox.to_return())
        self.next_order += 1

    def next(self):
        """Return the next batch; raise StopIteration after the last."""
        try:
            what, value = self.following()
        except StopIteration:
            if not self.persistent:
                self.shutdown()
            raise
        except BaseException:
            self.stop()
            raise
        if what == "failure":
            raise value.error()
        return value

    def following(self) -> tuple:
        """Return the next answer; wait for it if needed."""
        while True:
            task = self.ready()
            if task is None:
                self.collect()
                continue
            what, value, w = self.arrived.pop(task)
            w.active = w.active and what != "end"
            self.ask()
            if what != "end":
                return what, value

    def ready(self) -> int | None:
        """Return the next task whose answer is here, or None; raise StopIteration if none is left."""
        if not self.in_order and self.arrived:
            return next(iter(self.arrived))
        while self.next_result < self.next_order and self.next_result not in self.owner.keys() | self.arrived.keys():
            self.next_result += 1
        if self.next_result in self.arrived:
            self.next_result += 1
            return self.next_result - 1
        if not self.owner:
            raise StopIteration
        return None

    def collect(self):
        """Wait for answers, and take all that have arrived."""
        self.require_workers()
        lines = {w.connection: w for w in self.workers}
        ends = {w.process.sentinel: w for w in self.workers if w in self.owner.values()}
        limit = self.timeout or _LOOK_SECONDS
        here = wait([*lines, *ends], limit)
        if not here:
            if self.timeout:
                raise LoaderTimeout(f"DataLoader timed out after {self.timeout} seconds")
            here = [w.process.sentinel for w in ends.values() if not w.process.is_alive()]
        spoken = [lines[c] for c in here if c in lines]
        for w in spoken:
            self.take(w)
        for sentinel in here:
            if sentinel in ends and ends[sentinel] not in spoken and not ends[sentinel].connection.poll():
                raise ends[sentinel].crashed()

    def require_workers(self):
        """Raise if an earlier error ended the workers."""
        if not self.workers:
            raise WorkerError("the workers of this iterator have ended; make a new one with iter(loader)")

    def take(self, w):
        """Enter one answer; drop those of an earlier pass."""
        epoch, task, what, value = w.receive()
        if epoch == self.epoch:
            del self.owner[task]
            self.arrived[task] = what, value, w

    def stop(self):
        """End the workers soon."""
        self.grace[0] = 1.0
        self.shutdown()

    _shutdown_workers = stop      # name that trainers call
