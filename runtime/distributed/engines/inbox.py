"""Messages that have arrived at a rank, by sender, group and tag.

A channel is (group, tag); its messages keep their order. Receivers draw tickets, so several that wait are served in order.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from ....ir.locks import new_condition
from ..stores.distributed_errors import DistBackendError, DistTimeoutError

GOES_ON = "it goes on without the ranks that have failed"


class Message(NamedTuple):
    """One message: the sender's note of its operation, and bytes."""

    note: str
    body: np.ndarray


class _Box:
    """Messages of one channel from one rank, and how many were requested."""

    __slots__ = ("arrived", "asked", "messages", "returned")

    def __init__(self):
        self.messages: dict[int, Message] = {}
        self.arrived = self.asked = 0
        self.returned: list[int] = []       # tickets of receivers that gave up


class Inbox:
    """Messages that have arrived at a rank.

    An engine without threads gives a function that takes in messages, `pump(seconds)`. One waiting thread at a time calls it.
    """

    def __init__(self, rank: int, pump: Callable[[float], None] | None = None):
        self.rank, self._pump = rank, pump
        self._changed = new_condition()
        self._pumping = False
        self._boxes: dict[tuple, _Box] = defaultdict(_Box)
        self._served: dict[tuple, Callable[[int, np.ndarray], None]] = {}
        self.gone: dict[int, str] = {}      # ranks that send nothing any more, and the reason

    # Arrival.

    def put(self, sender: int, channel: tuple, note: str, body: np.ndarray):
        """Store a message, or give it to the function that serves the channel."""
        body.flags.writeable = False
        with self._changed:
            serve = self._served.get(channel)
            if serve is None:
                box = self._boxes[sender, *channel]
                box.messages[box.arrived] = Message(note, body)
                box.arrived += 1
                self._changed.notify_all()
                return
        serve(sender, body)

    def lose(self, sender: int, reason: str):
        """Note that a rank sends nothing any more."""
        with self._changed:
            self.gone.setdefault(sender, reason)
            self._changed.notify_all()

    def others_gone(self, sender: int) -> str:
        """Return words on other ranks that have gone, beside one that has: it may have left since one of them failed."""
        self.take_in(0.0)
        others = sorted(r for r, reason in self.gone.items() if r != sender and reason != GOES_ON)
        return f"; so have ranks {others}" if others else ""

    def serve(self, channel: tuple, work: Callable[[int, np.ndarray], None]):
        """Call `work(sender, bytes)` with each message of a channel from now on. It must not block."""
        with self._changed:
            self._served[channel] = work
            early = [(key[0], box.messages) for key, box in self._boxes.items() if key[1:] == channel]
        for sender, messages in early:
            for number in sorted(messages):
                work(sender, messages.pop(number).body)

    # Receipt.

    def ticket(self, sender: int, channel: tuple) -> int:
        """Request the channel's next message."""
        with self._changed:
            return self._ticket(self._boxes[sender, *channel])

    @staticmethod
    def _ticket(box: _Box) -> int:
        if box.returned:
            return heappop(box.returned)
        box.asked += 1
        return box.asked - 1

    def give_back(self, sender: int, channel: tuple, ticket: int):
        """Leave the message of a ticket, which has not been received, to the next receiver."""
        with self._changed:
            heappush(self._boxes[sender, *channel].returned, ticket)

    def has(self, sender: int, channel: tuple, ticket: int) -> bool:
        """Return whether a requested message has arrived."""
        messages = self._boxes[sender, *channel].messages
        return self._wait(lambda: ticket in messages, 0.0)

    def receive(self, sender: int, channel: tuple, ticket: int, timeout: float, what: str) -> Message:
        """Return a requested message."""
        messages = self._boxes[sender, *channel].messages
        there = self._wait(lambda: ticket in messages or sender in self.gone, timeout)
        with self._changed:
            if ticket in messages:
                return messages.pop(ticket)
        if not there:
            raise DistTimeoutError(f"rank {self.rank} waited {timeout:g} s in {what} for rank {sender}, which has sent "
                                   "nothing; is it stuck, or busy with something else?")
        raise DistBackendError(f"rank {sender} has gone while rank {self.rank} waited for it in {what} "
                               f"({self.gone[sender]}{self.others_gone(sender)}); see that process's output")

    def first(self, senders, channel: tuple, timeout: float, what: str) -> tuple[int, Message]:
        """Return the first unrequested message on a channel, and its sender."""
        def waiting():
            boxes = [(r, self._boxes[r, *channel]) for r in senders]
            return next((r for r, box in boxes if (box.returned or [box.asked])[0] < box.arrived), None)

        self._wait(lambda: waiting() is not None or all(r in self.gone for r in senders), timeout)
        with self._changed:
            sender = waiting()
            if sender is not None:
                box = self._boxes[sender, *channel]
                return sender, box.messages.pop(self._ticket(box))
        raise DistTimeoutError(f"rank {self.rank} waited {timeout:g} s in {what}, and no rank has sent anything")

    # Waiting.

    def take_in(self, limit: float):
        """Take in messages, for at most `limit` seconds; return early if some arrived."""
        if self._pump is None:
            with self._changed:
                self._changed.wait(limit)
            return
        with self._changed:
            if self._pumping:
                self._changed.wait(limit)
                return
            self._pumping = True
        try:
            self._pump(limit)
        finally:
            with self._changed:
                self._pumping = False
                self._changed.notify_all()

    def _wait(self, there: Callable[[], bool], timeout: float) -> bool:
        """Return whether a condition held within a time."""
        if self._pump is None:
            with self._changed:
                return self._changed.wait_for(there, timeout)
        deadline, left = time.monotonic() + timeout, timeout
        while True:
            with self._changed:
                if there():
                    return True
            if left < 0:
                return False
            self.take_in(left)
            left = deadline - time.monotonic()
