"""Agreement of ranks on how to run a graph that has collectives: all of them replay CUDA graphs, or all launch kernels.

NCCL wants each collective captured by all of its ranks or by none, and replayed by all or by none. A rank may want something
else than the others: its sizes are new, an input has moved, it records. So the ranks vote before each run. A rank that does not
run such a graph votes for launches. Ranks that are about to capture compare their collectives before.

A graph may have collectives of several groups, which join other ranks. Each group votes, in the order of the groups' numbers,
and takes along what its ranks have heard before. Before a capture the ranks learn which groups all of them use (`GroupMap`),
and so in how many passes every rank hears of every other one.
"""

import json
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
    digest      digest of its collectives in the group that votes
    """

    way: int
    token: int
    digest: int


class Party(Protocol):
    """Collectives of one group, whose ranks vote."""

    number: int         # of the group, the same on all ranks

    def members(self) -> tuple[int, Sequence[int]]:
        """Return this rank's number in the run, and those of all ranks of the group."""
        ...

    def vote(self, vote: Vote, turn: int) -> Sequence[Vote]:
        """Return the votes of all ranks in a pass."""
        ...

    def survey(self, text: str, turn: int) -> Sequence[str]:
        """Return the texts of the other ranks in a round; an empty one from a rank that launches its collectives."""
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
    passes          votes of each group before a run, so that every rank hears of every other one
    """

    _captures = 0       # number of the last capture in this process

    def __init__(self):
        self.collectives: list | None = None
        self.token = self._agreed = self._in_vain = 0
        self.passes = self._agreed_passes = 1
        self.gone: Any = None       # called when a group ends

    @property
    def parties(self) -> list:
        return sorted(dict.fromkeys([party for party, _ in self.collectives or ()]), key=_number)

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
        found, parties = way, self.parties
        for turn in range(self.passes):
            for party in parties:
                own = Vote(found, self.token, _digest(self._notes(party)))
                found, differ = _joined(party.vote(own, turn))
                if found == Way.CAPTURE and differ:
                    party.compare(self._notes(party))
            if found == Way.LAUNCH:
                break
        if found == Way.CAPTURE and not self._survey(parties):
            found = Way.LAUNCH
        self._in_vain = 0 if found != Way.LAUNCH or way == Way.LAUNCH else self._in_vain + 1
        return Way(found)

    def _survey(self, parties) -> bool:
        """Agree with all ranks that groups join on a capture; return whether all of them capture.

        A rank that does not take part has heard of a rank that launches. It launches, too, and so do in turn all that wait for
        it here. Otherwise all ranks know the same groups in the end, and leave after the same round.
        """
        known, turn = GroupMap.of(parties, JointCapture._captures + 1), 0
        while turn <= known.rounds():
            text, heard = known.text(), []
            for party in parties:
                heard += party.survey(text, turn)
                if not all(heard):
                    return False
            for other in heard:
                known.learn(other)
            turn += 1
        self._agreed, self._agreed_passes = known.proposal(), known.passes()
        return True

    @property
    def is_vain(self) -> bool:
        """Whether other ranks never replay when this one could."""
        return self._in_vain >= _VAIN

    def captured(self, capture):
        """Return `capture()`, which captures the graph on this rank while the others do so, too."""
        (self.token, self.passes), outer = (0, 1), thread.collectives
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
        self.passes = self._agreed_passes
        for party in self.parties:
            party.forget_at_end(self)
        return found

    def drop(self):
        """Give up the capture: a group ends."""
        self.token, self.passes = 0, 1
        if self.gone is not None:
            self.gone()

    def _notes(self, party) -> list:
        return [note for other, note in self.collectives or () if other is party]


class GroupMap:
    """Groups that the ranks of a graph use, as far as a rank knows.

    groups      {number: ranks}
    uses        {rank: number that it proposes for the capture}
    """

    def __init__(self, groups: dict, uses: dict):
        self.groups, self.uses = groups, uses

    @staticmethod
    def of(parties, proposal: int) -> "GroupMap":
        """Return what a rank knows at first: its own groups."""
        return GroupMap({p.number: [*p.members()[1]] for p in parties}, {parties[0].members()[0]: proposal})

    def text(self) -> str:
        """Return it for other ranks."""
        return json.dumps([[*self.groups.items()], [*self.uses.items()]])

    def learn(self, text: str):
        """Add what another rank knows."""
        groups, uses = map(dict, json.loads(text))
        self.groups.update(groups)
        self.uses.update(uses)

    def proposal(self) -> int:
        """Return the largest number that a rank proposes."""
        return max(self.uses.values())

    def rounds(self) -> float:
        """Return in how many rounds every rank hears what all others knew before; without end while some are unknown."""
        if not self.uses.keys() >= {rank for ranks in self.groups.values() for rank in ranks}:
            return float("inf")
        return self._turns(at_once=True)

    def passes(self) -> int:
        """Return the same for groups that come one after the other, and hand on what they have heard in the same pass."""
        return self._turns(at_once=False)

    def _turns(self, at_once: bool) -> int:
        heard, turns = {rank: {rank} for rank in self.uses}, 0
        while any(len(ranks) < len(heard) for ranks in heard.values()):
            turns += 1
            before = {rank: {*ranks} for rank, ranks in heard.items()} if at_once else heard
            for _, ranks in sorted(self.groups.items()):
                together = set().union(*[before[rank] for rank in ranks])
                for rank in ranks:
                    heard[rank] = heard[rank] | together
        return max(turns, 1)


def _number(party: Party) -> int:
    return party.number


def _joined(votes) -> tuple:
    """Return the way of several ranks together, and whether their collectives differ."""
    alike = len({v.token for v in votes}) == 1
    return min(v.way for v in votes) if alike else Way.LAUNCH, len({v.digest for v in votes}) > 1


def _digest(notes) -> int:
    return int.from_bytes(blake2b(_SEPARATOR.join(notes).encode(), digest_size=7).digest())
