"""Process groups: members, the order of their collectives, and pending operations."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ....ir.errors import ArgumentError
from ....ir.locks import new_lock
from ...core.storage import background, user_line
from ...state.mode import tls
from ..engines.engine import Engine
from ..stores.distributed_errors import DistBackendError, DistError, DistTimeoutError
from ..stores.store import seconds
from . import futures

_PAUSE = 0.0005         # seconds between questions whether work on a device is done


class Work:
    """Operation in progress."""

    def __init__(self, future: Future):
        self._future = future

    def is_completed(self) -> bool:
        """Return whether it is done, successfully or not."""
        return self._future.done()

    def is_success(self) -> bool:
        """Return whether it is done without an exception."""
        return self._future.done() and self._future.exception() is None

    def exception(self):
        """Return its exception, or None."""
        return self._future.exception() if self._future.done() else None

    def wait(self, timeout=None) -> bool:
        """Wait until it is done; raise its exception."""
        try:
            self._future.result(None if timeout is None else seconds(timeout))
        except TimeoutError as e:
            if isinstance(e, DistError):
                raise
            raise DistTimeoutError(f"the operation is not done after {seconds(timeout):g} s") from None
        return True

    def result(self):
        """Return its result: a list of the written tensors."""
        return self._future.result()

    def get_future(self) -> futures.Future:
        """Return the operation as a future of the list of written tensors."""
        found: futures.Future = futures.Future()

        def settle(done):
            error = done.exception()
            if error is None:
                found.set_result(done.result())
            else:
                found.set_exception(error)

        self._future.add_done_callback(settle)
        return found


class DeviceWork(Work):
    """Work in a stream of a device. Waiting for it is left to the device, unless a time is given."""

    def __init__(self, launch: Any):
        super().__init__(Future())
        self._launch = launch

    def is_completed(self) -> bool:
        """Return whether it is done, successfully or not."""
        return self.exception() is not None or self._launch.is_done()

    def is_success(self) -> bool:
        """Return whether it is done without an exception."""
        return self.exception() is None and self._launch.is_done()

    def exception(self):
        """Return its exception, or None."""
        return self._launch.channel.comm.failure

    def wait(self, timeout=None) -> bool:
        """Make the current stream wait for it; with a time, wait for it here."""
        if timeout is not None:
            deadline = time.monotonic() + seconds(timeout)
            while not self._launch.is_done():
                if time.monotonic() > deadline:
                    raise DistTimeoutError(f"{self._launch.note} is not done after {seconds(timeout):g} s")
                time.sleep(_PAUSE)
        self._launch.join()
        return True

    def result(self):
        """Return its result, which later work in the current stream may use."""
        self.wait()
        return self._launch.result

    def get_future(self) -> futures.Future:
        """Return its result as a future that is done: later work in the current stream may use it."""
        found: futures.Future = futures.Future()
        found.set_result(self.result())
        return found


class ProcessGroup:
    """Ranks of a run (numbered 0, 1, ... in the group), and this process's position among them."""

    # Collectives as methods; group_methods.py sets them, as they build on groups.
    allreduce: Callable[..., Work]
    reduce: Callable[..., Work]
    broadcast: Callable[..., Work]
    allgather: Callable[..., Work]
    gather: Callable[..., Work]
    scatter: Callable[..., Work]
    reduce_scatter: Callable[..., Work]
    alltoall: Callable[..., Work]
    alltoall_base: Callable[..., Work]
    send: Callable[..., Work]
    recv: Callable[..., Work]
    recv_anysource: Callable[..., Work]
    barrier: Callable[..., Work]

    def __init__(self, engine: Engine, number: int, ranks, timeout, backend: str, name: str, store, devices: Any = None):
        self.engine, self.number, self.ranks = engine, number, tuple(ranks)
        self.timeout, self.backend, self.group_name, self.store = timeout, backend, name, store
        self.position = self.ranks.index(engine.rank)
        self.channel = engine.channel(self)
        self.devices: Any = None if devices is None else devices.channel(self)       # (the collectives on GPUs)
        self._worker: Any = None
        self._pending, self.is_closed = 0, False
        self._failure = ""          # of an operation in the middle
        self._lock = new_lock()

    def __repr__(self):
        beside = "" if self.devices is None else f" and {self.devices.engine.name!r}"
        return (f"<ProcessGroup {self.group_name!r} of ranks {list(self.ranks)}: {self.backend}, by engine {self.engine.name!r}"
                f"{beside}>")

    def rank(self) -> int:
        """Return this process's position in the group."""
        return self.position

    def size(self) -> int:
        """Return the number of processes in the group."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the backend's name."""
        return self.backend

    def position_of(self, rank: int, what: str) -> int:
        """Return the position of a rank of the run in the group."""
        if rank not in self.ranks:
            raise ArgumentError(f"{what}: rank {rank} is not in the group of ranks {list(self.ranks)}")
        return self.ranks.index(rank)

    # Operations, one after the other.

    def channel_of(self, *arrays) -> Any:
        """Return the collectives for arrays: those on GPUs where all of them are there, else those of the host."""
        if self.devices is None or not self.devices.takes(*arrays):
            return self.channel
        return self.devices.on(arrays[0].device)

    def is_on_devices(self, *arrays) -> bool:
        """Return whether collectives of arrays only enter work into streams of GPUs."""
        return self.devices is not None and self.devices.takes(*arrays)

    def run(self, work, async_op: bool, channel: Any = None):
        """Run a collective after those before it, at once or asynchronously (returns a Work). `channel` is the one that it
        uses."""
        if tls.m.recorder is not None:
            tls.m.recorder.refuse("it talks to other processes", "call collectives of ingot.distributed, or do so outside")
        self.engine.check()
        if channel is not None and channel is self.devices:
            done = DeviceWork(self.engine.whole(channel.launch, work))
            if async_op:
                return done
            done.wait()
            return None
        with self._lock:
            busy = self._pending > 0
            if async_op or busy:
                if self._worker is None:
                    self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"ingot-group-{self.number}")
                self._pending += 1
                future = self._worker.submit(self._perform_later, user_line(), work)
        if not (async_op or busy):
            self._perform(work)
            return None
        future.add_done_callback(self._done)        # runs at once if already done, so not under the lock
        if async_op:
            return Work(future)
        future.result()
        return None

    def _perform(self, work: Callable) -> Any:
        """Return `work()`, unless another operation has failed: ranks would take these messages for the rest of that one."""
        if self._failure:
            raise DistBackendError(f"the group {self.group_name!r} cannot communicate any more: an operation has failed before "
                                   f"({self._failure})")
        try:
            return self.engine.whole(work)
        except DistError as e:
            if not self.channel.goes_on:
                self._failure = f"{e}"
            raise

    def _perform_later(self, line: tuple, work: Callable) -> Any:
        """Return `work()`, which the user's line has begun, in the group's thread."""
        background.line = line
        return self._perform(work)

    def inside(self, a, work: Callable) -> Any:
        """Return `work(the collectives for an array)`, as a step of the operation that runs now."""
        channel = self.channel_of(a)
        if channel is self.channel:
            return work(channel)
        launch = channel.launch(lambda: work(channel))
        launch.join()
        return launch.result

    def _done(self, _):
        with self._lock:
            self._pending -= 1

    def close(self):
        """Wait for pending operations, and free the channel."""
        self.is_closed = True
        if self._worker is not None:
            self._worker.shutdown(wait=True)
        if self.devices is not None:
            self.devices.close()
        self.channel.close()

