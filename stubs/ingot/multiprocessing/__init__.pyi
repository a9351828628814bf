"""`ingot.multiprocessing`: Python's multiprocessing, whose queues, pipes and arguments carry tensors in shared memory."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import IngotError as _IngotError
from ingot.multiprocessing import reductions as reductions
from multiprocessing.context import AuthenticationError as _AuthenticationError
from multiprocessing.context import BufferTooShort as _BufferTooShort
from multiprocessing.context import Process as _Process
from multiprocessing.context import ProcessError as _ProcessError
from multiprocessing.context import TimeoutError as _TimeoutError

def Array(typecode_or_type: _t.Any, size_or_initializer: _t.Any, *, lock: _b.bool = True) -> _t.Any:
    """Returns a synchronized shared array"""
def Barrier(parties: _t.Any, action: _t.Any = None, timeout: _t.Any = None) -> _t.Any:
    """Returns a barrier object"""
def BoundedSemaphore(value: _t.Any = 1) -> _t.Any:
    """Returns a bounded semaphore object"""
def Condition(lock: _t.Any = None) -> _t.Any:
    """Returns a condition object"""
def Event() -> _t.Any:
    """Returns an event object"""
def JoinableQueue(maxsize: _t.Any = 0) -> _t.Any:
    """Returns a queue object"""
def Lock() -> _t.Any:
    """Returns a non-recursive lock object"""
def Manager() -> _t.Any:
    """Returns a manager associated with a running server process"""
def Pipe(duplex: _b.bool = True) -> _t.Any:
    """Returns two connection object connected by a pipe"""
def Pool(processes: _t.Any = None, initializer: _t.Any = None, initargs: _t.Any = (),
         maxtasksperchild: _t.Any = None) -> _t.Any:
    """Returns a process pool object"""
def Queue(maxsize: _t.Any = 0) -> _t.Any:
    """Returns a queue object"""
def RLock() -> _t.Any:
    """Returns a recursive lock object"""
def RawArray(typecode_or_type: _t.Any, size_or_initializer: _t.Any) -> _t.Any:
    """Returns a shared array"""
def RawValue(typecode_or_type: _t.Any, *args: _t.Any) -> _t.Any:
    """Returns a shared object"""
def Semaphore(value: _t.Any = 1) -> _t.Any:
    """Returns a semaphore object"""
def SimpleQueue() -> _t.Any:
    """Returns a queue object"""
def Value(typecode_or_type: _t.Any, *args: _t.Any, lock: _b.bool = True) -> _t.Any:
    """Returns a synchronized shared object"""
def allow_connection_pickling() -> _t.Any:
    """Install support for sending connections and sockets between processes"""
def cpu_count() -> _t.Any:
    """Returns the number of CPUs in the system"""
def freeze_support() -> _t.Any:
    """Check whether this is a fake forked process in a frozen executable."""
def get_all_start_methods() -> _t.Any: ...
def get_context(method: _t.Any = None) -> _t.Any: ...
def get_logger() -> _t.Any:
    """Return package logger -- if it does not already exist then it is created."""
def get_start_method(allow_none: _b.bool = False) -> _t.Any: ...
def log_to_stderr(level: _t.Any = None) -> _t.Any:
    """Turn on logging and add a handler which prints to stderr"""
def set_executable(executable: _t.Any) -> _t.Any:
    """Sets the path to a python.exe or pythonw.exe binary used to run child processes instead of sys.executable when using
    the 'spawn' start method."""
def set_forkserver_preload(module_names: _t.Any) -> _t.Any:
    """Set list of module names to try to load in forkserver process."""
def set_start_method(method: _t.Any, force: _b.bool = False) -> _t.Any: ...

class ProcessContext:
    """Processes that were started together."""
    processes: _t.Any
    sentinels: _b.dict[_t.Any, _t.Any]
    def __init__(self, processes: _t.Any, directory: _t.Any) -> None: ...
    def join(self, timeout: _t.Any = None, grace_period: _t.Any = None) -> _b.bool:
        """Wait until a process ends; return True if all have. After a failure stop the others and raise its error."""
    def pids(self) -> _b.list[_t.Any]:
        """Return the ids of the processes, in order."""

class ProcessException(_IngotError, _b.RuntimeError):
    """A started process has failed."""
    error_index: _b.int
    error_pid: _b.int
    msg: _b.str
    def __init__(self, msg: _b.str, error_index: _b.int, error_pid: _b.int) -> None: ...

class ProcessExitedException(ProcessException):
    """A process ended with a signal or an exit code."""
    exit_code: _t.Any
    signal_name: _t.Any
    def __init__(self, msg: _t.Any, error_index: _t.Any, error_pid: _t.Any, exit_code: _t.Any,
                 signal_name: _t.Any = None) -> None: ...

class ProcessRaisedException(ProcessException):
    """The function raised in a process; the message has that process's traceback."""

def active_children() -> _b.list[_t.Any]:
    """Return list of process objects corresponding to live child processes"""
def current_process() -> _t.Any:
    """Return process object representing the current process"""
def get_all_sharing_strategies() -> _b.set[_t.Any]:
    """Return the ways of sharing memory: only file descriptors, which leave nothing behind."""
def get_sharing_strategy() -> _b.str:
    """Return the way of sharing memory."""
def parent_process() -> _t.Any:
    """Return process object representing the parent process"""
def set_sharing_strategy(new_strategy: _b.str) -> None:
    """Accept both names that scripts use; memory is always shared by file descriptors, without their usual limits."""
def spawn(fn: _t.Any, args: _t.Any = (), nprocs: _t.Any = 1, join: _b.bool = True, daemon: _b.bool = False,
          start_method: _b.str = 'spawn') -> _t.Any:
    """Run fn(i, *args) in `nprocs` fresh processes; see `start_processes`."""
def start_processes(fn: _t.Any, args: _t.Any = (), nprocs: _t.Any = 1, join: _b.bool = True,
                    daemon: _b.bool = False, start_method: _b.str = 'spawn', numa_options: _t.Any = None) -> _t.Any:
    """Run fn(i, *args) in `nprocs` processes. With `join` wait for all and raise the first error; else return a
    ProcessContext."""

AuthenticationError = _AuthenticationError
BufferTooShort = _BufferTooShort
Process = _Process
ProcessError = _ProcessError
SpawnContext = ProcessContext
TimeoutError = _TimeoutError
