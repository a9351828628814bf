"""Agreement of ranks on how to run a graph that has collectives: all of them replay CUDA graphs, or all launch kernels.

NCCL wants each collective captured by all of its ranks or by none, and replayed by all or by none. A rank may want something
else than the others: its sizes are new, an input has moved, it records. So the ranks vote before each run. A rank that does not
run such a graph votes for launches. Ranks that are about to capture compare their collectives before.
"""

from collections.abc import Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from ..driver.driver_state import thread

_VAIN = 8           # runs in a row that ranks do not replay, after which this one asks no more
_SEPARATOR = "\n"


class Way(IntEnum):
    """How a rank is able to run a graph."""

    LAUNCH, CAPTURE, REPLAY = range(3)


class Vote(NamedTuple):
    """State of one rank before a run.

    way         how it is able to run the graph
    token       number of its capture, the same on all ranks that captured with it; 0 without one
    proposal    number for a new capture
    shape       digest of the sizes of its groups; those of a mesh are the same on all ranks
    digest      digest of its collectives in the group that votes
    """

    way: int
    token: int
    proposal: int
    shape: int
    digest: int


class Party(Protocol):
    """Collectives of one group, whose ranks vote."""

    def size(self) -> int:
        """Return the number of ranks."""
        ...

    def vote(self, vote: Vote) -> Sequence[Vote]:
        """Return the votes of all ranks."""
        ...

    def compare(self, collectives: Sequence[str]):
        """Raise an error that names the first collective that differs between ranks."""
        ...

    def capture(self, is_on: bool):
        """Begin or end a capture that all ranks have agreed on."""
        ...

    def forget_at_end(self, joint: "JointCapture"):
        """Call `joint.drop` before the communicator is left."""
        ...


class JointCapture:
    """Captures of one graph by several ranks.

    collectives     (party, note) of each collective of a run, in order; None before the first run
    token           number of the capture that exists; 0 without one
    """

    _captures = 0       # number of the last capture in this process

    def __init__(self):
        self.collectives: list | None = None
        self.token = self._agreed = self._in_vain = 0
        self.gone: Any = None       # called when a group ends

    @property
    def parties(self) -> list:
        return list(dict.fromkeys([party for party, _ in self.collectives or ()]))

    def launched(self, run, goes_on: bool):
        """Return `run()`, and note its collectives. It may go on with a run that an interrupt stopped."""
        if not goes_on:
            self._noted: list = []
        outer, thread.collectives = thread.collectives, self._noted
        try:
            result = run()
        finally:
            thread.collectives = outer
        self.collectives = self._noted
        return result

    def way(self, way: Way) -> Way:
        """Return the way that all ranks take, by the way that this one is able to take."""
        sizes = ",".join(str(party.size()) for party in self.parties)
        mine = Vote(way, self.token, JointCapture._captures + 1, _digest([sizes]), 0)
        for party in self.parties:
            own = mine._replace(digest=_digest(self._notes(party)))
            mine = _joined(mine, party.vote(own))
            if mine.way == Way.CAPTURE and mine.digest:
                party.compare(self._notes(party))
        self._agreed, self._in_vain = mine.proposal, 0 if mine.way != Way.LAUNCH or way == Way.LAUNCH else self._in_vain + 1
        return Way(mine.way)

    @property
    def is_vain(self) -> bool:
        """Whether other ranks never replay when this one could."""
        return self._in_vain >= _VAIN

    def captured(self, capture):
        """Return `capture()`, which captures the graph on this rank while the others do so, too."""
        self.token, outer = 0, thread.collectives
        try:
            thread.collectives = None
            for party in self.parties:
                party.capture(True)
            found = capture()
        finally:
            thread.collectives = outer
            for party in self.parties:
                party.capture(False)
        self.token = JointCapture._captures = self._agreed
        for party in self.parties:
            party.forget_at_end(self)
        return found

    def drop(self):
        """Give up the capture: a group ends."""
        self.token = 0
        if self.gone is not None:
            self.gone()

    def _notes(self, party) -> list:
        return [note for other, note in self.collectives or () if other is party]


def _joined(mine: Vote, votes) -> Vote:
    """Return the vote of several ranks together; its digest is not 0 if their collectives differ."""
    alike = len({(v.token, v.shape) for v in votes}) == 1
    way = min(v.way for v in votes) if alike else Way.LAUNCH
    differ = len({v.digest for v in votes}) > 1
    return mine._replace(way=way, proposal=max(v.proposal for v in votes), digest=int(differ))


def _digest(notes) -> int:
    return int.from_bytes(blake2b(_SEPARATOR.join(notes).encode(), digest_size=7).digest())
