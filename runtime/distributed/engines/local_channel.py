"""Collectives of ranks on one machine, which read each other's operands where they lie in shared memory."""

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np

from .engine import COLLECTIVES, Channel, as_array, others
from .local_links import INLINE_BYTES
from .reduce_op import combine

_PIECE = 1 << 26        # bytes that are combined at once, which bounds the shared memory


class LocalChannel(Channel):
    """Collectives of a group by shared memory.

    Large arrays are gathered and scattered in rounds. In each, a rank lends windows of its arrays, and copies or combines those
    of the others. It waits for all of them before it lends the next ones. So a rank lends the windows of two rounds at most.
    """

    round_bytes = 1 << 20       # (which then are in caches)

    def all_gather(self, a: np.ndarray, note: str, outs=None) -> list:
        """Return every rank's array, on every rank."""
        if outs is None or max([out.nbytes for out in outs]) <= INLINE_BYTES:
            return super().all_gather(a, note, outs)
        self._gather_in_rounds([a.reshape(-1)], note, [[out.reshape(-1)] for out in outs], _PIECE)
        return outs

    def _gather_round(self, windows, note: str):
        """Lend the own windows, and copy those of the others."""
        outgoing = dict.fromkeys(others(self.group), windows[self.group.rank()])
        self._exchange(note, outgoing, windows, partial(_place, windows))

    def reduce_scatter(self, pieces, op, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return this rank's piece combined over all ranks."""
        here = self.group.rank()
        if max([p.nbytes for p in pieces]) <= INLINE_BYTES:
            return super().reduce_scatter(pieces, op, note, out)
        out = self.empty(pieces[here].shape, pieces[here].dtype) if out is None else out
        self._combine_in_rounds([[p.reshape(-1)] for p in pieces], op, note, out.reshape(-1), _PIECE)
        return out

    def _combine_round(self, windows, op, note: str, out):
        """Lend the windows for the others, and combine the own ones with those that they lend."""
        here, n = self.group.rank(), self.group.size()
        mine, outgoing = windows[here], {r: windows[r] for r in others(self.group)}
        targets = self.parted(out, [w.shape for w in mine])
        self._exchange(note, outgoing, [mine] * n, partial(_combine_each, op, here, mine, targets))

    def _exchange(self, note: str, outgoing: dict, like, use: Callable[[dict], None]):
        """Send each position windows. Call `use` with the arrays that each sends this one, in its memory, and return that."""
        group, engine, tag = self.group, self.engine, (self.group.number, COLLECTIVES)
        tickets = {r: engine.inbox.ticket(group.ranks[r], tag) for r in outgoing}
        posted: dict[int, tuple] = {}
        for r in sorted(outgoing, key=lambda r: (r - group.rank()) % group.size()):
            posted.setdefault(id(outgoing[r]), (outgoing[r], []))[1].append(group.ranks[r])
        for windows, ranks in posted.values():
            self._post(ranks, tag, note, windows)
        use({r: _split(self.receive(r, ticket, note), like[r]) for r, ticket in tickets.items()})

    def _post(self, ranks: list, tag: tuple, note: str, windows):
        """Send windows in one message, copied once."""
        size = sum([w.nbytes for w in windows])
        block = self.engine.blocks.take(size, len(ranks)) if size > INLINE_BYTES else None
        memory = np.empty(size, np.uint8) if block is None else block.view[:size]
        for window, place in zip(windows, _split(memory, windows)):
            place[...] = window
        if block is None:
            self.engine.send(ranks, tag, note, memory)
        else:
            self.engine.lend(ranks, tag, note, block, size)

    def all_reduce(self, a: np.ndarray, op, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return the combination of every rank's array, on every rank. Each rank lends its array, combines its share of all
        arrays in the lent memory, and copies the shares of the others from theirs."""
        group, engine, away = self.group, self.engine, others(self.group)
        n, here, tag = group.size(), group.rank(), (group.number, COLLECTIVES)
        if n == 1 or a.nbytes <= INLINE_BYTES:
            return super().all_reduce(a, op, note, out)
        out = np.empty(a.shape, a.dtype) if out is None else out
        if a.nbytes > _PIECE:
            flat, target, step = np.ascontiguousarray(a).reshape(-1), out.reshape(-1), _PIECE // a.itemsize
            for at in range(0, a.size, step):
                self.all_reduce(flat[at:at + step], op, note, target[at:at + step])
            return out
        flat, cuts = np.ascontiguousarray(a).reshape(-1), _shares(a.size, n)
        tickets = [{r: engine.inbox.ticket(group.ranks[r], tag) for r in away} for _ in range(2)]
        block = engine.blocks.take(a.nbytes, len(away))
        lent = block.view[:a.nbytes].view(a.dtype)
        for r in away:
            lent[cuts[r]] = flat[cuts[r]]       # the own share is read by nobody
        engine.lend([group.ranks[r] for r in away], tag, note, block, a.nbytes)
        every = {r: as_array(self.receive(r, ticket, note), flat) for r, ticket in tickets[0].items()}
        target, mine = out.reshape(-1), cuts[here]
        combine(op, [flat[mine] if r == here else every[r][mine] for r in range(n)], lent[mine], target[mine])
        engine.send([group.ranks[r] for r in away], tag, note, np.empty(0, np.uint8))
        for r, ticket in tickets[1].items():
            self.receive(r, ticket, note)
            target[cuts[r]] = every[r][cuts[r]]
        return out


def _place(windows, found: dict):
    """Copy the arrays of other ranks to their places."""
    for r, arrays in found.items():
        for window, values in zip(windows[r], arrays):
            window[...] = values


def _combine_each(op, here: int, mine, targets, found: dict):
    """Combine own arrays with those of other ranks."""
    for i, target in enumerate(targets):
        combine(op, [mine[i] if r == here else found[r][i] for r in range(len(found) + 1)], target)


def _split(body: np.ndarray, windows) -> list:
    """Return bytes as arrays like windows."""
    ends = [*itertools.accumulate([w.nbytes for w in windows])]
    return [as_array(body[start:end], w) for start, end, w in zip([0, *ends], [*ends[:-1], None], windows)]


def _shares(size: int, n: int) -> list:
    """Return the elements that each rank combines."""
    ends = [size * r // n for r in range(n + 1)]
    return [slice(ends[r], ends[r + 1]) for r in range(n)]
