"""The MPI library of this process, by way of mpi4py: started once, when the first run needs it, and left at the end.

MPI does not survive a fork. So processes that this one starts later come from a server of forks, which is started before MPI.
"""

import contextlib
import ctypes
import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import forkserver, util
from typing import Any, Protocol

from ....ir.errors import ArgumentError
from ....ir.requirements import install_extra
from ...state import forks
from ..stores.distributed_errors import DistBackendError, DistTimeoutError

_PAUSE = 0.001
_WITH_FAILURES = "OMPI_MCA_mpi_ft_enable"
_PRELOADED = __name__.removesuffix("distributed.engines.mpi_library") + "data.worker_loop"     # for fast starts of loaders


class User(Protocol):
    """User of the library, until the process ends.

    is_alone    whether all other ranks have ended, or said that they do
    """

    @property
    def is_alone(self) -> bool: ...

    def farewell(self, reason: str) -> bool:
        """Tell the other ranks that this one ends, with the reason of a failure; return whether to wait for them."""

    def stop(self):
        """Call MPI no more."""


users: list[User] = []
survivors: list = []        # the communicator of the ranks that are left, once some have failed


def is_installed() -> bool:
    """Return whether mpi4py can be imported."""
    return importlib.util.find_spec("mpi4py") is not None


def survives_failures() -> bool:
    """Return whether MPI goes on when ranks fail (ULFM), as `mpiexec --with-ft ulfm` of Open MPI asks for."""
    return os.environ.get(_WITH_FAILURES, "").lower() in ("1", "true", "yes", "enabled")


def started(timeout: float) -> Any:
    """Return the module mpi4py.MPI, with MPI started."""
    if not is_installed():
        raise DistBackendError(f"the engine 'mpi' needs mpi4py and an MPI library: {install_extra('mpi')}")
    import mpi4py
    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.initialize = mpi4py.rc.finalize = False
    from mpi4py import MPI
    if MPI.Is_finalized():
        raise DistBackendError("MPI was left in this process, and cannot be started again")
    _start_server_of_forks()
    forks.reason = "MPI runs in this process, and breaks in forked ones"
    if not MPI.Is_initialized():
        within(lambda: _start(MPI), timeout, "MPI_Init for all ranks")
        util.Finalize(None, _leave, args=(MPI,), exitpriority=-100)
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise DistBackendError("MPI was started for one thread, and the engine 'mpi' calls it from several: start MPI with "
                               "MPI_THREAD_MULTIPLE, or leave its start to init_process_group()")
    return MPI


def _start(MPI):
    """Call MPI_Init_thread, which waits for all ranks, with the interpreter's lock released; mpi4py would keep it."""
    start = getattr(ctypes.CDLL(MPI.__file__), "MPI_Init_thread", None)
    if start is None:
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
        return
    code = start(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))
    if code:
        raise DistBackendError(f"it failed with code {code}")
    for comm in (MPI.COMM_WORLD, MPI.COMM_SELF):
        comm.Set_errhandler(MPI.ERRORS_RETURN)


def within(work: Callable, timeout: float, what: str) -> Any:
    """Return the result of a call of MPI that blocks; raise an error if it takes longer than a timeout."""
    found: list = []

    def run():
        try:
            found.append((work(), None))
        except BaseException as e:
            found.append((None, e))

    thread = threading.Thread(target=run, name="ingot-mpi-call", daemon=True)
    thread.start()
    thread.join(timeout)
    if not found:
        raise DistTimeoutError(f"this rank waited {timeout:g} s in {what}; do all ranks run, and do the same?")
    result, error = found[0]
    if error is not None:
        raise DistBackendError(f"{what}: {error}") from error
    return result


def _start_server_of_forks():
    """Make a server of forks the way to start processes, unless the program has chosen another one."""
    try:
        multiprocessing.set_start_method("forkserver")
        multiprocessing.set_forkserver_preload([_PRELOADED])        # and not the program, which might join the run once more
    except RuntimeError:        # the program has chosen
        if multiprocessing.get_start_method() != "forkserver":
            return
    except ValueError as e:     # a system without forks
        raise ArgumentError(f"the engine 'mpi' runs on systems with fork: {e}") from None
    forkserver.ensure_running()


def _leave(MPI):
    """End MPI with the process: together with the others, or without them if a rank has failed."""
    if MPI.Is_finalized():
        return
    error = getattr(sys, "last_value", None)
    reason = "" if error is None else f"its program ended with {type(error).__name__}: {str(error)[:500]}"
    may_wait = _may_wait(reason)
    if reason and survives_failures():
        _die(is_last=bool(users) and users[-1].is_alone)         # (the latest knows the ranks that went on)
    if reason or not may_wait:
        return
    with contextlib.suppress(MPI.Exception):        # a rank has failed: the others do not wait
        end = (survivors or [MPI.COMM_WORLD])[-1].Ibarrier()
        while not end.Test():
            time.sleep(_PAUSE)
            if not _may_wait(""):
                return
        for user in users:
            user.stop()
        MPI.Finalize()


def _die(is_last: bool):
    """End the process by a signal, or with status 1 if no rank is left. Open MPI 5 tells the other ranks of no process that
    ends with an exit code but 0, and they would wait for it when they go on; signals leave the status of `mpiexec` at 0."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    if is_last:
        os._exit(1)
    os.kill(os.getpid(), signal.SIGKILL)


def _may_wait(reason: str) -> bool:
    return all([user.farewell(reason) for user in users])       # noqa: C419  (each of them)
