"""Collectives of ranks on one machine, which read each other's operands where they lie in shared memory."""

import numpy as np

from .engine import COLLECTIVES, Channel, as_array, others
from .local_links import INLINE_BYTES
from .reduce_op import combine

_PIECE = 1 << 26        # bytes that are combined at once, which bounds the shared memory


class LocalChannel(Channel):
    """Collectives of a group by shared memory."""

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


def _shares(size: int, n: int) -> list:
    """Return the elements that each rank combines."""
    ends = [size * r // n for r in range(n + 1)]
    return [slice(ends[r], ends[r + 1]) for r in range(n)]
