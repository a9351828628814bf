"""CUDA graphs: what a stream is given while it is captured, kept as one thing that is launched again as a whole.

Memory that is asked for during a capture comes from a pool of the graph's own, which nothing else uses as long as the graph
lives: its kernels have the addresses built in.
"""

from contextlib import contextmanager
from ctypes import byref, c_int, c_void_p
from typing import Any

from ...ir.errors import DeviceError
from . import context as contexts
from . import pools, streams

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_ACTIVE = 1


class CUDAGraph:
    """A captured sequence of work, replayed by one call."""

    def __init__(self, keep_graph: bool = False):
        self.executable = self.captured = 0
        self.memory: Any = None
        self.device: Any = None
        self.driver: Any = None
        self.stream: Any = None
        self.ran_in: set = set()            # streams that it was put into

    def capture_begin(self, pool=None, capture_error_mode: str = "thread_local"):
        """Starts capturing the current stream, which must not be the default one."""
        stream = streams.current()
        if stream.handle == 0:
            raise DeviceError("the default stream cannot be captured; capture inside `with ingot.cuda.stream(...)`, or use "
                              "`with ingot.cuda.graph(g)`, which does it for you")
        if self.executable:
            raise DeviceError("this graph was captured before; reset() it, or make a new one")
        self.device, self.stream = stream.device, stream
        self.driver = contexts.context(self.device).driver
        self.memory = pools.Pool(self.device, pool)
        self.driver.cuStreamBeginCapture_v2(stream.handle, _MODES[capture_error_mode])
        self.memory.enter()

    def capture_end(self):
        """Ends the capture and makes the graph ready to run."""
        self.memory.leave()
        graph = c_void_p()
        self.driver.cuStreamEndCapture(self.stream.handle, byref(graph))
        self.captured = graph.value or 0
        self.executable = self.driver.handle("cuGraphInstantiateWithFlags", self.captured, 0)

    def abandon(self):
        """Ends a capture that failed; nothing of it is kept."""
        self.memory.leave()
        graph = c_void_p()
        self.driver.raw["cuStreamEndCapture"](self.stream.handle, byref(graph))
        self.captured = graph.value or 0
        self.reset()

    def replay(self):
        """Puts all of it into the current stream."""
        if not self.executable:
            raise DeviceError("this graph holds nothing yet; capture it first")
        stream = streams.current(self.device).handle
        contexts.context(self.device).driver.cuGraphLaunch(self.executable, stream)
        self.ran_in.add(stream)

    def pool(self) -> int:
        """The number of the memory pool, which another graph may share."""
        return self.memory.number

    def reset(self):
        """Forgets what was captured; its memory may be used for other things."""
        if self.driver is None:
            return
        executable, captured, self.executable, self.captured = self.executable, self.captured, 0, 0
        if executable:
            self.driver.raw["cuGraphExecDestroy"](executable)
        if captured:
            self.driver.raw["cuGraphDestroy"](captured)
        if self.memory is not None:
            self.memory.release(self.ran_in)
            self.memory = None

    def __del__(self):
        try:
            self.reset()
        except (DeviceError, TypeError, AttributeError):
            return


@contextmanager
def graph(cuda_graph: CUDAGraph, pool=None, stream=None, capture_error_mode: str = "thread_local"):
    """Captures what is done inside, on a stream of its own."""
    stream = streams.Stream(contexts.current()) if stream is None else stream
    before = streams.current(stream.device)
    stream.wait_stream(before)
    with stream:
        cuda_graph.capture_begin(pool, capture_error_mode)
        try:
            yield cuda_graph
        except BaseException:
            cuda_graph.abandon()
            raise
        cuda_graph.capture_end()
    before.wait_stream(stream)


def is_current_stream_capturing() -> bool:
    """Whether the current stream is being captured."""
    if not contexts.is_started():
        return False
    stream = streams.current()
    status = c_int()
    contexts.context(stream.device).driver.cuStreamIsCapturing(stream.handle, byref(status))
    return status.value == _ACTIVE
