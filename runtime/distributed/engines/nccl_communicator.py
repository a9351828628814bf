"""A communicator of NCCL: ranks that each have one GPU. Its calls do not block; a lock keeps them apart from an abort."""

import time
from collections.abc import Callable
from ctypes import c_void_p

import numpy as np

from ....ir.errors import ArgumentError
from ....ir.locks import new_lock
from ....ir.reference.scalar_functions import as_kind
from ...cuda.driver import context as contexts
from ..stores.distributed_errors import DistBackendError, DistTimeoutError
from . import nccl_library
from .nccl_library import IN_PROGRESS, SUCCESS, Library
from .pause import Pause
from .reduce_op import ReduceOp, is_narrow

_LEAVING = 10.0         # seconds for all ranks to leave a communicator


class Communicator:
    """Ranks connected by NCCL.

    handle      NCCL's; 0 once the communicator is gone
    failure     the reason why it was aborted
    """

    def __init__(self, library: Library, handle: int, device: int):
        self.nccl, self.handle, self.device = library, handle, device
        self.failure: DistBackendError | None = None
        self._lock = new_lock()
        self._factors: dict[tuple, int] = {}

    # Joining.

    @classmethod
    def joined(cls, library: Library, name: bytes, rank: int, size: int, device: int, what: str,
               limit: float) -> "Communicator":
        """Return the communicator of a unique id, once all ranks have joined it."""
        contexts.context(device)
        made = cls(library, library.join(name, rank, size).value or 0, device)
        try:
            made.settle(what, limit)
        except DistBackendError as e:
            made.abort(e)
            raise
        return made

    def split(self, is_member: bool, number: int, rank: int, what: str, limit: float) -> "Communicator | None":
        """Return the communicator of some ranks of this one, in their order. All ranks call it, and others get None."""
        contexts.context(self.device)
        place: c_void_p = self._locked(lambda handle: self.nccl.split(handle, number if is_member else None, rank))
        self.settle(what, limit)
        if not is_member:
            return None
        made = Communicator(self.nccl, place.value or 0, self.device)
        made.settle(what, limit)
        return made

    # Calls.

    def check(self):
        """Raise the reason why the communicator was aborted."""
        if self.failure is not None:
            raise type(self.failure)(str(self.failure))

    def _locked(self, work: Callable):
        with self._lock:
            self.check()
            return work(self.handle)

    def enqueue(self, calls: list, stream: int, what: str, limit: float):
        """Enter calls (name, arguments before the communicator and the stream) into a stream, as one group."""
        def enter(handle):
            call, error = self.nccl.call, None
            call("ncclGroupStart")
            try:
                for name, args in calls:
                    call(name, *args, handle, stream, comm=handle)
            except DistBackendError as e:
                error = e
            try:
                call("ncclGroupEnd", comm=handle)
            except DistBackendError as e:
                error = error or e
            if error is not None:
                raise error

        contexts.context(self.device)
        self._locked(enter)
        self.settle(what, limit)

    def settle(self, what: str, limit: float):
        """Return once NCCL has done in the background what the last call asked for: connecting ranks, entering a stream."""
        deadline, pause = time.monotonic() + limit, Pause()
        while True:
            state = self._locked(self.nccl.state)
            if state == SUCCESS:
                return
            if state != IN_PROGRESS:
                raise self.nccl.error(what, state, self.handle)
            if time.monotonic() > deadline:
                raise DistTimeoutError(f"this rank waited {limit:g} s in {what}; do all ranks run, and do the same?")
            pause.take()

    def trouble(self) -> DistBackendError | None:
        """Return the asynchronous error of the communicator, if it has one. A call under way reports its own errors, and may
        wait for ranks that wait for the watchdog."""
        if not self._lock.acquire(False):
            return None
        try:
            if not self.handle:
                return None
            state = self.nccl.state(self.handle)
            return None if state in (SUCCESS, IN_PROGRESS) else self.nccl.error("an asynchronous error", state, self.handle)
        finally:
            self._lock.release()

    def reduction(self, op: ReduceOp, dtype: np.dtype, divisor: float | None, limit: float) -> tuple[int, int]:
        """Return NCCL's numbers of a dtype and a reduction on it. A mean multiplies each value by a factor before the sum."""
        kind, number = nccl_library.reduction_of(op, dtype)
        if divisor is None:
            return kind, number
        if not (is_narrow(dtype) or dtype.kind in "fc"):
            raise ArgumentError(f"a mean takes floating point tensors, got {dtype.name}")
        key = kind, divisor
        if key not in self._factors:
            real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
            factor = as_kind(np.asarray([1.0 / divisor]), real)
            self._factors[key] = self._locked(lambda handle: self.nccl.premultiplied_sum(factor, kind, handle))
            self.settle("making a reduction", limit)
        return kind, self._factors[key]

    # Leaving.

    def abort(self, reason: DistBackendError):
        """End all that runs on the communicator, and free it."""
        with self._lock:
            if self.failure is None:
                self.failure = reason
            handle, self.handle = self.handle, 0
            if handle:
                contexts.context(self.device)
                self.nccl.call("ncclCommAbort", handle)

    def close(self):
        """Leave the communicator with the other ranks; all its work is done."""
        if not self.handle:
            return
        gone = DistBackendError("this rank has left the communicator")
        try:
            contexts.context(self.device)
            for number in self._factors.values():
                self._locked(lambda handle, number=number: self.nccl.call("ncclRedOpDestroy", number, handle))
            self._locked(lambda handle: self.nccl.call("ncclCommFinalize", handle))
            self.settle("leaving a group", _LEAVING)
        except DistBackendError:
            self.abort(gone)
            return
        with self._lock:
            self.failure, handle, self.handle = gone, self.handle, 0
            self.nccl.call("ncclCommDestroy", handle)
