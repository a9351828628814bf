"""Start of several processes on one function, with their errors."""

import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import tempfile
import traceback

from ...ir.error_texts.shown_errors import shortened
from ...ir.errors import ArgumentError, IngotError
from ..state.forks import check_start_method

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn",
           "start_processes"]


class ProcessException(IngotError, RuntimeError):
    """A started process has failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised in a process; the message has that process's traceback."""


class ProcessExitedException(ProcessException):
    """A process ended with a signal or an exit code."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _error_file(directory, index) -> str:
    return os.path.join(directory, f"{index}.txt")


def _run(fn, index, args, directory):
    """Run fn in a process, and leave its traceback in a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass                        # the parent was interrupted as well and reports it
    except Exception as error:
        with shortened(error), open(_error_file(directory, index), "w", encoding="utf-8") as file:
            file.write(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes, directory):
        self.processes, self._directory = processes, directory
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list:
        """Return the ids of the processes, in order."""
        return [p.pid for p in self.processes]

    def join(self, timeout=None, grace_period=None) -> bool:
        """Wait until a process ends; return True if all have. After a failure stop the others and raise its error."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            if not self.sentinels:
                self._forget_errors()
            return not self.sentinels
        self._stop(grace_period)
        raise self._error(failed)

    def _stop(self, grace_period):
        for p in self.processes:
            if p.is_alive():
                p.terminate()
        for p in self.processes:
            p.join(grace_period if grace_period is not None else 30)
            if p.is_alive():
                p.kill()
                p.join()

    def _error(self, index) -> Exception:
        p, report = self.processes[index], None
        if os.path.exists(_error_file(self._directory, index)):
            with open(_error_file(self._directory, index), encoding="utf-8") as file:
                report = file.read()
        self._forget_errors()
        if report is not None:
            message = f"\n\n-- Process {index} terminated with the following error:\n{report}"
            return ProcessRaisedException(message, index, p.pid)
        if p.exitcode < 0:
            name = signal_name(p.exitcode)
            return ProcessExitedException(f"process {index} terminated with signal {name}", index, p.pid, p.exitcode, name)
        return ProcessExitedException(f"process {index} terminated with exit code {p.exitcode}", index, p.pid, p.exitcode)

    def _forget_errors(self):
        shutil.rmtree(self._directory, ignore_errors=True)


SpawnContext = ProcessContext


def signal_name(exitcode: int) -> str:
    """Return the name of the signal behind a negative exit code."""
    try:
        return signal.Signals(-exitcode).name
    except ValueError:
        return f"signal {-exitcode}"


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", numa_options=None):
    """Run fn(i, *args) in `nprocs` processes. With `join` wait for all and raise the first error; else return a
    ProcessContext. Processes are not bound to nodes of memory, so `numa_options` are refused."""
    if numa_options is not None:
        raise ArgumentError("start_processes binds no processes to nodes of memory; leave numa_options out, and start the "
                            "program with numactl")
    context = multiprocessing.get_context(start_method)
    check_start_method(context.get_start_method(), "Use start_method='spawn'")
    directory = tempfile.mkdtemp(prefix="ingot-spawn-")
    processes = [context.Process(target=_run, args=(fn, i, args, directory), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    started = ProcessContext(processes, directory)
    while join and not started.join():
        pass
    return None if join else started


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run fn(i, *args) in `nprocs` fresh processes; see `start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
