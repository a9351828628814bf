"""Collectives of a group by NCCL, on arrays of one GPU, in a stream of their own.

The stream waits for the program's stream, which waits for the end of a collective before it uses the result. Nothing passes
through the host. While a graph is captured, the collectives become a part of it; all ranks compare what they capture. Each
launch of such a graph counts as all of its collectives, and the watchdog waits for an event behind it.
"""

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

from ...core.device_array import DeviceArray
from ...cuda.compiler import copies
from ...cuda.driver import context as contexts
from ...cuda.driver import launch_queue
from ...cuda.driver.driver_state import thread
from ...cuda.driver.streams import Event, Stream, current, set_current
from ...cuda.graph.joint_capture import JointCapture, Vote
from ...cuda.memory import pools, transfer
from ...cuda.memory.arrays import KIND, empty, used
from ...cuda.replay.graphs import reset_ended
from ..stores.distributed_errors import DistBackendError
from ..stores.store import seconds
from .engine import Channel
from .nccl_agreement import Agreement
from .nccl_communicator import Communicator
from .nccl_library import BYTES
from .nccl_watchdog import Launch, Watch
from .reduce_op import ReduceOp


class NCCLChannel(Channel):
    """Collectives of a group by NCCL. The first array connects the ranks, each with the GPU of that array.

    begun           number of collectives that this rank has begun
    last            note of the last of them
    note, peers     of what is being launched
    agreement       votes of the ranks on graphs that have its collectives
    """

    def __init__(self, engine: Any, group: Any, comm: Communicator | None = None):
        super().__init__(engine, group)
        self.begun, self.last, self.note = 0, "none", ""
        self.peers: tuple = ()
        self.limit = seconds(group.timeout)
        self.device = 0
        self.comm: Any = None
        self._stream: Any = None
        self._watch: Any = None
        self._captures = self._is_agreed = False
        self._in_flight: deque = deque()            # (launch, memory) of captured work that is not waited for yet
        self._graphs: WeakSet = WeakSet()           # `JointCapture`s with its collectives
        self.agreement = Agreement(self)
        if comm is not None:
            self._use(comm)

    # Connecting.

    def on(self, device: int) -> "NCCLChannel":
        """Return the channel for arrays of a GPU."""
        if self.comm is None:
            if current(device).is_capturing():
                raise DistBackendError(f"the group {self.group.group_name!r} is not connected yet, and cannot be while a graph "
                                       "is captured: run a collective of it before")
            self._use(self.engine.connect(self.group, device))
        elif device != self.device:
            raise DistBackendError(f"the group {self.group.group_name!r} is connected on cuda:{self.device} of this rank, and "
                                   f"the tensor is on cuda:{device}")
        return self

    def _use(self, comm: Communicator):
        self.comm, self.device, self._stream = comm, comm.device, Stream(comm.device)
        self._watch = Watch(self, comm)
        self.engine.watchdog.watch(self._watch)

    def check(self):
        """Raise the reason why the group cannot communicate any more."""
        self.comm.check()

    def current(self) -> Stream:
        """Return the program's stream."""
        return current(self.device)

    def close(self):
        """Wait for all work, and leave the communicator."""
        for joint in [*self._graphs]:           # (NCCL waits for graphs with its work)
            joint.drop()
        reset_ended()
        if self.comm is None:
            return
        if self.comm.failure is None:
            self._stream.synchronize()
        self.engine.watchdog.forget(self._watch)
        self.comm.close()

    # Launches.

    def launch(self, work: Callable) -> Launch:
        """Run a function of collectives in the channel's stream; return the work that it has entered there."""
        self.check()
        device, here, side = contexts.current(), self.current(), self._stream
        self._captures = here.is_capturing()
        if not self._captures:
            self._in_flight.clear()
        side.wait_stream(here)
        set_current(side)
        try:
            result = work()
        finally:
            set_current(here)
            contexts.set_current(device)
        event = Event()
        event.record(side)
        launch = Launch(self, event, self._captures, result)
        if not self._captures:
            self._watch.pending.append(launch)
        else:
            self._in_flight.append((launch, None))
        return launch

    def joined_by(self, launch: Launch):
        """Let go of the memory that captured work has read, up to a launch that the program's stream waits for."""
        if any(other is launch for other, _ in self._in_flight):
            while self._in_flight.popleft()[0] is not launch:
                pass

    def launched_graph(self, notes: list, stream: Stream):
        """Note the launch of a graph that has collectives."""
        self.begun, self.last = self.begun + len(notes), notes[-1]
        more = f" and {len(notes) - 1} more" if len(notes) > 1 else ""
        self.note, self.peers = f"a graph with {notes[0]}{more}", ()
        event = Event()
        event.record(stream)
        self._watch.pending.append(Launch(self, event, False, None))

    def _enter(self, note: str, calls: list, peers: Sequence = ()):
        """Enter calls into the stream as one group. `peers` are the positions that take part, if they are not all."""
        self.note, self.peers = note, tuple([self.group.ranks[r] for r in peers])
        if self._captures:
            self._enter_capture(note, peers)
        elif not peers:
            self.begun, self.last = self.begun + 1, note
        if thread.collectives is not None and not peers:
            thread.collectives.append((self, note))
        launch_queue.drain()
        try:
            if calls:
                self.comm.enqueue(calls, self._stream.handle, note, self.limit)
        except DistBackendError as e:
            self._watch.abort(e)        # the others would wait forever
            raise

    def _enter_capture(self, note: str, peers: Sequence):
        """Note a call that becomes a part of a graph. Ranks compare it, unless they have agreed on the whole graph."""
        if not self._is_agreed and not peers:
            self.group.run(lambda: self.group.channel.barrier(f"the capture of {note}"), False)
        held = thread.held or []
        captured = next((h for h in held if isinstance(h, _Captured) and h.channel is self), None)
        if captured is None:
            captured = _Captured(self)
            pools.keep(captured)
        if not peers:
            captured.notes.append(note)

    def _use_memory(self, a: DeviceArray):
        """Note that the stream uses an array's memory. A capture gives freed memory to the program's stream at once, so the
        memory is held until that waits for the collective."""
        used(a, self._stream.handle)
        if self._captures:
            self._in_flight.append((None, a.memory))

    def _read(self, a: DeviceArray) -> DeviceArray:
        """Return an array in rows, for the stream to read."""
        found = a.backend.contiguous(a)
        self._use_memory(found)
        return found

    def _room(self, shape, dtype, out: DeviceArray | None = None) -> DeviceArray:
        """Return memory in rows that the stream writes."""
        if out is None:
            return empty(self.device, shape, dtype)
        self._use_memory(out)
        return out

    def _target(self, out: DeviceArray) -> DeviceArray:
        """Return memory in rows for an array: its own, if that is so."""
        return self._room(out.shape, out.dtype, out if out.is_contiguous else None)

    # Graphs that all ranks run alike.

    @property
    def number(self) -> int:
        """Number of the group, the same on all ranks."""
        return self.group.number

    def members(self) -> tuple:
        """Return this rank's number in the run, and those of all ranks of the group."""
        return self.engine.rank, self.group.ranks

    def vote(self, vote: Vote, turn: int) -> list:
        """Return the votes of all ranks on how to run a graph with collectives."""
        self.check()
        return self._agree(lambda: self.agreement.vote(vote, turn))

    def survey(self, text: str, turn: int) -> list:
        """Return the texts of the other ranks in a round before a capture."""
        self.check()
        return self._agree(lambda: self.agreement.survey(text, turn))

    def compare(self, notes):
        """Raise an error that names the first collective of a graph that differs between ranks."""
        self.agreement.compare(notes)

    def _agree(self, work):
        try:
            return work()
        except DistBackendError as e:
            self._watch.abort(e)        # the others would wait forever
            raise

    def capture(self, is_on: bool):
        """Begin or end a capture that all ranks have agreed on."""
        self._is_agreed = is_on

    def forget_at_end(self, joint: JointCapture):
        """Drop a capture before the communicator is left."""
        self._graphs.add(joint)

    # Arrays.

    def takes(self, *arrays) -> bool:
        """Return whether arrays are on GPUs."""
        return bool(arrays) and all(a.__class__ is DeviceArray and a.kind == KIND for a in arrays)

    def operand(self, a) -> DeviceArray:
        """Return an array anywhere as an operand."""
        return transfer.relocated(a, self.device) if a.__class__ is DeviceArray else transfer.to_device(a, self.device)

    def reaches(self, a) -> bool:
        """Return whether results can be written into an array."""
        return a.__class__ is DeviceArray

    def empty(self, shape, dtype) -> DeviceArray:
        """Return memory for a result."""
        return empty(self.device, shape, dtype)

    def cut(self, a: DeviceArray, ends) -> list:
        """Return parts of an array along its first dimension."""
        return [a[begin:end] for begin, end in zip([0, *ends], [*ends, a.shape[0]])]

    def joined(self, arrays) -> DeviceArray:
        """Return the elements of all arrays in a row."""
        ends = [*itertools.accumulate(a.size for a in arrays)]
        made = empty(self.device, (ends[-1],), arrays[0].dtype)
        self._deliver(arrays, self.cut(made, ends[:-1]))
        return made

    # Collectives.

    def _reduction(self, a, op, divisor: float | None = None) -> tuple:
        """Return the number of elements, their kind and the reduction, as NCCL counts them."""
        if op is ReduceOp.AVG:
            divisor = self.group.size()
        kind, number = self.comm.reduction(op, a.dtype, divisor, self.limit)
        return a.size * (2 if a.dtype.kind == "c" else 1), kind, number

    def all_reduce(self, a, op, note: str, out=None, divisor: float | None = None):
        """Return the combination of every rank's array, on every rank."""
        src, out = self._read(a), self._room(a.shape, a.dtype, out)
        self._enter(note, [("ncclAllReduce", (src.pointer, out.pointer, *self._reduction(a, op, divisor)))])
        return out

    def average(self, a, divisor: float, note: str, out=None):
        """Return the sum of every rank's array over a divisor, on every rank."""
        return self.all_reduce(a, ReduceOp.SUM, note, out, divisor)

    def reduce(self, a, to: int, op, note: str):
        """Return the combination of every rank's array on one rank, None on others."""
        src = self._read(a)
        out = empty(self.device, a.shape, a.dtype) if self.group.rank() == to else None
        target = None if out is None else out.pointer
        self._enter(note, [("ncclReduce", (src.pointer, target, *self._reduction(a, op), to))])
        return out

    def broadcast(self, a, source: int, note: str, out=None):
        """Return the source's array on every rank."""
        here = self.group.rank() == source
        src = self._read(a) if here else self._room(a.shape, a.dtype, out)
        self._enter(note, [("ncclBroadcast", (src.pointer, src.pointer, src.nbytes, BYTES, source))])
        return a if here else src

    def all_gather(self, a, note: str, outs=None) -> list:
        """Return every rank's array, on every rank."""
        n, src = self.group.size(), self._read(a)
        if outs is not None:
            outs = [outs[r] for r in range(n)]
        if outs is not None and all(out.size == a.size for out in outs) and _are_adjacent(outs):
            for out in outs:
                self._use_memory(out)
            self._enter(note, [("ncclAllGather", (src.pointer, outs[0].pointer, src.nbytes, BYTES))])
            return outs
        if outs is None or all(out.size == a.size for out in outs):
            rows = empty(self.device, (n, *a.shape), a.dtype)
            self._enter(note, [("ncclAllGather", (src.pointer, rows.pointer, src.nbytes, BYTES))])
            found = [rows[r] for r in range(n)]
        else:
            found = [src if r == self.group.rank() else self._target(out) for r, out in enumerate(outs)]
            self._enter(note, [("ncclBroadcast", (f.pointer, f.pointer, f.nbytes, BYTES, r)) for r, f in enumerate(found)
                               if f.nbytes])
        return found if outs is None else self._deliver(found, outs)

    def reduce_scatter(self, pieces, op, note: str, out=None):
        """Return this rank's piece combined over all ranks."""
        mine = pieces[self.group.rank()]
        out = self._room(mine.shape, mine.dtype, out)
        if isinstance(pieces, DeviceArray):
            src = self._read(pieces)
        elif all(p.size == mine.size for p in pieces):
            src = empty(self.device, (len(pieces), *mine.shape), mine.dtype)
            self._deliver(pieces, [src[r] for r in range(len(pieces))])
        else:
            srcs = [self._read(p) for p in pieces]
            self._enter(note, [("ncclReduce", (p.pointer, out.pointer, *self._reduction(p, op), r))
                               for r, p in enumerate(srcs) if p.nbytes])
            return out
        self._enter(note, [("ncclReduceScatter", (src.pointer, out.pointer, *self._reduction(mine, op)))])
        return out

    def all_gather_coalesced(self, arrays, note: str, outs):
        """Fill the arrays in `outs`, some for each position, with those of all ranks, by one collective."""
        sizes = [sum([out.size for out in each]) for each in outs]
        mine = self.joined(arrays)
        rows = self.cut(self.empty((sum(sizes),), mine.dtype), [*itertools.accumulate(sizes[:-1])])
        self.all_gather(mine, note, rows)
        for row, each in zip(rows, outs):
            for part, out in zip(self.parted(row, [out.shape for out in each]), each):
                out[...] = part

    def reduce_scatter_coalesced(self, pieces, op, note: str, out):
        """Return this rank's arrays in `pieces`, which has some for each position, combined over all ranks, in a row."""
        return self.reduce_scatter([self.joined(each) for each in pieces], op, note, out)

    def all_to_all(self, pieces, outs, note: str):
        """Send each position its piece, and receive the piece of each into `outs`."""
        self.exchange(note, list(enumerate(pieces)), list(enumerate(outs)), ())

    def gather(self, a, to: int, note: str) -> list:
        """Return every rank's array on one rank, no array on others."""
        size = self.group.size() if self.group.rank() == to else 0
        found = [empty(self.device, a.shape, a.dtype) for _ in range(size)]
        self.exchange(note, [(to, a)], list(enumerate(found)), ())
        return found

    def scatter(self, pieces, source: int, note: str, like) -> DeviceArray:
        """Return this rank's piece of those on the source, which is like an array."""
        out = empty(self.device, like.shape, like.dtype)
        self.exchange(note, list(enumerate(pieces)) if self.group.rank() == source else [], [(source, out)], ())
        return out

    def exchange(self, note: str, sends: list, receives: list, peers):
        """Send arrays to positions, and fill arrays from positions, all at once: (position, array) each."""
        srcs = [(r, self._read(a)) for r, a in sends]
        rooms = [(r, self._target(a)) for r, a in receives]
        calls = [("ncclSend", (a.pointer, a.nbytes, BYTES, r)) for r, a in srcs if a.nbytes]
        calls += [("ncclRecv", (a.pointer, a.nbytes, BYTES, r)) for r, a in rooms if a.nbytes]
        self._enter(note, calls, peers)
        self._deliver([a for _, a in rooms], [a for _, a in receives])

    @staticmethod
    def _deliver(found, outs):
        """Write arrays to their places, unless they lie there."""
        for out, a in zip(outs, found):
            if a is not out:
                copies.write(out, a.reshape(out.shape) if a.shape != out.shape else a)
        return outs

    def swap(self, note: str, outgoing: dict, sources) -> dict:
        """Refuse: sizes of messages that come are not known on the device."""
        raise DistBackendError(f"{note} has no form on the device")


class _Captured(pools.LaunchListener):
    """Collectives of a channel in one captured graph: their notes, in order."""

    def __init__(self, channel: NCCLChannel):
        self.channel = channel
        self.notes: list[str] = []

    def check(self):
        """Raise the reason why the group cannot communicate any more."""
        self.channel.check()

    def launched(self, stream: Stream):
        """Note a launch of the graph."""
        if self.notes:
            self.channel.launched_graph(self.notes, stream)


def _are_adjacent(arrays) -> bool:
    """Return whether arrays of one size lie one after the other in memory."""
    first, size = arrays[0].pointer, arrays[0].nbytes
    return all(a.is_contiguous and a.pointer == first + r * size and a.memory is arrays[0].memory
               for r, a in enumerate(arrays))
