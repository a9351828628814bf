"""Watchdog of the engine `nccl`: a thread that looks for errors, deadlines and ranks that have gone, and aborts.

It never asks for events of a captured graph, and no capture of another thread minds what it asks for. Watchdogs of a group tell
each other how far their ranks are, by messages of the host's engine. So an error names the ranks that have not come.
"""

import threading
import time
from collections import deque
from ctypes import byref, c_int
from typing import Any

import numpy as np

from ...cuda.driver import context as contexts
from ...cuda.driver.streams import Event
from ...cuda.memory import status_words
from ..stores.distributed_errors import DistBackendError, DistError, DistTimeoutError
from ..stores.store import seconds
from .engine import others
from .nccl_communicator import Communicator

_ALARM = -3             # tag of the messages of watchdogs
_INTERVAL = 0.02        # seconds between looks
_ASKING = 1.0           # seconds for other ranks to say where they are
_GRACE = 2.0            # seconds for the work with a rank that has gone since
_RELAXED = 2            # CU_STREAM_CAPTURE_MODE_RELAXED


class Launch:
    """Work of a group in its stream, and the event behind it.

    number      how many collectives of the group this rank had begun
    peers       the ranks that it waits for: one for a message, none where they are all
    is_captured whether it runs when a graph is replayed, and not before
    """

    __slots__ = ("channel", "event", "is_captured", "note", "number", "peers", "result", "started")

    def __init__(self, channel: Any, event: Event, is_captured: bool, result: Any):
        self.channel, self.event, self.is_captured, self.result = channel, event, is_captured, result
        self.note, self.number, self.peers = channel.note, channel.begun, channel.peers
        self.started = time.monotonic()

    def join(self):
        """Make later work in the current stream wait for this."""
        self.channel.check()
        self.channel.current().wait_event(self.event)
        if self.is_captured:
            self.channel.joined_by(self)

    def is_done(self) -> bool:
        """Return whether it has ended."""
        if self.is_captured:
            raise DistError(f"{self.note} is part of a captured graph, and runs when that is replayed")
        self.channel.check()
        return self.event.query()


class Watch:
    """State of one group under the watchdog.

    pending     launches that have not ended, in order
    """

    def __init__(self, channel: Any, comm: Communicator):
        self.channel, self.group, self.comm = channel, channel.group, comm
        self.limit = seconds(self.group.timeout)
        self.pending: deque[Launch] = deque()
        self.inbox = channel.engine.host.inbox
        self._tag = self.group.number, _ALARM
        self._tickets = {r: self.inbox.ticket(r, self._tag) for r in self._away()}
        self._gone_since: dict[int, float] = {}

    def _away(self) -> list:
        return [self.group.ranks[r] for r in others(self.group)]

    def look(self):
        """Take in what has happened; abort if that is bad."""
        if self.comm.failure is not None:
            return
        trouble = self.comm.trouble()
        if trouble is not None:
            self.fail(DistBackendError(f"rank {self.channel.engine.rank}: {trouble}{self._place()}"))
            return
        self.channel.agreement.answer()
        while self.pending and self.pending[0].event.query():
            self.pending.popleft()
        for r, ticket in self._tickets.items():
            if self.inbox.has(r, self._tag, ticket):
                _, body = self.inbox.receive(r, self._tag, ticket, 0.0, "the watchdog")
                self.fail(DistBackendError(f"rank {r} has given up: {bytes(body).decode(errors='replace')}{self._place()}"))
                return
        if self.pending:
            self._look_at(self.pending[0])

    def _look_at(self, first: Launch):
        now = time.monotonic()
        gone = [r for r in first.peers or self._away() if r in self.inbox.gone]
        since = min((self._gone_since.setdefault(r, now) for r in gone), default=now)
        if now - max(since, first.started) > _GRACE:
            self.fail(DistBackendError(f"rank {gone[0]} has gone while rank {self.channel.engine.rank} waited for it in "
                                       f"{first.note} ({self.inbox.gone[gone[0]]}); see that process's output"))
        elif now - first.started > self.limit:
            self._late(first)

    def _late(self, first: Launch):
        """Ask the other ranks where they are, and fail with the names of those that have not come."""
        said = f"rank {self.channel.engine.rank} waited {self.limit:g} s in {first.note}"
        self._tell(said)
        known, deadline = {}, time.monotonic() + _ASKING
        for r, ticket in self._tickets.items():
            try:
                found = self.inbox.receive(r, self._tag, ticket, max(0.0, deadline - time.monotonic()), "the watchdog")
            except DistError:
                continue
            number, _, note = found.note.partition(" ")
            known[r] = int(number), note
        behind = first.peers or [r for r in self._away() if r not in known or known[r][0] < first.number]
        apart = [r for r, (number, note) in known.items() if number == first.number and note != first.note]
        if behind:
            named = f"rank {behind[0]}" if len(behind) == 1 else f"ranks {list(behind)}"
            last = known.get(behind[0], (0, ""))[1]
            said += f" for {named}" + (f", whose last one was {last}" if last and not first.peers else "")
        elif apart:
            said += f", and rank {apart[0]} is in {known[apart[0]][1]}"
        else:
            said += ", and all ranks have begun it: is a device or the network stuck?"
        self.fail(DistTimeoutError(said))

    def _place(self) -> str:
        return f", in {self.pending[0].note}" if self.pending else ""

    def _tell(self, reason: str):
        note, body = f"{self.channel.begun} {self.channel.last}", np.frombuffer(reason.encode(), np.uint8)
        for r in self._away():
            try:
                if r not in self.inbox.gone:
                    self.channel.engine.host.send([r], self._tag, note, body)
            except DistError:
                continue

    def fail(self, error: DistBackendError):
        """Abort for a reason, which the program gets at its next call, or when it reads from the device."""
        status_words.lose(self.channel.device, error)
        self.abort(error)

    def abort(self, error: DistBackendError):
        """Abort the communicator for a reason, and tell the others."""
        if self.comm.failure is None:
            self.comm.abort(error)
            self._tell(str(error))


class Watchdog:
    """Thread that looks after the groups of a run."""

    def __init__(self):
        self._watched: list[Watch] = []
        self._ended = False        # (no event, whose lock a forked process could find taken)
        self._thread: threading.Thread | None = None

    def watch(self, watch: Watch):
        """Look after a group from now on."""
        self._watched = [*self._watched, watch]
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(watch.channel.device,), name="ingot-nccl", daemon=True)
            self._thread.start()

    def forget(self, watch: Watch):
        """Look after a group no more."""
        self._watched = [w for w in self._watched if w is not watch]

    def _run(self, device: int):
        contexts.context(device).driver.cuThreadExchangeStreamCaptureMode(byref(c_int(_RELAXED)))
        while not self._ended:
            time.sleep(_INTERVAL)
            for watch in self._watched:
                try:
                    watch.look()
                except Exception as e:
                    watch.fail(DistBackendError(f"the watchdog has failed: {type(e).__name__}: {e}"))

    def end(self):
        """Stop the thread."""
        self._ended = True
        if self._thread is not None:
            self._thread.join()
