"""The CUDA driver (libcuda) through ctypes: functions by name, and errors as ingot errors.

`get()` returns the loaded driver, `find()` returns it or None. Neither is called before a CUDA device is requested.
"""

import ctypes
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from itertools import starmap
from operator import call
from typing import Any

from ....ir.cached_property import cached_property
from ....ir.errors import DeviceError, OutOfMemoryError
from ....ir.locks import new_rlock
from . import launch_queue
from .driver_state import thread
from .launch_queue import waiting

OUT_OF_MEMORY, NOT_READY = 2, 600
# Errors after which every call of a process fails: a kernel failed, and the next caller sees it.
_FATAL = frozenset((226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721))
_LIBRARIES = {"linux": ("libcuda.so.1", "libcuda.so"), "win32": ("nvcuda.dll",)}

# Parameters of each function of the driver that ingot calls.
_P, _I, _U, _Q, _Z = c_void_p, c_int, c_uint, c_uint64, c_size_t
FUNCTIONS: dict[str, tuple] = {
    "cuInit": (_U,), "cuDriverGetVersion": (_P,), "cuGetErrorName": (_I, _P), "cuGetErrorString": (_I, _P),
    "cuDeviceGetCount": (_P,), "cuDeviceGet": (_P, _I), "cuDeviceGetName": (c_char_p, _I, _I),
    "cuDeviceTotalMem_v2": (_P, _I), "cuDeviceGetAttribute": (_P, _I, _I), "cuDeviceCanAccessPeer": (_P, _I, _I),
    "cuDeviceGetUuid_v2": (_P, _I), "cuDevicePrimaryCtxRetain": (_P, _I), "cuCtxSetCurrent": (_P,), "cuCtxGetCurrent": (_P,),
    "cuCtxSynchronize": (), "cuCtxGetStreamPriorityRange": (_P, _P),
    "cuMemGetInfo_v2": (_P, _P), "cuMemAlloc_v2": (_P, _Z), "cuMemFree_v2": (_Q,), "cuMemHostAlloc": (_P, _Z, _U),
    "cuMemFreeHost": (_P,), "cuMemcpyHtoDAsync_v2": (_Q, _P, _Z, _P), "cuMemcpyDtoHAsync_v2": (_P, _Q, _Z, _P),
    "cuMemcpyDtoDAsync_v2": (_Q, _Q, _Z, _P), "cuMemcpyPeerAsync": (_Q, _P, _Q, _P, _Z, _P),
    "cuMemsetD8Async": (_Q, c_int, _Z, _P), "cuMemsetD32Async": (_Q, _U, _Z, _P), "cuPointerGetAttribute": (_P, _I, _Q),
    "cuStreamCreateWithPriority": (_P, _U, _I), "cuStreamDestroy_v2": (_P,), "cuStreamSynchronize": (_P,),
    "cuStreamQuery": (_P,), "cuStreamWaitEvent": (_P, _P, _U), "cuStreamIsCapturing": (_P, _P),
    "cuEventCreate": (_P, _U), "cuEventDestroy_v2": (_P,), "cuEventRecord": (_P, _P), "cuEventSynchronize": (_P,),
    "cuEventQuery": (_P,), "cuEventElapsedTime": (_P, _P, _P),
    "cuModuleLoadData": (_P, c_char_p), "cuModuleUnload": (_P,), "cuModuleGetFunction": (_P, _P, c_char_p),
    "cuFuncSetAttribute": (_P, _I, _I), "cuFuncGetAttribute": (_P, _I, _P), "cuLaunchKernelEx": (_P, _P, _P, _P),
    "cuStreamBeginCapture_v2": (_P, _I), "cuStreamEndCapture": (_P, _P), "cuThreadExchangeStreamCaptureMode": (_P,),
    "cuGraphInstantiateWithFlags": (_P, _P, _Q), "cuGraphLaunch": (_P, _P), "cuGraphExecDestroy": (_P,),
    "cuGraphDestroy": (_P,), "cuGraphUpload": (_P, _P), "cuGraphDebugDotPrint": (_P, c_char_p, _U),
    "cuProfilerStart": (), "cuProfilerStop": (),
}


# ANYTIME: functions independent of streams. LATE: functions that may be deferred (`launch_queue.py`). All others drain the
# queue.
ANYTIME = frozenset((
    "cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
    "cuDeviceTotalMem_v2", "cuDeviceGetAttribute", "cuDeviceCanAccessPeer", "cuDeviceGetUuid_v2", "cuDevicePrimaryCtxRetain",
    "cuCtxSetCurrent", "cuCtxGetCurrent", "cuCtxGetStreamPriorityRange", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemHostAlloc",
    "cuPointerGetAttribute", "cuStreamCreateWithPriority", "cuStreamIsCapturing", "cuEventCreate", "cuModuleLoadData",
    "cuModuleGetFunction", "cuFuncSetAttribute", "cuFuncGetAttribute", "cuThreadExchangeStreamCaptureMode"))
LATE = frozenset((
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync", "cuMemsetD8Async", "cuMemsetD32Async",
    "cuStreamWaitEvent", "cuEventRecord", "cuEventDestroy_v2"))


class CudaError(DeviceError):
    """A call of the CUDA driver that failed; `code` is the driver's number."""

    def __init__(self, message, code=0):
        super().__init__(message)
        self.code = code


def _written(kind):
    """Return a method that returns what a function of the driver writes through its first parameter, of a C type."""
    def call(self, name: str, *args) -> int:
        value = kind()
        getattr(self, name)(byref(value), *args)
        return value.value or 0

    return call


class Driver:
    """libcuda: every function of FUNCTIONS as a method that raises if the driver reports an error.

    The plain functions, which return the driver's number, are in `raw`.
    """

    def __init__(self, library):
        self.raw = {name: _bound(library, name, types) for name, types in FUNCTIONS.items()}
        self.cuInit(0)

    def __getattr__(self, name):
        function = self.raw.get(name)
        if function is None:
            if name in FUNCTIONS:
                raise CudaError(f"this CUDA driver has no {name}; a newer driver is needed")
            raise AttributeError(name)

        may_come_late, in_order = name in LATE, name not in ANYTIME

        def checked(*args):
            if thread.recorder is not None:
                thread.recorder.calls += 1
                if in_order and thread.recorder.holds_back and thread.recorder.meets(self, name, checked, args):
                    return
            if waiting and in_order:
                if may_come_late and launch_queue.defer(self, checked, args):
                    return
                launch_queue.drain()
            code = function(*args)
            if code:
                raise self.error(name, code)

        setattr(self, name, checked)
        return checked

    def error(self, name: str, code: int) -> DeviceError:
        """Return the exception for an error code of the driver."""
        message = f"{name} failed: {self.words(code)}"
        if code == OUT_OF_MEMORY:
            return OutOfMemoryError(message)
        if code in _FATAL:
            message += ("; a kernel that was launched before has failed, and this process can use its devices no more: start "
                        "it anew (compute-sanitizer names the kernel)")
        return CudaError(message, code)

    def words(self, code: int) -> str:
        """Return an error code with its name and explanation."""
        found = []
        for function in (self.raw["cuGetErrorName"], self.raw["cuGetErrorString"]):
            text = c_char_p()
            if function is not None and function(code, byref(text)) == 0 and text.value:
                found.append(text.value.decode(errors="replace"))
        return f"{': '.join(found) or 'unknown error'} (CUDA error {code})"

    number, size, handle = map(_written, (c_int, c_size_t, c_void_p))       # handles are addresses, too

    def noted(self, note, name: str, *args):
        """Call `note` and a function of the driver in one instruction: no exception from a signal handler comes between."""
        if name not in ANYTIME:
            launch_queue.drain()
        _, code = starmap(call, ((note,), (self.raw[name], *args)))
        if code:
            raise self.error(name, code)

    def milliseconds(self, start: int, end: int) -> float:
        """Return the time between two events that were reached."""
        value = c_float()
        self.cuEventElapsedTime(byref(value), start, end)
        return value.value

    def is_done(self, name: str, handle: int) -> bool:
        """Return whether a stream (cuStreamQuery) or an event (cuEventQuery) has nothing left to do."""
        if thread.recorder is not None:
            thread.recorder.calls += 1
        if launch_queue.is_ahead():
            launch_queue.kick()
            return False                # what it waits for may not be in its stream yet
        code = self.raw[name](handle)
        if code not in (0, NOT_READY):
            raise self.error(name, code)
        return code == 0

    @cached_property
    def devices(self) -> int:
        """Number of devices; a forked process inherits it."""
        return self.number("cuDeviceGetCount")

    @property
    def version(self) -> int:
        """The CUDA version that the driver supports, as 1000 * major + 10 * minor."""
        return self.number("cuDriverGetVersion")


def _bound(library, name, types):
    function: Any = getattr(library, name, None)
    if hasattr(function, "argtypes"):
        function.argtypes, function.restype = types, c_int
    return function


class _State:
    """Driver of this process, after its first use."""

    lock = new_rlock()
    driver: Any = None
    why: str = ""
    searched = False


def find() -> Driver | None:
    """Return the driver, loaded at the first call, or None."""
    if not _State.searched:
        with _State.lock:
            if not _State.searched:
                _State.driver, _State.why = _load()
                _State.searched = True
    return _State.driver


def get() -> Driver:
    """Return the driver; raise with the reason if there is none."""
    driver = find()
    if driver is None:
        raise DeviceError(f"there is no cuda device here: {_State.why}")
    return driver


def is_loaded() -> bool:
    """Return whether the driver was loaded successfully."""
    return _State.driver is not None


def why_not() -> str:
    """Return why there is no driver, or ""."""
    return "" if find() is not None else _State.why


def _load():
    names = _LIBRARIES.get(sys.platform)
    if names is None:
        return None, f"there is no CUDA for {sys.platform}"
    for name in names:
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        return None, (f"the driver library {names[0]} is not found; install the NVIDIA driver (inside a container, "
                      "start it with --gpus all)")
    try:
        driver = Driver(library)
        if driver.devices == 0:
            return None, "the driver finds no CUDA device (is CUDA_VISIBLE_DEVICES empty?)"
    except DeviceError as e:
        return None, f"the driver is there, but does not start: {e}"
    return driver, ""


def replace(library) -> tuple:
    """Replace the driver by another library (None: no driver); return the state before, for `restore`."""
    launch_queue.drain()
    before = (_State.driver, _State.why, _State.searched, launch_queue.keep_order(getattr(library, "in_order", False)))
    _State.driver = None if library is None else Driver(library)
    _State.why, _State.searched = "no driver" if library is None else "", True
    return before


def restore(before: tuple):
    """Restore the state that `replace` returned."""
    _State.driver, _State.why, _State.searched, in_order = before
    launch_queue.keep_order(in_order)
