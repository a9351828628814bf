"""The mock driver's state of streams, events, threads and captures, and the calls a driver forbids."""

import threading

import mock_cuda_triton

OK, INVALID, NO_MEMORY, NO_CONTEXT, BAD_HANDLE, NOT_READY, NO_RESOURCES = 0, 1, 2, 201, 400, 600, 701
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_UNJOINED, CAPTURED_EVENT, WRONG_THREAD = 900, 901, 904, 907, 908
RELAXED = 2


class Violation(AssertionError):
    """Something that a real device would not forgive."""


class Capture:
    """A capture under way: what it was given, in the order in which it was, by the streams that take part, as (stream, work or
    the number of a recorded event, whether it waits for that event).

    thread  the number of the thread that began it
    broken  whether something was asked for that no capture survives
    """

    def __init__(self, stream, mode):
        self.stream, self.mode, self.work, self.thread = stream, mode, [], threading.get_ident()
        self.streams, self.broken = [stream], False

    def is_joined(self) -> bool:
        """Whether the first stream waits for all that others were given, perhaps by way of further ones."""
        until = {id(self.stream): len(self.work)}       # where each stream is waited for
        for place, (queue, work, waits) in reversed([*enumerate(self.work)]):
            is_waited_for = place <= until.get(id(queue), -1)
            if not is_waited_for and (callable(work) or waits):
                return False
            if is_waited_for and waits:
                source = id(self.work[work][0])
                until[source] = max(until.get(source, -1), work)
        return True


class Stream:
    """Work that has not run yet; `captured` is the capture that takes it instead."""

    def __init__(self, device):
        self.device, self.queue, self.captured = device, [], None


class Event:
    """How often it was recorded, and up to which recording it was reached; in which capture, if it was in one; whether it is
    there to measure time."""

    def __init__(self, device, timing):
        self.device, self.timing, self.recorded, self.reached = device, timing, 0, 0
        self.time, self.captured, self.stream, self.place = 0.0, None, None, 0


class Thread(threading.local):
    """The driver's state of a thread: the device of its current context, its capture, and the capture mode."""

    device = capture = None
    mode = 0


MOST_PROGRAMS, MOST_THREADS = ((1 << 31) - 1, 65535, 65535), (1024, 1024, 64)
FREE_SHARED, MOST_SHARED = 49152, {80: 166912, 90: 232448}      # bytes of a block: without asking, and at most
MOST_IN_A_CLUSTER, REGISTERS = 8, 65536
TIMELESS = 2

# Calls that need a current context in the thread, and calls forbidden while it captures (unless it said that
# it knows what it does).
IN_A_CONTEXT = frozenset((
    "cuCtxSynchronize", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync", "cuMemsetD8Async",
    "cuMemsetD32Async", "cuStreamCreateWithPriority", "cuStreamSynchronize", "cuStreamQuery", "cuStreamWaitEvent",
    "cuStreamIsCapturing", "cuEventCreate", "cuEventRecord", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphLaunch",
    "cuGraphInstantiateWithFlags", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernelEx"))
NOT_IN_A_CAPTURE = frozenset((
    "cuCtxSynchronize", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuStreamSynchronize",
    "cuStreamQuery", "cuEventSynchronize", "cuEventQuery", "cuModuleLoadData", "cuModuleGetFunction", "cuModuleUnload"))
# Calls allowed while ordinary memory is copied: those that wait for it, and those that concern no device's work.
BESIDE_A_COPY = frozenset((
    "cuStreamSynchronize", "cuCtxSynchronize", "cuCtxSetCurrent", "cuCtxGetCurrent", "cuGetErrorName", "cuGetErrorString"))


def refused_launch(kernel, config, cluster, asked, arch) -> int:
    """Return a driver's status for the sizes of a launch.

    `cluster` is the number of blocks that run together along the first dim, `asked` the bytes of shared memory allowed.
    """
    block, threads = tuple(config.block), config.block[0] * config.block[1] * config.block[2]
    if not all(1 <= n <= most for n, most in zip((*config.grid, *block), (*MOST_PROGRAMS, *MOST_THREADS))) or threads > 1024:
        return INVALID
    if config.shared > max(FREE_SHARED, asked) or kernel.get("threads", threads) != threads:
        return INVALID
    if cluster > 1 and (arch < 90 or cluster > MOST_IN_A_CLUSTER or config.grid[0] % cluster):
        return INVALID
    per_warp = -(-kernel.get("registers", 0) // 8) * 256         # (registers are given to warps by 256)
    return NO_RESOURCES if -(-threads // 32) * per_warp > REGISTERS else OK


mock_cuda_triton.as_library(globals())
