"""Votes of a group's ranks before they run a graph with collectives, by messages of the host's engine.

A vote has the number of collectives that its rank has begun. A rank that goes past this number without a vote launches its
collectives. Its watchdog says so to those that vote.
"""

import struct
import time
from typing import Any

import numpy as np

from ....ir.locks import new_lock
from ...cuda.graph.joint_capture import Vote, Way
from ..stores.distributed_errors import DistBackendError, DistError, DistTimeoutError
from .engine import others

_VOTES = -4             # tag of the messages
_SLICE = 0.05           # seconds between looks at ranks that have gone
_GRACE = 1.0            # seconds for the watchdog to find out why a rank has gone
_PACKED = struct.Struct("<qqq")
_PLAIN = b"-"           # in place of a vote or a text: this rank launches its collectives


class Agreement:
    """Votes of a group on the device."""

    def __init__(self, channel: Any):
        self._channel, self._group, self._inbox = channel, channel.group, channel.engine.host.inbox
        self._tag = self._group.number, _VOTES
        self._away = [self._group.ranks[r] for r in others(self._group)]
        self._early: dict = {}          # (rank, number of the next collective, phase) -> what it has sent
        self._lock = new_lock()

    def vote(self, mine: Vote, turn: int) -> list:
        """Return the votes of all ranks on the next collective in a pass, in any order."""
        found = self._exchange(f"vote {turn}", _PACKED.pack(*mine))
        return [mine, *[Vote(Way.LAUNCH, 0, 0) if body == _PLAIN else Vote(*_PACKED.unpack(body)) for body in found]]

    def survey(self, text: str, turn: int) -> list:
        """Return the texts of the other ranks in a round before a capture; an empty one from a rank that launches."""
        return ["" if body == _PLAIN else body.decode() for body in self._exchange(f"survey {turn}", text.encode())]

    def _exchange(self, phase: str, mine: bytes) -> list:
        """Return what the other ranks send in the same phase before the next collective."""
        found, number, limit = {}, self._channel.begun, self._channel.limit
        deadline, gone_since = time.monotonic() + limit, 0.0
        with self._lock:
            self._send(self._away, number, phase, mine)
            while True:
                found |= {r: self._early.pop((r, number, phase)) for r in self._away if (r, number, phase) in self._early}
                missing = [r for r in self._away if r not in found]
                if not missing:
                    return [*found.values()]
                self._channel.check()
                if not self._take(_SLICE):
                    if any(r in self._inbox.gone for r in missing):
                        gone_since = gone_since or time.monotonic()
                        time.sleep(_SLICE)          # (the inbox waits for nobody then)
                    if gone_since and time.monotonic() > gone_since + _GRACE:
                        deadline = 0.0
                    self._check(missing, deadline, limit)
                self._answer(number)

    def _check(self, missing, deadline, limit):
        if time.monotonic() <= deadline:
            return
        here, last = self._channel.engine.rank, self._channel.last
        gone = [r for r in missing if r in self._inbox.gone]
        if gone:
            raise DistBackendError(f"rank {gone[0]} has gone while rank {here} waited for it in the vote on how to run a graph "
                                   f"with collectives ({self._inbox.gone[gone[0]]}); see that process's output")
        named = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {missing}"
        raise DistTimeoutError(f"rank {here} waited {limit:g} s in the vote on how to run a graph with collectives for "
                               f"{named}; the last collective of rank {here} was {last}")

    def answer(self):
        """Answer votes on collectives that this rank has launched; called by the watchdog."""
        if not self._lock.acquire(False):           # (a vote is under way, and answers)
            return
        try:
            while self._take(0.0):
                pass
            self._answer(self._channel.begun)
        finally:
            self._lock.release()

    def _answer(self, number: int):
        for r, n, phase in [key for key in self._early if key[1] < number]:
            body = self._early.pop((r, n, phase))
            if body != _PLAIN:
                self._send([r], n, phase, _PLAIN)

    def _take(self, limit: float) -> bool:
        """Take in one message, if one comes within a time."""
        if not self._away:
            return False
        try:
            r, message = self._inbox.first(self._away, self._tag, limit, "a vote")
        except DistTimeoutError:
            return False
        number, _, phase = message.note.partition(" ")
        self._early[r, int(number), phase] = bytes(message.body)
        return True

    def _send(self, targets, number: int, phase: str, body: bytes):
        for r in targets:
            try:
                self._channel.engine.host.send([r], self._tag, f"{number} {phase}", np.frombuffer(body, np.uint8))
            except DistError:           # (it has gone, which is noticed where its vote is missing)
                continue

    def compare(self, notes):
        """Raise an error that names the first collective that differs between ranks. All ranks call it."""
        channel, group = self._channel, self._group
        body = "\n".join(notes).encode()
        away = others(group)
        found = group.channel.swap("the collectives of a graph", dict.fromkeys(away, np.frombuffer(body, np.uint8)), away)
        for r in away:
            theirs = bytes(found[r]).decode().split("\n")
            for n in range(max(len(theirs), len(notes))):
                one, other = (x[n] if n < len(x) else "no collective" for x in (notes, theirs))
                if one != other:
                    raise DistBackendError(f"rank {channel.engine.rank} is about to capture {one} as collective {n + 1} of a "
                                           f"graph, where rank {group.ranks[r]} captures {other}: a traced function with "
                                           "collectives must make the same ones on all ranks of a group")
