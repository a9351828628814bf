"""What the mock driver keeps of streams, events, threads and captures, and what a driver forbids."""

import threading

import mock_cuda_triton

OK, INVALID, NO_MEMORY, NO_CONTEXT, BAD_HANDLE, NOT_READY = 0, 1, 2, 201, 400, 600
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_UNJOINED, CAPTURED_EVENT = 900, 901, 904, 907
RELAXED = 2


class Violation(AssertionError):
    """Something that a real device would not forgive."""


class Capture:
    """A capture under way: what it was given, in the order in which it was, by the streams that take part.

    open    streams besides the first that were given work which the first does not wait for yet
    broken  whether something was asked for that no capture survives
    """

    def __init__(self, stream, mode):
        self.stream, self.mode, self.work = stream, mode, []
        self.streams, self.open, self.broken = [stream], set(), False


class Stream:
    """Work that has not run yet; `captured` is the capture that takes it instead."""

    def __init__(self, device):
        self.device, self.queue, self.captured = device, [], None


class Event:
    """How often it was recorded, and up to which recording it was reached; in which capture, if it was in one."""

    def __init__(self, device):
        self.device, self.recorded, self.reached = device, 0, 0
        self.time, self.captured, self.stream = 0.0, None, None


class Thread(threading.local):
    """What the driver knows of a thread: the device whose context is current, its capture, and what may be asked meanwhile."""

    device = capture = None
    mode = 0


MOST_PROGRAMS = (1 << 31) - 1, 65535, 65535

# What needs a context that is current in the thread, and what no thread may ask for while it captures (unless it said that
# it knows what it does).
IN_A_CONTEXT = frozenset((
    "cuCtxSynchronize", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync", "cuMemsetD8Async",
    "cuMemsetD32Async", "cuStreamCreateWithPriority", "cuStreamSynchronize", "cuStreamQuery", "cuStreamWaitEvent",
    "cuStreamIsCapturing", "cuEventCreate", "cuEventRecord", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphLaunch",
    "cuGraphInstantiateWithFlags", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernelEx"))
NOT_IN_A_CAPTURE = frozenset((
    "cuCtxSynchronize", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuStreamSynchronize",
    "cuStreamQuery", "cuEventSynchronize", "cuEventQuery", "cuModuleLoadData", "cuModuleUnload"))


mock_cuda_triton.as_installed(globals())
