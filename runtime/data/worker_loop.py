"""Main loop of a DataLoader's worker process."""

import contextlib
import faulthandler
import importlib
import operator
import os
import queue
import signal
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy

from ...ir.error_texts.shown_errors import text_for_parent
from ...ir.errors import IngotError
from ...ir.interrupts import result_or
from ..cpu.calls.pool import set_num_threads
from ..state.switches import question
from .collate import Memory
from .fetch import FETCHERS, Exhausted, WorkerSeeds
from .transport import Outbox, send, socket_of

_ORPHAN_SECONDS = 5.0      # how often a worker checks its parent, and how long it survives it


class WorkerError(IngotError, RuntimeError):
    """A worker process of a DataLoader has failed."""


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return four words for NumPy's generator, distinct for each worker; libraries seed other generators with them."""
    words = (worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0)
    return numpy.random.SeedSequence(words).generate_state(4).tolist()


@dataclass
class WorkerInfo:
    """Result of `get_worker_info()`: id of this worker, their number, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: object


class _CurrentWorker:
    """State of this process, if it is a worker."""

    info: "WorkerInfo | None" = None


@question
def get_worker_info() -> WorkerInfo | None:
    """Return facts about the worker that this code runs in; None in the main process."""
    return _CurrentWorker.info


@dataclass
class Job:
    """Settings common to all workers of a loader."""

    kind: str                # kind of fetcher
    dataset: object
    batched: bool
    collate_fn: object
    drop_last: bool
    init_fn: object
    num_workers: int


class _KeyProblem(str):
    """Message that KeyError shows as it is."""

    __slots__ = ()
    __repr__ = str.__str__


class Failure:
    """Exception of a worker: the name of its class, and its traceback as text."""

    def __init__(self, worker: int, error: BaseException):
        self.worker, self.text = worker, text_for_parent(error).rstrip("\n")
        self.module, self.name = type(error).__module__.replace("__mp_main__", "__main__"), type(error).__qualname__

    def error(self) -> Exception:
        """Return the exception to raise in the parent: of the same class if that is importable and takes a message."""
        message = f"Caught {self.name} in DataLoader worker process {self.worker}.\nOriginal {self.text}"
        error = result_or(None, self._of_same_class, message)
        return WorkerError(message) if not isinstance(error, Exception) or isinstance(error, StopIteration) else error

    def _of_same_class(self, message):
        kind = operator.attrgetter(self.name)(importlib.import_module(self.module))
        return kind(_KeyProblem(message) if issubclass(kind, KeyError) else message)


class CrashReport:
    """Anonymous file in which a dying worker leaves its traceback for the parent."""

    def __init__(self, fd: int):
        self.fd = fd

    def arm(self):
        """Make fatal signals write the Python traceback here. Call it in the worker."""
        faulthandler.enable(self.fd)

    def text(self) -> str:
        """Return what was written; empty unless a fatal signal killed the worker."""
        with contextlib.suppress(OSError):
            os.lseek(self.fd, 0, os.SEEK_SET)
            return os.read(self.fd, 1 << 16).decode(errors="replace").strip()
        return ""

    def close(self):
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def listen(connection, orders: queue.SimpleQueue):
    """Run a worker's second thread, which receives orders at once, so that the parent never waits to send one."""
    parent = os.getppid()
    try:
        while True:
            if connection.poll(_ORPHAN_SECONDS):
                orders.put(connection.recv())
            elif os.getppid() != parent:
                break
    except (EOFError, OSError):
        pass
    orders.put(None)
    time.sleep(_ORPHAN_SECONDS)
    os._exit(1)


def run(worker: int, job: Job, connection, foreign, seed: int, report: CrashReport):
    """Run a worker process. `foreign` are the parent's ends of connections that a fork has copied here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)       # the parent hears of an interrupt and ends its workers
    report.arm()
    for end in foreign:
        end.close()
    set_num_threads(1)
    outbox = Outbox()
    Memory.empty = outbox.empty
    _CurrentWorker.info = WorkerInfo(worker, job.num_workers, seed, job.dataset)
    orders: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=listen, args=(connection, orders), daemon=True).start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        _Worker(worker, job, connection, outbox, seed).work(orders)


class _Worker:
    """Executor of orders: ("epoch", number, seed word), ("fetch", task, index, returned blocks), None to end."""

    def __init__(self, worker, job, connection, outbox, seed):
        self.worker, self.job, self.connection, self.outbox = worker, job, connection, outbox
        self.sock = socket_of(connection)
        self.epoch = self.base = 0
        self.seeds = WorkerSeeds(seed)
        self.starts = True
        self.fetcher: Any = None
        self.failure: Any = None

    def work(self, orders):
        """Execute orders until the end."""
        try:
            while (order := orders.get()) is not None:
                if order[0] == "epoch":
                    self.begin(*order[1:])
                else:
                    self.fetch(*order[1:])
        finally:
            if self.sock is not None:
                self.sock.close()

    def begin(self, epoch, base):
        """Start a new pass over the dataset."""
        first, self.starts = self.starts, False
        self.epoch, self.base, self.failure = epoch, base, None
        try:
            if first and self.job.init_fn is not None:
                self.seeds.initialised_by(lambda: self.job.init_fn(self.worker))
            self.seeds.plant(epoch, base, -1 - self.worker)
            make = FETCHERS[self.job.kind]
            self.fetcher = make(self.job.dataset, self.job.batched, self.job.collate_fn, self.job.drop_last)
        except Exception as error:
            self.failure = Failure(self.worker, error)

    def fetch(self, task, index, returned):
        """Fetch one batch and send it, or the error, to the parent."""
        self.outbox.returned(returned)
        try:
            packed = self.outbox.pack((self.epoch, task, *self.result(task, index)))
        except Exception as error:
            packed = self.outbox.pack((self.epoch, task, "failure", Failure(self.worker, error)))
        send(self.connection, self.sock, packed)

    def result(self, task, index) -> tuple:
        """Return ("batch", value), ("end", None) or ("failure", Failure)."""
        if self.failure is not None:
            return "failure", self.failure
        self.seeds.plant(self.epoch, self.base, task)
        try:
            batch = self.fetcher.at_once(index)
            return "batch", self.fetcher.fetch(index) if batch is None else batch
        except Exhausted:
            return "end", None
        except Exception as error:
            return "failure", Failure(self.worker, error)
