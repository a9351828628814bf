"""CUDA graphs: captured work of a stream, launched as a whole.

Memory allocated during a capture comes from a pool of the graph, which nothing else uses while the graph lives, because its
kernels have the addresses built in. Keys of random draws lie in memory of the graph too: before each replay the next keys of
the generators are written there, so replays draw the same numbers as calls without a graph.

An exception from a signal handler ends the capture, and the graph is as before. The driver writes handles into places that the
graph has, and the beginning and the end of a capture are noted in the instruction that calls the driver. So `abandon` finds
what is there in any state.
"""

from collections import deque
from collections.abc import Callable
from ctypes import byref, c_void_p
from functools import partial
from itertools import starmap
from operator import call
from os import fsencode
from threading import get_ident
from typing import Any

import numpy as np

from ....ir.errors import DeviceError
from ....ir.locks import new_condition
from ....ir.suggestions import unknown_choice
from ...core.device_array import DeviceArray
from ...core.random import default_generator
from ...state.switches import refuse_to_read
from ..driver import context as contexts
from ..driver import launch_queue, streams
from ..driver.driver_state import END_CAPTURES, LEFT, on_replaced_driver
from ..driver.endings import each, leave
from ..driver.streams import is_current_stream_capturing as is_current_stream_capturing
from ..memory import pools, status_words, transfer
from ..memory.allocator import BEFORE_SEARCH
from ..memory.arrays import empty
from ..memory.pinned import PINNED

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_PATIENCE = 10.0                            # seconds to wait for captures of other threads
_DESTROY = {"executable": "cuGraphExecDestroy", "captured": "cuGraphDestroy"}
_under_way: dict[int, set] = {}             # tokens of captures in progress, by device
_changed = new_condition()            # lock of these, and of waits for a device
_ended: deque = deque()               # endings of graphs: their attributes
on_replaced_driver(_ended.clear)
on_replaced_driver(LEFT.clear)


class CUDAGraph:
    """A captured sequence of work, replayed by one call. `keep_graph` keeps the captured graph as well as the executable one.

    Each replay draws new random numbers from the default generator and from registered ones.
    """

    def __init__(self, keep_graph: bool = False):
        self.executable = self.captured = 0
        self._places = {name: c_void_p() for name in _DESTROY}      # where the driver writes these handles
        self._begun: list = []          # [0] while the driver captures
        self._thread = 0                # the thread that began this
        self._token = object()
        self.keeps = keep_graph
        self.memory: Any = None
        self.device: Any = None
        self.driver: Any = None
        self.stream: Any = None
        self.draws: Any = None
        self.words: list = []               # status words of its launches
        self.listeners: list = []           # `LaunchListener`s, which have work in it
        self.generators: list = [default_generator]
        self.ran_in: set = set()            # streams of its replays
        self.last: Any = None               # the last of them
        reset_ended()
        leave(self, _ended, vars(self))

    def capture_begin(self, pool=None, capture_error_mode: str = "thread_local"):
        """Start capturing the current stream, which must not be the default one.

        `pool` is that of another graph, or `graph_pool_handle()`, whose memory this one may share.
        """
        stream = streams.current()
        if capture_error_mode not in _MODES:
            raise unknown_choice("capture_error_mode", capture_error_mode, _MODES)
        if stream.handle == 0:
            raise DeviceError("the default stream cannot be captured; capture inside `with ingot.cuda.stream(...)`, or use "
                              "`with ingot.cuda.graph(g)`, which does it for you")
        if self.executable or self.captured:
            raise DeviceError("this graph was captured before; reset() it, or make a new one")
        if pools.is_capturing():
            raise DeviceError("this thread captures a graph already, and graphs do not nest")
        self.device, self.stream = stream.device_index, stream
        self.driver, self._thread, self._begun = contexts.context(self.device).driver, get_ident(), []
        try:
            self.memory = pools.Pool(self.device, pool)
            self.draws = Draws(self.device, self.generators)
            self.memory.enter(self.draws)
            launch_queue.drain()
            with _changed:
                _under_way.setdefault(self.device, set()).add(self._token)
            self._begun += starmap(self.driver.raw["cuStreamBeginCapture_v2"], ((stream.handle, _MODES[capture_error_mode]),))
            if self._begun != [0]:
                raise self.driver.error("cuStreamBeginCapture_v2", self._begun.pop())
        except BaseException:
            self.abandon()
            raise

    @property
    def is_captured_now(self) -> bool:
        """Whether the driver captures it."""
        return self._begun == [0]

    def capture_end(self):
        """End the capture and make the graph executable."""
        try:
            self.memory.leave()
            contexts.context(self.device)
            launch_queue.drain()
            code = self._end()
            if code:
                raise self.driver.error("cuStreamEndCapture", code)
            pools.give_foreign_back()
            self.draws.finish()
            self.words = status_words.words_among(self.memory.held)
            self.listeners = [h for h in self.memory.held if isinstance(h, pools.LaunchListener)]
            if not self.keeps:
                self.instantiate()
        except BaseException as e:
            self.abandon()
            if not isinstance(e, DeviceError):
                raise
            raise DeviceError(f"nothing was captured: {e}; inside a capture nothing may wait for the device, and streams that "
                              "were made to wait for it must be waited for before it ends") from e

    def _end(self) -> int:
        """Let the driver end the capture, and note that in the same instruction. Return its code."""
        end = self.driver.raw["cuStreamEndCapture"], self.stream.handle, byref(self._places["captured"])
        _, code = starmap(call, ((self._begun.clear,), end))
        with _changed:
            _under_way[self.device].discard(self._token)
            _changed.notify_all()
        self.captured = self._places["captured"].value or 0
        return code

    def abandon(self):
        """End the capture, and drop what was captured. It may be repeated, from any state of a capture."""
        if self.memory is not None:
            self.memory.leave()
        if self.is_captured_now:
            contexts.context(self.device)
            self._end()
        with _changed:
            _under_way.get(self.device, set()).discard(self._token)
            _changed.notify_all()
        if self.draws is not None:
            self.draws.finish()
        self.reset()

    def instantiate(self):
        """Make the captured graph executable, as the first replay does too."""
        if not self.captured:
            raise DeviceError("this graph holds nothing yet; capture it first")
        contexts.context(self.device)
        self._destroy("executable")
        place = self._places["executable"]
        pools.with_room(self.device, partial(self.driver.cuGraphInstantiateWithFlags, byref(place), self.captured, 0))
        self.executable = place.value or 0
        if not self.keeps:
            self._destroy("captured")

    def replay(self):
        if not self.executable:
            self.instantiate()
        self.replay_in(streams.current(self.device))

    def replay_in(self, stream):
        """Launch the instantiated graph in a stream of the current device. An interrupt comes before that, and the generators
        are as before, or after it."""
        if self.draws.keys and self.last not in (None, stream):
            stream.wait_stream(self.last)       # where the last replay may still read its keys
        draws, places, done = self.draws, self.draws.places(), []
        try:
            draws.renew()
            done += self.launch_in(stream)
            self.launched_in(stream, *done)
        except BaseException:
            if done == [0]:
                self.launched_in(stream, 0)
            else:
                draws.rewind(places)
            raise

    def launch_in(self, stream):
        """Return an iterator that launches the graph when its one item is taken, the driver's code."""
        launch_queue.drain()
        for listener in self.listeners:
            listener.check()
        return starmap(self.driver.raw["cuGraphLaunch"], ((self.executable, stream.handle),))

    def launched_in(self, stream, code: int):
        """Note a launch in a stream, by the driver's code of it; raise its error."""
        if code:
            raise self.driver.error("cuGraphLaunch", code)
        self.ran_in.add(stream.handle)
        self.last = stream
        for words in self.words:
            status_words.launched(words)
        for listener in self.listeners:
            listener.launched(stream)

    def pool(self) -> int:
        """Return the number of the memory pool, which another graph may share."""
        if self.memory is None:
            raise DeviceError("this graph holds nothing yet; capture it first")
        return self.memory.number

    def register_generator_state(self, generator):
        """Draw from a further generator at each replay; call it before the capture."""
        if self.memory is not None:
            raise DeviceError("generators are registered before the capture")
        self.generators.append(generator)

    def raw_cuda_graph(self) -> int:
        """Return the driver's handle of the captured graph."""
        if not self.captured:
            raise DeviceError("what was captured is kept with CUDAGraph(keep_graph=True) only")
        return self.captured

    def raw_cuda_graph_exec(self) -> int:
        """Return the driver's handle of the executable graph."""
        if not self.executable:
            raise DeviceError("this graph is not instantiated; capture it first")
        return self.executable

    def enable_debug_mode(self):
        """Keep captured graphs from now on, for `debug_dump`."""
        self.keeps = True

    def debug_dump(self, debug_path):
        """Write the captured graph into a file, in Graphviz's language."""
        self.driver.cuGraphDebugDotPrint(self.raw_cuda_graph(), fsencode(debug_path), 1)

    def reset(self):
        """Drop the graph and release its memory."""
        if self.driver is None:
            return
        if self.is_captured_now or (self.memory is not None and self.memory.is_entered):      # nobody will end the capture
            self.abandon()
            return
        exchange = pools.mode_exchange(self.driver)
        try:
            exchange()
            self._destroy("executable")
            self._destroy("captured")
        finally:
            exchange()
        if self.memory is not None:
            self.memory.release(self.ran_in)
            self.memory = self.draws = None
            self.words, self.listeners = [], []
            self.ran_in, self.last = set(), None

    def _destroy(self, name):
        place = self._places[name]
        setattr(self, name, 0)
        if place.value:
            destroy = self.driver.raw[_DESTROY[name]], place.value
            deque(starmap(call, ((setattr, place, "value", None), destroy)), 0)


def reset_ended():
    """Reset the graphs that nobody has any more; not those that another thread still captures."""
    each(_ended, _reset)


def _reset(ending):
    graph = object.__new__(CUDAGraph)
    graph.__dict__ = ending.left
    is_elsewhere = graph.is_captured_now or (graph.memory is not None and graph.memory.entered)
    if is_elsewhere and graph._thread != get_ident():
        return False
    graph.reset()
    return True


BEFORE_SEARCH.append(reset_ended)
END_CAPTURES.append(reset_ended)


def between_captures(device: int, wait: Callable):
    """Call a function that waits for a whole device. That breaks captures, so wait for those of other threads, and let none
    begin meanwhile."""
    with _changed:
        if not pools.is_capturing():
            _changed.wait_for(lambda: not _under_way.get(device), _PATIENCE)
        wait()


class graph:
    """Context manager that captures the work inside, on a stream of its own."""

    def __init__(self, cuda_graph: CUDAGraph, pool=None, stream=None, capture_error_mode: str = "thread_local"):
        self._graph, self._begin = cuda_graph, (pool, capture_error_mode)
        self._stream = streams.Stream(contexts.current()) if stream is None else stream
        self._before: Any = None
        self._capture: list = []        # the graph, its capture, and the entry of the stream, while the block runs
        leave(self, LEFT, self._capture)

    def __enter__(self) -> CUDAGraph:
        _abandon_left()
        self._before = streams.current(self._stream.device_index)
        self._stream.wait_stream(self._before)
        try:
            self._stream.__enter__()
            self._graph.capture_begin(*self._begin)
            self._capture += self._graph, self._graph._begun, streams.entered()
        except BaseException:
            self._leave()
            raise
        return self._graph

    def __exit__(self, kind, *exc):
        try:
            if kind is None:
                self._graph.capture_end()
        finally:
            self._leave()
        if kind is None:
            self._before.wait_stream(self._stream)

    def _leave(self):
        try:
            if self._graph.is_captured_now:
                self._graph.abandon()
        finally:
            self._stream.__exit__()
        self._capture.clear()


def _abandon_left():
    """End captures of blocks `with graph(...)` that an interrupt has left before their `__exit__`."""
    each(LEFT, _abandon)


def _abandon(ending):
    if not ending.left:
        return True
    graph, begun, entry = ending.left
    if graph._thread != get_ident():
        return False
    if graph._begun is begun and graph.is_captured_now:
        graph.abandon()
    streams.leave_entry(entry)
    return True


BEFORE_SEARCH.append(_abandon_left)
END_CAPTURES.append(_abandon_left)


def capture(cuda_graph: CUDAGraph, work: Callable, stream, pool=None) -> Any:
    """Return `work()`, captured on a stream."""
    before = streams.current(stream.device_index)
    stream.wait_stream(before)
    result = streams.run_in(stream, lambda: _captured(cuda_graph, work, pool))
    before.wait_stream(stream)
    return result


def _captured(cuda_graph, work, pool):
    try:
        cuda_graph.capture_begin(pool)
        result = work()
        cuda_graph.capture_end()
    except BaseException:
        if cuda_graph.is_captured_now:
            cuda_graph.abandon()
        raise
    return result


def graph_pool_handle() -> int:
    """Return the number of a new memory pool that graphs may share."""
    refuse_to_read("a new memory pool")
    return pools.new_number()


_TOGETHER = 64        # keys per copy


class Draws:
    """Keys of one graph.

    started   {generator: (its seed, its next call when the capture began)}
    """

    def __init__(self, device: int, generators):
        self.device, self.started = device, {g: g.place for g in generators}
        self.keys: list = []             # (generator, number of its keys before this one)
        self.arrays: list = []           # device memory of so many keys each

    def takes(self, a: np.ndarray) -> bool:
        """Return whether a host array looks like a key, if there are generators."""
        return bool(self.started) and a.dtype == np.uint64 and a.shape == (2,)

    def array_of(self, key: np.ndarray) -> DeviceArray:
        """Return the memory of a key that was just drawn, for every replay."""
        seed, call = key.tolist()
        generator = next((g for g, (s, first) in self.started.items() if s == seed and call >= first), None)
        if generator is None:
            raise DeviceError("a captured graph draws from a generator that it does not know: call "
                              "graph.register_generator_state(generator) before the capture, and seed it outside")
        number = len(self.keys)
        if number % _TOGETHER == 0:
            self.arrays.append(pools.aside(self.device, lambda: empty(self.device, (_TOGETHER, 2), np.uint64)))
        self.keys.append((generator, call - self.started[generator][1]))
        return self.arrays[-1][number % _TOGETHER]

    def finish(self):
        """Rewind the generators after the capture, in which nothing was drawn yet."""
        self.counts = {g: 1 + max(n for other, n in self.keys if other is g) for g in dict(self.keys)}
        for g, count in self.counts.items():
            self._rewind(g, self.started[g], count)

    def places(self) -> dict:
        """Return where the generators stand, for `rewind`."""
        return {g: g.place for g in self.counts}

    def rewind(self, places: dict):
        """Take back a `renew` that nothing was launched for."""
        for g, place in places.items():
            self._rewind(g, place, self.counts[g])

    @staticmethod
    def _rewind(generator, place, count):
        """Rewind a generator by the keys that were drawn from a place, unless somebody else drew meanwhile."""
        seed, first = place
        if generator.place == (seed, first + count):
            generator.put(place)

    def renew(self):
        """Write the next keys for the graph, in the current stream."""
        if not self.keys:
            return
        starts = {g: g.reserve(count) for g, count in self.counts.items()}
        for start, array in zip(range(0, len(self.keys), _TOGETHER), self.arrays):
            staging = PINNED.array(array.shape, array.dtype)
            for row, (g, before) in zip(staging, self.keys[start:start + _TOGETHER]):
                row[:] = starts[g][0], starts[g][1] + before
            transfer.upload(array, staging, wait=False)
