"""Engine `mpi`: the ranks of a run that a launcher of MPI has started, on any network that the MPI library knows.

A message is a frame, with its body where that is short; other bodies follow in an MPI message of their own. A group has a
communicator of its own for its collectives.
"""

import contextlib
import os
import select
import struct
import time
from collections import defaultdict, deque
from typing import Any

import numpy as np

from ....ir.requirements import install_extra
from ..stores.distributed_errors import DistBackendError, DistError, DistTimeoutError
from ..stores.launch_variables import launch
from ..stores.meeting import machine
from ..stores.store import seconds
from . import mpi_library
from .engine import Channel, Engine, Run
from .inbox import GOES_ON, Inbox
from .mpi_channel import MPIChannel
from .mpi_progress import Background, LostRanksError, Progress
from .pause import Pause

_FRAME = struct.Struct("<BxHxxxxqqQ")        # kind, bytes of the note, group, tag, bytes of the body
_INLINE, _FOLLOWS, _QUESTION, _ANSWER, _FAREWELL = range(5)
_FRAMES, _BODIES = 0, 1         # tags of MPI
_INLINE_BYTES = 2000            # bodies up to here travel in frames, which no MPI sends by a handshake
_LONGEST_NOTE = 1000
_CORE_BYTES = 128
_PLACE = np.dtype([("machine", "S112"), ("pid", np.int64), ("cores", np.uint8, _CORE_BYTES)])     # of a rank; a bit for a core
_MOST_BYTES = 1 << 30           # bytes of one call, where counts have 31 bits
_MOST_WAITING = 1 << 28         # bytes that are sent and not yet received, before a sender waits
_NAMING = 2.0                   # seconds for MPI to tell which ranks have failed
_ASKING = 1.0                   # seconds for ranks to answer where they are
_CLOSING = 3.0                  # seconds for the others to leave the run, too; they may still ask rank 0 for the store
_PARTING = 3.0                  # seconds that a failed rank stays for the others to see that it failed


class MPIEngine(Engine):
    """Messages of this rank by MPI."""

    name = "mpi"

    @classmethod
    def preference(cls) -> int:
        """Return how well the engine suits processes that were started as this one was."""
        found = None if "RANK" in os.environ else launch()      # another launcher may stand between MPI's and this process
        return -1 if found is None or not found.by_mpi else 2 if found.is_of_mpi else 0

    @classmethod
    def refusal(cls, run: Run) -> str:
        """Return the reason why MPI cannot connect a run, or no text."""
        if not mpi_library.is_installed():
            return f"it needs mpi4py and an MPI library: {install_extra('mpi')}"
        found = launch()
        by_mpi = found is not None and found.by_mpi
        if not by_mpi and run.size > 1:
            return f"no launcher of MPI has started this process; start the program with `mpiexec -n {run.size} python ...`"
        if found is not None and by_mpi and found.size != run.size:
            return f"{found.name} has started {found.size} processes, and the world size is {run.size}"
        return ""

    def __init__(self, run: Run, comm: Any = None):
        """Connect the ranks of a communicator, by default all."""
        super().__init__(run)
        rank, size = self.rank, self.size
        self.patience, self.most_bytes = seconds(run.timeout), _MOST_BYTES
        self.MPI: Any = mpi_library.started(self.patience)
        if self.MPI.VERSION >= 4:
            self.most_bytes = 1 << 62       # its counts have 64 bits
        self.progress = Progress(self.MPI)
        self.inbox = Inbox(rank, self._pump)
        self.collectives: dict[int, int] = defaultdict(int)     # by group: how many this rank has begun
        self.abandoned: list = []                               # requests that never ended, with their memory
        self.failed: set[int] = set()                           # ranks that ended before the run did
        self._silent: set[int] = set()                          # ranks that stand still, as they do not answer
        self._answers: dict[tuple, int] = {}                    # (rank, group): how many collectives it has begun
        self._arriving: dict[int, deque] = defaultdict(deque)   # messages of a rank whose bodies may be on their way
        self._sending: list = []                                # (request, memory)
        self._handles: dict[int, int] = {}                      # handles of processes on this machine, by descriptor
        self._poll = select.poll()
        self._end: Any = None                                   # barrier of ranks that have left
        self._parted = self.revoked = False
        self._revoked_at = 0.0
        if comm is None:
            world = self.MPI.COMM_WORLD
            if world.size != size:
                raise DistBackendError(f"MPI connects {world.size} processes, and the world size is {size}; start the program "
                                       f"with `mpiexec -n {size} python ...`")
            comm = mpi_library.within(lambda: world.Split(0, rank), self.patience, "joining all ranks by MPI")
        self.comm = comm
        self._watch_processes()
        mpi_library.users.append(self)
        self._background = Background(self._look)

    def _watch_processes(self):
        """Get handles of the other processes on this machine, to notice their end; find out whether ranks share its cores."""
        mine, every = np.zeros(1, _PLACE), np.zeros(self.size, _PLACE)
        mine["machine"], mine["pid"] = _machine().encode(), os.getpid()
        for core in _cores():
            mine["cores"][0, core // 8 % _CORE_BYTES] |= 1 << core % 8
        mpi_library.within(lambda: self.comm.Allgather(mine.view(np.uint8), every.view(np.uint8)), self.patience,
                           "joining all ranks by MPI")
        here = np.flatnonzero(every["machine"] == mine["machine"])
        cores = int(np.unpackbits(np.bitwise_or.reduce(every["cores"][here])).sum())
        self.progress.shares_cores = len(here) > cores
        for other in here[here != self.rank] if hasattr(os, "pidfd_open") else ():
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(int(every["pid"][other]))
                self._handles[handle] = int(other)
                self._poll.register(handle, select.POLLIN)

    # Groups.

    def channel(self, group) -> Channel:
        """Return the collectives of a group. All its ranks call this."""
        if group.size() == 1:
            return Channel(self, group)
        what, limit = f"making the group of ranks {list(group.ranks)}", seconds(group.timeout)
        if len(group.ranks) == self.size:
            comm = self.within(self.comm.Dup, limit, what)
        else:
            members = self.comm.group.Incl(list(group.ranks))
            comm = self.within(lambda: self.comm.Create_group(members, group.number), limit, what)
        return MPIChannel(self, group, comm)

    def within(self, work, limit: float, what: str):
        """Return the result of a call of MPI that blocks, within a time."""
        def alone():
            with self.progress.lock:
                return work()

        threads = self.MPI.Query_thread() == self.MPI.THREAD_MULTIPLE
        return mpi_library.within(work if threads else alone, limit, what)

    # Messages.

    def transmit(self, targets, channel: tuple, note: str, memory: np.ndarray):
        """Send bytes to ranks."""
        short = memory.size <= _INLINE_BYTES
        copy = None if short else np.array(memory)
        frame = self._frame(_INLINE if short else _FOLLOWS, channel, note, memory.size, memory if short else b"")
        self._wait_for_receivers(memory.size * len(targets), note)
        for other in targets:
            if other == self.rank:
                self.inbox.put(other, channel, note, np.array(memory))
                continue
            if other in self.inbox.gone:
                raise DistBackendError(f"rank {self.rank} cannot send {note} to rank {other}: it has gone "
                                       f"({self.inbox.gone[other]}{self.inbox.others_gone(other)})")
            self._post(other, frame, _FRAMES)
            if copy is not None:
                for piece in self.pieces(copy):
                    self._post(other, piece, _BODIES)

    def pieces(self, memory: np.ndarray, size: int = 1 << 62) -> list:
        """Return contiguous memory in pieces of at most `size` bytes that one call of MPI takes."""
        size = min(size, self.most_bytes)
        if memory.nbytes <= size:
            return [memory]
        flat, most = memory.reshape(-1), size // memory.itemsize
        return [flat[i:i + most] for i in range(0, flat.size, most)]

    def _frame(self, kind, channel, note, size, body=b"") -> np.ndarray:
        said = note.encode()[:_LONGEST_NOTE].decode(errors="ignore").encode()
        return np.frombuffer(_FRAME.pack(kind, len(said), *channel, size) + said + bytes(body), np.uint8)

    def _post(self, other: int, memory: np.ndarray, tag: int):
        try:
            request = self.progress.call(self.comm.Isend, [memory, self.MPI.BYTE], other, tag)
        except LostRanksError:
            self._notice_failures()
            return
        with self.progress.lock:
            self._sending.append((request, memory))

    def _wait_for_receivers(self, size: int, note: str):
        deadline = time.monotonic() + self.patience
        while self._sending and sum(m.size for _, m in self._sending) + size > _MOST_WAITING:
            if time.monotonic() > deadline:
                raise DistTimeoutError(f"rank {self.rank} waited {self.patience:g} s to send {note}: receivers take nothing in "
                                       "any more")
            self.inbox.take_in(0.001)

    def _look(self) -> bool:
        """Take in what has arrived, if no other thread does; return whether more is on its way."""
        self.inbox.take_in(0.0)
        end = self._end
        try:
            if end is not None and self.progress.is_done([end]):
                self._end = None
        except LostRanksError:
            self._notice_failures()
            self._end = None
        return bool(self._sending) or self._end is not None or any(self._arriving.values())

    def _pump(self, limit: float):
        """Take in what arrives; wait for it for at most `limit` seconds."""
        deadline, pause = time.monotonic() + limit, Pause()
        while not self.whole(self._take_in):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            pause.take(left)

    def _take_in(self) -> bool:
        """Take in frames and bodies; return whether something has arrived."""
        arrived = False
        if self._revoked_at:
            self._notice_failures()
        while (found := self._next_frame()) is not None:
            arrived = True
            self._accept(*found)
        for sender, queue in list(self._arriving.items()):
            while queue and self._is_there(sender, queue):
                channel, note, body, _ = queue.popleft()
                self.inbox.put(sender, channel, note, body)
                arrived = True
        return self._notice_ends() or arrived

    def _next_frame(self) -> tuple | None:
        """Return (sender, frame) of a message that has arrived."""
        def look():
            if self._sending:
                self._sending = [pair for pair in self._sending if not pair[0].Test()]
            status = self.MPI.Status()
            message = self.comm.Improbe(self.MPI.ANY_SOURCE, _FRAMES, status)
            if message is None:
                return None
            frame = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            message.Recv([frame, self.MPI.BYTE])
            return status.Get_source(), frame

        try:
            return None if self.revoked else self.progress.call(look)
        except LostRanksError:
            self._notice_failures()
            return None

    def _is_there(self, sender: int, queue: deque) -> bool:
        """Return whether the body of the next message is there. Bodies of a rank that has failed never are."""
        try:
            return not queue[0][3] or self.progress.is_done(queue[0][3])
        except LostRanksError:
            self._notice_failures()
            self.abandoned.extend(queue)
            queue.clear()
            return False

    def _accept(self, sender: int, frame: np.ndarray):
        kind, length, group, tag, size = _FRAME.unpack_from(frame)
        said = bytes(frame[_FRAME.size:_FRAME.size + length]).decode()
        if kind == _QUESTION:
            self._post(sender, self._frame(_ANSWER, (group, self.collectives[group]), "", 0), _FRAMES)
        elif kind == _ANSWER:
            self._answers[sender, group] = tag
        elif kind == _FAREWELL:
            self._lose(sender, said or "it has left the run", bool(said))
        elif kind == _INLINE:
            self._arriving[sender].append(((group, tag), said, frame[_FRAME.size + length:], []))
        else:
            body = np.empty(size, np.uint8)
            try:
                requests = [self.progress.call(self.comm.Irecv, [p, self.MPI.BYTE], sender, _BODIES) for p in self.pieces(body)]
            except LostRanksError:
                self._notice_failures()
                return
            self._arriving[sender].append(((group, tag), said, body, requests))

    def _notice_ends(self) -> bool:
        ended = [(fd, self._handles.pop(fd)) for fd, _ in self._poll.poll(0)] if self._handles else []
        for fd, other in ended:
            self._poll.unregister(fd)
            os.close(fd)
            self._lose(other, "its process has ended", True)
        return bool(ended)

    def _lose(self, other: int, reason: str, has_failed: bool):
        if has_failed:
            self.failed.add(other)
        self.inbox.lose(other, reason)

    # Ranks that fail, where MPI goes on.

    @property
    def way_out(self) -> str:
        """Words on going on without ranks that have failed, where MPI can."""
        return "; shrink_group() goes on without it" if mpi_library.survives_failures() else ""

    def _notice_failures(self):
        """Learn from MPI which ranks have failed, and whether another rank has revoked this run."""
        def look():
            failed = self.comm.Get_failed()
            ranks = self.MPI.Group.Translate_ranks(failed, range(failed.size), self.comm.group) if failed.size else []
            self.comm.Ack_failed(failed.size)
            return ranks, self.comm.Is_revoked()

        ranks, is_revoked = self.progress.call(look)
        for other in ranks:
            self._lose(other, "its process has ended", True)
        if is_revoked and not self.revoked:
            self.revoked, self._revoked_at = True, time.monotonic()
        if self._revoked_at and (self.failed or time.monotonic() - self._revoked_at > _NAMING):
            self._revoked_at = 0.0
            for other in range(self.size):
                if other != self.rank:
                    self._lose(other, GOES_ON, False)

    def lost_ranks(self, group) -> list:
        """Return the ranks of a group that have failed, the first one first, after MPI has said that some have."""
        deadline = time.monotonic() + _NAMING
        while True:
            self._notice_failures()
            gone = [r for r in list(self.inbox.gone) if r in group.ranks]
            if gone or time.monotonic() > deadline:
                return gone
            self.inbox.take_in(0.01)

    def revoke_group(self, comm):
        """End the collectives of a group on its other ranks, where MPI goes on when ranks fail."""
        if mpi_library.survives_failures():
            self.progress.call(comm.Revoke)

    def revoke(self):
        """End the operations of all ranks with an error."""
        if not mpi_library.survives_failures():
            super().revoke()
        self.revoke_group(self.comm)
        self._notice_failures()

    def survivors(self, limit: float, prepare) -> Any:
        """Return what is prepared on an engine of the ranks that have not failed."""
        self._leave()
        comm, what = self.comm, "shrink_group, which all ranks call that have not failed"
        while True:
            comm = mpi_library.within(comm.Shrink, limit, what)
            comm.Set_errhandler(self.MPI.ERRORS_RETURN)
            engine = prepared = None
            with contextlib.suppress(DistError):
                engine = MPIEngine(Run(comm.rank, comm.size, None, limit), comm)
                engine.abandoned += self.abandoned
                prepared = prepare(engine)
            if mpi_library.within(lambda c=comm, done=prepared is not None: self._all_say(c, done), limit, what):
                mpi_library.survivors.append(comm)
                return prepared
            if engine is not None:
                engine._leave()

    def _all_say(self, comm, is_done: bool) -> bool:
        """Return whether all ranks of a communicator are there and say yes. All get the same answer."""
        try:
            return comm.Agree(int(is_done)) == 1
        except self.MPI.Exception:
            return False

    # Ranks that do not come.

    def missing(self, group) -> list:
        """Return the ranks of a group that have not begun the collective which this rank is in, or do not answer."""
        begun = self.collectives[group.number]
        asked = [r for r in group.ranks if r != self.rank and r not in self.inbox.gone]
        for other in asked:
            self._answers.pop((other, group.number), None)
            self._post(other, self._frame(_QUESTION, (group.number, 0), "", 0), _FRAMES)
        deadline = time.monotonic() + _ASKING
        while time.monotonic() < deadline and not all((r, group.number) in self._answers for r in asked):
            self.inbox.take_in(0.01)
        self._silent.update(r for r in asked if (r, group.number) not in self._answers)
        return [r for r in asked if self._answers.get((r, group.number), -1) < begun]

    # Closing.

    def close(self):
        """Leave the run, with the others or before them."""
        if self._end is None and not self._parted:
            try:
                self._end = self.progress.call(self.comm.Ibarrier)
            except LostRanksError:
                self._notice_failures()
            deadline = time.monotonic() + _CLOSING
            while self._end is not None and time.monotonic() < deadline and not self.failed:
                self.inbox.take_in(0.001)
                self._look()
        if self._end is not None or self.failed:
            self._part("")
            return
        self._leave()

    def _leave(self):
        """Take in no more messages, and leave the end of MPI to other engines."""
        self.stop()
        if self in mpi_library.users:
            mpi_library.users.remove(self)
        for fd in self._handles:
            os.close(fd)
        self._handles = {}

    def end(self):
        """Do nothing: `mpi_library` has left MPI together with the others, or told them why not."""

    def _part(self, reason: str):
        """Tell the others that this rank has left."""
        if not self._parted:
            self._parted = True
            for other in range(self.size):
                if other != self.rank and other not in self.inbox.gone:
                    self._post(other, self._frame(_FAREWELL, (0, 0), reason, 0), _FRAMES)

    def stop(self):
        """Call MPI no more: the process leaves it."""
        self._background.end()

    def farewell(self, reason: str) -> bool:
        """Tell the others that this process ends; return whether it may wait for them."""
        self._part(reason)
        self.inbox.take_in(0.0)
        deadline = time.monotonic() + _PARTING
        here = {r for r in range(self.size) if r != self.rank} - self._silent
        while reason and time.monotonic() < deadline and here - self.inbox.gone.keys():
            self.inbox.take_in(0.01)
        return not self.failed

    @property
    def is_alone(self) -> bool:
        """Whether all other ranks have ended, or said that they do."""
        return all(self.inbox.gone.get(r, GOES_ON) != GOES_ON for r in range(self.size) if r != self.rank)


def _cores():
    """Return the numbers of the cores on which this process may run."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


def _machine() -> str:
    """Return a name of this machine and its numbers of processes."""
    with contextlib.suppress(OSError):
        return f"{machine()} {os.readlink('/proc/self/ns/pid')}"
    return machine()
