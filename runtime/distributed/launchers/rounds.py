"""Agreement of the launchers of a run, one for each machine: rounds, in which the processes of all machines run together.

Each launcher is a `Member`. It keeps a report of its processes in the run's store and follows the present round, which stands
there too. The launcher that serves the store has the `Coordinator`, which decides about rounds from the reports alone.
"""

import contextlib
import json
import time
from typing import Any, NamedTuple

from ....ir.errors import ArgumentError
from ..stores.distributed_errors import DistBackendError, DistError, DistNetworkError, DistStoreError, DistTimeoutError
from ..stores.store import PrefixStore, Store, Table

READY, RUNNING, DONE, FAILED, GONE = "ready", "running", "done", "failed", "gone"     # states of launchers
OPEN = "open"               # phases of a round: OPEN, RUNNING, and at the end of the run DONE or FAILED
_BEAT = 1.0                 # seconds between reports of a launcher, at most
_ROUND, _SETTINGS, _COUNT = "round", "settings", "count"


class RunSettings(NamedTuple):
    """Settings that all launchers of a run have alike; times are in seconds."""

    rdzv_id: str
    least_nodes: int
    most_nodes: int
    max_restarts: int
    join_timeout: float
    last_call_timeout: float
    keep_alive_timeout: float

    @property
    def beat(self) -> float:
        """Return the time between two reports."""
        return min(_BEAT, self.keep_alive_timeout / 4)


class Report(NamedTuple):
    """State of a launcher. `beat` differs from report to report, so that a silent launcher is noticed."""

    host: str
    processes: int              # that it starts
    role: str
    node_rank: int | None       # the number that it was told
    state: str = READY
    words: str = ""             # how they failed
    beat: int = 0


class Machine(NamedTuple):
    """Machine in a round, with its number of processes. `member` is the number under which its launcher reports."""

    member: int
    host: str
    processes: int
    role: str


class Share(NamedTuple):
    """Ranks of one machine in a round: its number, its processes, those before it, and those of all; the same for its role."""

    node: int
    nodes: int
    processes: int
    first_rank: int
    world_size: int
    first_role_rank: int
    role_size: int


class Round(NamedTuple):
    """Round: its number, how often processes have started again after a failure, and its machines in the order of ranks."""

    number: int = 0
    phase: str = OPEN
    restarts: int = 0
    reason: str = ""            # for the end of the round before, or of the run
    machines: tuple[Machine, ...] = ()

    @property
    def is_last(self) -> bool:
        """Return whether the run has ended."""
        return self.phase in (DONE, FAILED)

    def has(self, member: int) -> bool:
        """Return whether a launcher's machine has ranks in this round."""
        return any(m.member == member for m in self.machines)

    def share(self, member: int) -> Share:
        """Return the ranks of a launcher's machine."""
        node = [m.member for m in self.machines].index(member)
        own, before = self.machines[node], self.machines[:node]
        alike = lambda machines: [m for m in machines if m.role == own.role]
        total = lambda machines: sum(m.processes for m in machines)
        return Share(node, len(self.machines), own.processes, total(before), total(self.machines), total(alike(before)),
                     total(alike(self.machines)))


def _text(record) -> bytes:
    return json.dumps(record).encode()


def _report(text: bytes) -> Report:
    return Report(*json.loads(text))


def _round(text: bytes) -> Round:
    found = Round(*json.loads(text))
    return found._replace(machines=tuple(Machine(*m) for m in found.machines))


class Coordinator:
    """Rule of rounds: who takes part, when they begin, and when they end. It reads neither clocks nor stores."""

    def __init__(self, settings: RunSettings):
        self.settings, self.round = settings, Round()
        self.time = 0.0         # seconds in which reports were looked at: a coordinator that was stopped finds nobody silent
        self._before: float | None = None
        self._seen: dict[int, tuple[Report, float]] = {}       # last report of each launcher, and when it came
        self._opened = 0.0                          # when the round was opened
        self._called: float | None = None           # when the least had come

    def decide(self, reports: dict[int, Report], now: float) -> Round:
        """Return the present round, after these reports of launchers."""
        self.time += 0.0 if self._before is None else min(max(0.0, now - self._before), self.settings.beat)
        self._before = now
        for member, report in reports.items():
            if member not in self._seen or self._seen[member][0] != report:
                self._seen[member] = report, self.time
        if self.round.phase == OPEN:
            self._gather()
        elif self.round.phase == RUNNING:
            self._watch()
        return self.round

    def alive(self) -> dict[int, Report]:
        """Return the last reports of the launchers that still send some."""
        limit = self.time - self.settings.keep_alive_timeout
        return {member: report for member, (report, since) in self._seen.items() if since > limit and report.state != GONE}

    def give_up(self, error: DistError):
        """End the run with an error."""
        self.round = self.round._replace(phase=FAILED, reason=str(error))

    # An open round.

    def _gather(self):
        """Begin the round if enough launchers are ready, or end the run if they do not come."""
        settings = self.settings
        ready, busy = self._ready(), [r for r in self.alive().values() if r.state != READY]
        if len(ready) < settings.least_nodes:
            self._called = None
        elif self._called is None:
            self._called = self.time
        is_called = self._called is not None and self.time - self._called >= settings.last_call_timeout
        if not busy and (len(ready) == settings.most_nodes or is_called):
            machines = tuple(Machine(member, r.host, r.processes, r.role) for member, r in ready)
            self.round = self.round._replace(phase=RUNNING, machines=machines)
        elif self.time - self._opened >= settings.join_timeout:
            self.give_up(self._absence([r for _, r in ready], busy))

    def _ready(self) -> list:
        """Return the launchers that can take part, in the order of their ranks: those told a number by it, then those of the
        last round in their order, then others as they have come. One that is told the number of another one that is alive
        waits, since it may have come in its place."""
        last = [m.member for m in self.round.machines]
        place = lambda member: (0, last.index(member)) if member in last else (1, member)
        found, taken = [], set()
        for member, report in sorted(self.alive().items(), key=lambda item: place(item[0])):
            if report.node_rank in taken:
                continue
            if report.node_rank is not None:
                taken.add(report.node_rank)
            if report.state == READY:
                found.append((member, report))
        told = lambda item: self.settings.most_nodes if item[1].node_rank is None else item[1].node_rank
        return sorted(found[:self.settings.most_nodes], key=told)

    def _absence(self, ready: list, busy: list) -> DistError:
        least, told = self.settings.least_nodes, {r.node_rank for r in ready} - {None}
        if busy:
            return DistTimeoutError(f"the processes on {', '.join(r.host for r in busy)} have not ended within "
                                    f"{self.settings.join_timeout:g} s, so no new round can begin")
        numbers = f": --node-rank {sorted(set(range(least)) - told)}" if told else ""
        return DistTimeoutError(f"{len(ready)} of at least {least} machines joined within {self.settings.join_timeout:g} s; "
                                f"{least - len(ready)} missing{numbers}")

    # A round that runs.

    def _watch(self):
        """End the round if all processes are done, if some have failed, or if a launcher is lost or comes in addition."""
        alive, members = self.alive(), {m.member: m for m in self.round.machines}
        states = {member: self._seen[member][0].state for member in members}
        lost = [m for member, m in members.items() if member not in alive and states[member] != DONE]
        failed = [self._seen[member][0].words for member in members if states[member] == FAILED]
        if failed:
            self._open(DistBackendError(failed[0]), True)
        elif lost:
            is_gone = states[lost[0].member] == GONE
            self._open(DistNetworkError(f"the launcher on {lost[0].host} was ended") if is_gone else DistNetworkError(
                f"the launcher on {lost[0].host} has been silent for {self.settings.keep_alive_timeout:g} s"), True)
        elif all(state == DONE for state in states.values()):
            self.round = self.round._replace(phase=DONE, reason="")
        elif DONE not in states.values() and len(members) < self.settings.most_nodes:
            new = [r for member, r in self._ready() if member not in members]
            if new:
                self._open(DistBackendError(f"a launcher on {new[0].host} has come"), False)

    def _open(self, reason: DistError, is_failure: bool):
        """Open the next round, or end the run if no restart is left."""
        restarts = self.round.restarts + is_failure
        if restarts > self.settings.max_restarts:
            self.give_up(reason)
            return
        self.round = Round(self.round.number + 1, OPEN, restarts, str(reason), self.round.machines)
        self._opened, self._called = self.time, None


class Member:
    """Launcher among those of its run. `served` is the table of the store, if this launcher serves it."""

    def __init__(self, store: Store, served: Table | None, settings: RunSettings, report: Report):
        self.store, self.settings = PrefixStore("launchers", store), settings
        self.round, self._report, self._next = Round(), report, 0.0
        self._coordinator, self._reports = None, None
        if served is None:
            self._compare_settings()
            self.number = self.store.add(_COUNT, 1)
        else:
            self.number, self._reports, self._coordinator = 0, served, Coordinator(settings)
            self.store.set(_ROUND, _text(self.round))
            self.store.set(_SETTINGS, _text(settings))
        self.report()

    def _compare_settings(self):
        try:
            theirs = json.loads(self.store.get(_SETTINGS))
        except DistTimeoutError as e:
            raise DistStoreError("no launcher serves the store there, so this one cannot join a run") from e
        for name, own, other in zip(self.settings._fields, self.settings, theirs):
            if own != other:
                raise ArgumentError(f"launchers of one run have the same settings: {name.replace('_', '-')} is {own!r} here, "
                                    f"and {other!r} where the run is served")

    # Reports.

    def report(self, **changes):
        """Renew the report of this launcher, with changes."""
        self._report = self._report._replace(beat=self._report.beat + 1, **changes)
        self.store.set(str(self.number), _text(self._report))
        self._next = time.monotonic() + self.settings.beat

    def look(self) -> Round:
        """Return the present round. Call it more often than launchers may be silent."""
        if self._report.state == GONE and self._coordinator is None:
            return self.round
        now = time.monotonic()
        if now >= self._next:
            self.report()
        if self._coordinator is not None:
            self._decide(self._coordinator, now)
        self.round = _round(self.store.get(_ROUND))
        if self.round.is_last and self._coordinator is None:
            self.report(state=GONE)
        return self.round

    def _decide(self, coordinator: Coordinator, now: float):
        table: Any = self._reports
        keys = {n: self.store._key(str(n)) for n in range(self.store.add(_COUNT, 0) + 1)}
        reports = {n: _report(table.get(key, 0.0)) for n, key in keys.items() if table.has([key])}
        before = self.round
        if coordinator.decide(reports, now) != before:
            self.store.set(_ROUND, _text(coordinator.round))

    def leave(self, error: DistError | None = None):
        """Leave the run, with an error before its end. The launcher that serves it ends it for all, and waits a little until
        they have seen that."""
        with contextlib.suppress(DistError):
            if self._coordinator is None:
                if self._report.state != GONE:
                    self.report(state=GONE)
                return
            if error is not None and not self.round.is_last:
                self._coordinator.give_up(error)
            self.report(state=GONE)
            deadline = time.monotonic() + self.settings.keep_alive_timeout
            while self.look() and self._coordinator.alive() and time.monotonic() < deadline:
                time.sleep(0.02)
