"""Streams, events and graphs of the mock driver: queues of work that run as late as they may, in any order that is allowed."""

import gc
import threading
from typing import Any

import mock_cuda_tiles
from mock_cuda_rules import (
    BAD_HANDLE,
    CAPTURE_INVALIDATED,
    CAPTURE_UNJOINED,
    CAPTURE_UNSUPPORTED,
    CAPTURED_EVENT,
    INVALID,
    NOT_READY,
    OK,
    RELAXED,
    TIMELESS,
    WRONG_THREAD,
    Capture,
    Event,
    Stream,
    Violation,
)


def put_into(reference, value):
    """Writes a number through what `ctypes.byref` gives."""
    reference._obj.value = value


class Queues:
    """The functions of a driver that concern order: streams, events and graphs. `mock_cuda_driver.MockDriver` has the rest."""

    defaults: list
    streams: dict
    ended: list
    spare: list
    events: dict
    graphs: dict
    homes: dict
    thread: Any
    borrowed: dict
    random: Any
    clock: float

    def put(self, stream, work):
        queue = self.stream(stream)
        capture = queue.captured
        if capture is None:
            queue.queue.append(work)
            return OK
        if capture.broken:
            return CAPTURE_INVALIDATED
        capture.work.append((queue, work, False))
        return OK

    def run_one(self, queue) -> bool:
        """Runs the first thing in a queue, unless it waits for an event of another. Nobody's finaliser comes between: a device
        would not run it, and what it asks of the driver must not run the things that follow."""
        if not queue.queue:
            return False
        work = queue.queue.pop(0)
        collecting = gc.isenabled()
        gc.disable()
        try:
            waits = work() is False
        finally:
            if collecting:
                gc.enable()
        if waits:
            queue.queue.insert(0, work)
            return False
        return True

    def queues(self):
        """All that holds work."""
        self.ended = [s for s in self.ended if s.queue]
        return [*self.defaults, *self.streams.values(), *self.ended]

    def run_some(self, count=1):
        """Runs some work of streams in any order."""
        for _ in range(count):
            self.run_one(self.random.choice(self.queues()))

    def drain(self):
        """Runs everything."""
        while any(s.queue for s in self.queues()):
            order = self.queues()
            self.random.shuffle(order)
            if not any([self.run_one(s) for s in order]):  # noqa: C419  (each runs)
                raise Violation("streams wait for each other forever")

    def wait_for(self, stream):
        queue = self.stream(stream)
        if queue.captured is not None:
            queue.captured.broken = True
            return CAPTURE_UNSUPPORTED
        self.borrowed = {thread: s for thread, s in self.borrowed.items() if s is not queue}
        while queue.queue:
            if not self.run_one(queue):
                others = [s for s in self.queues() if s is not queue]
                if not any([self.run_one(s) for s in others]):  # noqa: C419
                    raise Violation("a stream waits forever")
        return OK

    def cuStreamCreateWithPriority(self, out, flags, priority):
        handle = self.spare.pop() if self.spare else self.handle()
        self.streams[handle] = Stream(self.thread.device)
        put_into(out, handle)
        return OK

    def cuStreamDestroy_v2(self, stream):
        """Let queued work run on; the next stream may get the handle."""
        self.ended.append(self.streams.pop(stream))
        self.spare.append(stream)
        return OK

    def cuStreamSynchronize(self, stream):
        return self.wait_for(stream)

    def cuStreamQuery(self, stream):
        return NOT_READY if self.stream(stream).queue else OK

    def cuStreamWaitEvent(self, stream, event, flags):
        mark, queue = self.events[event], self.stream(stream)
        if mark.captured is not None and queue.captured is None:
            queue.captured = mark.captured              # which it takes part in from now on
            mark.captured.streams.append(queue)
        if queue.captured is None:
            wanted = mark.recorded
            return self.put(stream, lambda: mark.reached >= wanted)
        if mark.captured is not queue.captured:
            queue.captured.broken = True
            return CAPTURE_UNSUPPORTED
        queue.captured.work.append((queue, mark.place, True))
        return OK

    def cuStreamIsCapturing(self, stream, out):
        put_into(out, int(self.stream(stream).captured is not None))
        return OK

    def cuEventCreate(self, out, flags):
        handle = self.handle()
        self.events[handle] = Event(self.thread.device, not flags & TIMELESS)
        put_into(out, handle)
        return OK

    def cuEventDestroy_v2(self, event):
        del self.events[event]
        return OK

    def cuEventRecord(self, event, stream):
        mark, queue = self.events[event], self.stream(stream)
        if mark.device != queue.device:
            return BAD_HANDLE
        mark.captured, mark.stream = queue.captured, queue
        if queue.captured is not None:
            mark.place = len(queue.captured.work)
            queue.captured.work.append((queue, mark.place, False))
            return OK
        mark.recorded += 1
        number = mark.recorded

        def work():
            mark.reached = max(mark.reached, number)
            self.clock += 1.0
            mark.time = self.clock

        return self.put(stream, work)

    def cuEventSynchronize(self, event):
        mark = self.events[event]
        if mark.captured is not None:
            return CAPTURED_EVENT
        while mark.reached < mark.recorded:
            if not any([self.run_one(s) for s in self.queues()]):  # noqa: C419
                raise Violation("an event is never reached")
        return OK

    def cuEventQuery(self, event):
        mark = self.events[event]
        if mark.captured is not None:
            return CAPTURED_EVENT
        return OK if mark.reached >= mark.recorded else NOT_READY

    def cuEventElapsedTime(self, out, start, end):
        marks = self.events[start], self.events[end]
        if not all(m.timing and m.recorded for m in marks):
            return BAD_HANDLE
        if any(m.reached < m.recorded for m in marks):
            return NOT_READY
        put_into(out, self.events[end].time - self.events[start].time)
        return OK

    # Graphs.

    def cuThreadExchangeStreamCaptureMode(self, mode):
        before, self.thread.mode = self.thread.mode, mode._obj.value
        put_into(mode, before)
        return OK

    def cuStreamBeginCapture_v2(self, stream, mode):
        if not stream or self.stream(stream).captured is not None:
            return CAPTURE_UNSUPPORTED
        self.thread.capture = self.stream(stream).captured = Capture(self.stream(stream), mode)
        return OK

    def cuStreamEndCapture(self, stream, out):
        capture = self.stream(stream).captured
        if capture is None:
            return INVALID
        if capture.mode != RELAXED and capture.thread != threading.get_ident():
            capture.broken = True
            return WRONG_THREAD
        for one in capture.streams:
            one.captured = None
        for mark in self.events.values():
            if mark.captured is capture:
                mark.recorded = mark.reached = 0
        self.thread.capture = None
        if capture.broken or not capture.is_joined():
            return CAPTURE_INVALIDATED if capture.broken else CAPTURE_UNJOINED
        handle = self.handle()
        self.graphs[handle] = capture.work
        self.homes[handle] = capture.stream.device
        put_into(out, handle)
        return OK

    def cuGraphInstantiateWithFlags(self, out, graph, flags):
        handle = self.handle()
        self.graphs[handle] = list(self.graphs[graph])
        self.homes[handle] = self.homes[graph]
        put_into(out, handle)
        return OK

    def cuGraphLaunch(self, executable, stream):
        if self.stream(stream).device != self.homes[executable]:
            return BAD_HANDLE
        entries = self.graphs[executable]
        if self.stream(stream).captured is not None:
            for _, work, _ in entries:
                if callable(work):
                    self.put(stream, work)
            return OK
        self._launch_branches(entries, stream)
        return OK

    def _launch_branches(self, entries, stream):
        """Put a graph's work into a queue for each stream of the capture; only events and the launch order them."""
        handles = {id(queue): self.handle() for queue, _, _ in entries}
        reached: set = set()
        for handle in handles.values():
            self.streams[handle] = Stream(self.stream(stream).device)
        self.put(stream, lambda: reached.add("begun"))
        for handle in handles.values():
            self.put(handle, lambda: "begun" in reached)
        for queue, work, waits in entries:
            handle = handles[id(queue)]
            if callable(work):
                self.put(handle, work)
            elif waits:
                self.put(handle, lambda place=work: place in reached)
            else:
                self.put(handle, lambda place=work: reached.add(place))
        queues = [self.streams[handle] for handle in handles.values()]
        for handle in handles.values():
            self.ended.append(self.streams.pop(handle))
        self.put(stream, lambda: not any(queue.queue for queue in queues))

    def cuGraphExecDestroy(self, executable):
        del self.graphs[executable]
        return OK

    cuGraphDestroy = cuGraphExecDestroy

    def cuGraphUpload(self, executable, stream):
        return OK

    def cuGraphDebugDotPrint(self, graph, path, flags):
        with open(path, "w") as f:
            f.write(f"digraph {{ /* {len(self.graphs[graph])} nodes */ }}")
        return OK


mock_cuda_tiles.as_library(globals())
