"""Engines: each moves bytes between the ranks of a run. Channels: collectives of a group of ranks on an engine.

The collectives here are made of messages; an engine that has its own gives another channel. Values are combined in the order of
ranks, so every rank gets the same bits.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from ..stores.distributed_errors import DistBackendError
from ..stores.store import seconds
from .inbox import Inbox
from .reduce_op import combined

COLLECTIVES = -1            # tag of collectives; users' tags are 0 and above
_WHOLE_BYTES = 1 << 15      # up to here every rank sends its whole value to all others


class Engine(ABC):
    """Transport of one rank: messages to other ranks, and an inbox for theirs."""

    name: ClassVar[str]
    inbox: Inbox

    def __init__(self, rank: int, size: int):
        self.rank, self.size = rank, size

    def channel(self, group: Any) -> "Channel":
        """Return the collectives of a group."""
        return Channel(self, group)

    @abstractmethod
    def send(self, targets, channel: tuple, note: str, memory: np.ndarray):
        """Send bytes to ranks of the run. Later writes to the memory are not sent."""

    @abstractmethod
    def close(self):
        """Leave the run: sent messages still arrive, then the others see the end."""


class Channel:
    """Collectives of a group on arrays. A note names each; a rank with another note is at another point of the program.

    Arrays of other ranks, from `swap` and `all_gather`, may lie in their memory: they are read-only, and freed with the last
    reference. Copy what is kept.
    """

    def __init__(self, engine: Engine, group: Any):
        self.engine, self.group = engine, group

    def swap(self, note: str, outgoing: dict, sources) -> dict:
        """Send each array of `outgoing` to its position; return the bytes from each of `sources`."""
        group, engine, tag = self.group, self.engine, (self.group.number, COLLECTIVES)
        tickets = {s: engine.inbox.ticket(group.ranks[s], tag) for s in sources}
        for a, targets in _by_array(group, outgoing):
            engine.send([group.ranks[t] for t in targets], tag, note, flat_bytes(a))
        found = {}
        for source, ticket in tickets.items():
            theirs, body = engine.inbox.receive(group.ranks[source], tag, ticket, seconds(group.timeout), note)
            if theirs != note:
                raise DistBackendError(f"rank {group.ranks[source]} is in {theirs}, where rank {engine.rank} is in {note}: "
                                       "all ranks of a group must call the same collectives, with tensors alike, in one order")
            found[source] = body
        return found

    def all_reduce(self, a: np.ndarray, op, note: str) -> np.ndarray:
        """Return the combination of every rank's array, on every rank."""
        n, here = self.group.size(), self.group.rank()
        if n == 1:
            return combined(op, [a])
        if a.nbytes <= _WHOLE_BYTES:
            return combined(op, self.all_gather(a, note))
        pieces = np.array_split(np.ascontiguousarray(a).reshape(-1), n)
        mine = self.reduce_scatter(pieces, op, note)
        found = self.swap(note, dict.fromkeys(others(self.group), mine), others(self.group))
        return np.concatenate([mine if r == here else as_array(found[r], p) for r, p in enumerate(pieces)]).reshape(a.shape)

    def reduce_scatter(self, pieces, op, note: str) -> np.ndarray:
        """Return this rank's piece combined over all ranks; each rank sends the others their pieces."""
        here, away = self.group.rank(), others(self.group)
        found = self.swap(note, {r: pieces[r] for r in away}, away)
        return combined(op, [pieces[here] if r == here else as_array(found[r], pieces[here]) for r in range(self.group.size())])

    def all_gather(self, a: np.ndarray, note: str) -> list:
        """Return every rank's array, on every rank."""
        here, away = self.group.rank(), others(self.group)
        found = self.swap(note, dict.fromkeys(away, a), away)
        return [a if r == here else as_array(found[r], a) for r in range(self.group.size())]

    def broadcast(self, a: np.ndarray, source: int, note: str) -> np.ndarray:
        """Return the source's array on every rank, sent along a tree."""
        n = self.group.size()
        place = (self.group.rank() - source) % n
        reach = 1
        while reach < n:
            if place < reach:
                if place + reach < n:
                    self.swap(note, {(place + reach + source) % n: a}, ())
            elif place < 2 * reach:
                sender = (place - reach + source) % n
                a = as_array(self.swap(note, {}, (sender,))[sender], a)
            reach *= 2
        return a if place == 0 else np.array(a)


def others(group) -> list:
    """Return the positions of all other ranks."""
    return [r for r in range(group.size()) if r != group.rank()]


def _by_array(group, outgoing: dict) -> list:
    """Return (array, positions it goes to), the next position first, so that not all ranks send to the same one at once."""
    found: dict[int, tuple] = {}
    for to in sorted(outgoing, key=lambda r: (r - group.rank()) % group.size()):
        found.setdefault(id(outgoing[to]), (outgoing[to], []))[1].append(to)
    return list(found.values())


def flat_bytes(a: np.ndarray) -> np.ndarray:
    """Return an array's memory, row by row, as bytes."""
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8)


def as_array(body: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return received bytes as an array like another."""
    if body.size != like.nbytes:
        raise DistBackendError(f"{body.size} bytes arrived where {like.nbytes} were expected ({like.dtype} of shape "
                               f"{like.shape})")
    return body.view(like.dtype).reshape(like.shape)
