"""Collectives of a group by those of MPI, on the memory of arrays.

Before each one the ranks compare what they are about to do. So ranks that disagree get an error, and no call of MPI meets
another one.
"""

import contextlib
import functools
import hashlib
import itertools
import time
from typing import Any

import numpy as np

from ..stores.distributed_errors import DistBackendError, DistTimeoutError
from ..stores.store import seconds
from .engine import Channel, as_array, disagreement, flat_bytes
from .mpi_progress import LostRanksError
from .reduce_op import ReduceOp, combine

_NOTE_BYTES = 512           # bytes of a note that other ranks are told where they disagree
_WHOLE_BYTES = 1 << 13      # up to here every rank gets all arrays, where MPI cannot combine them
_REDUCED_BYTES = 1 << 23    # bytes that are combined at once, which then are in caches
_WAITS = 0.0003             # seconds of tests without pauses for ranks to come
_MOVES = 1.0                # seconds of tests without pauses while bytes move
_GRACE = 0.5                # seconds for the bytes of a rank that has gone since
_BY_BITS = (ReduceOp.MIN, ReduceOp.MAX, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_SUMS = (ReduceOp.SUM, ReduceOp.PRODUCT)
_KINDS = {"f": (*_SUMS, ReduceOp.AVG), "c": (ReduceOp.SUM, ReduceOp.AVG), "i": _BY_BITS, "u": _BY_BITS, "b": _BY_BITS}
_NAMES = {ReduceOp.SUM: "SUM", ReduceOp.AVG: "SUM", ReduceOp.PRODUCT: "PROD", ReduceOp.MIN: "MIN", ReduceOp.MAX: "MAX",
          ReduceOp.BAND: "BAND", ReduceOp.BOR: "BOR", ReduceOp.BXOR: "BXOR"}
_TYPES = {"f4": "FLOAT", "f8": "DOUBLE", "c8": "C_FLOAT_COMPLEX", "c16": "C_DOUBLE_COMPLEX", "b1": "UINT8_T",
          **{f"{s}{n}": f"{'U' if s == 'u' else ''}INT{8 * n}_T" for s in "iu" for n in (1, 2, 4, 8)}}


class MPIChannel(Channel):
    """Collectives on a communicator."""

    def __init__(self, engine: Any, group: Any, comm: Any):
        super().__init__(engine, group)
        self.comm, self.MPI, self.broken = comm, engine.MPI, ""
        self._other = 1 - group.ranks.index(engine.rank) if len(group.ranks) == 2 else None
        self._marks = memoryview(np.zeros(4, np.uint64))        # of this rank, and the largest ones
        kind, self._comparison, self._native = self.MPI.UINT64_T, None, functools.cache(self._native_type)
        self._compared = [self._marks[:2], kind], [self._marks[2:], kind], self.MPI.MAX
        with contextlib.suppress(NotImplementedError):          # an MPI before version 4
            self._comparison = engine.progress.call(comm.Allreduce_init, *self._compared)

    def _compare(self) -> Any:
        """Begin to compare the marks of all ranks."""
        if self._comparison is None:
            return self.comm.Iallreduce(*self._compared)
        self._comparison.Start()
        return self._comparison

    def close(self):
        """Free the communicator, unless a collective never ended on it."""
        if not self.broken and not self.engine.revoked and self.comm is not None:
            with self.engine.progress.lock:
                if self._comparison is not None:
                    self._comparison.Free()
                self.comm.Free()
            self.comm = None

    # Calls.

    def _start(self, note: str, call, *args) -> Any:
        try:
            return self.engine.progress.call(call, *args)
        except LostRanksError as e:
            raise self._lost(note, self.engine.lost_ranks(self.group), e) from e

    def _do(self, note: str, call, *args):
        """Start one request, or a list of them, and wait."""
        try:
            left = self.engine.progress.begun(call, *args)
        except LostRanksError as e:
            raise self._lost(note, self.engine.lost_ranks(self.group), e) from e
        if left:
            self._finish(left, note)

    def _finish(self, requests: list, note: str, busy: float = _MOVES):
        """Wait for requests; raise an error that names the ranks which keep them from their end."""
        engine, limit = self.engine, seconds(self.group.timeout)
        try:
            hopeless = _Hopeless(engine.inbox.gone, [r for r in self.group.ranks if r != engine.rank])
            if engine.progress.wait(requests, time.monotonic() + limit, busy, hopeless):
                return
        except LostRanksError as e:
            engine.abandoned.append(requests)
            raise self._lost(note, engine.lost_ranks(self.group), e) from e
        engine.abandoned.append(requests)
        if hopeless.gone:
            raise self._lost(note, hopeless.gone)
        self.broken = f"{note} has not ended"
        missing = engine.missing(self.group)
        named = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {missing}" if missing else "bytes of the others"
        raise DistTimeoutError(f"rank {engine.rank} waited {limit:g} s in {note} for {named}, which "
                               + ("has sent nothing; is it" if len(missing) == 1 else "have sent nothing; are they")
                               + " stuck, or busy with something else?")

    def _lost(self, note: str, gone: list, error: Exception | None = None) -> DistBackendError:
        """Return the error of a collective that cannot end, as ranks have gone. Other ranks get theirs at once, too."""
        engine, self.broken = self.engine, f"{note} has not ended"
        engine.revoke_group(self.comm)
        if not gone:
            return DistBackendError(f"{note} cannot end on rank {engine.rank}, since MPI failed with {error}")
        return DistBackendError(f"rank {gone[0]} has gone while rank {engine.rank} waited for it in {note} "
                                f"({engine.inbox.gone[gone[0]]}{engine.inbox.others_gone(gone[0])}); see that process's output"
                                f"{engine.way_out}")

    def _agree(self, note: str):
        """Return once all ranks are about to do the same; raise an error that names one which is not."""
        engine, group, marks = self.engine, self.group, self._marks
        if self.broken:
            raise DistBackendError(f"the group {group.group_name!r} cannot communicate any more: {self.broken}{engine.way_out}")
        engine.collectives[group.number] += 1
        own = marks[0], marks[1] = _mark(note)
        try:
            left = engine.progress.begun(self._compare)
        except LostRanksError as e:
            raise self._lost(note, engine.lost_ranks(group), e) from e
        if left:
            self._finish(left, note, _WAITS)
        if (marks[2], marks[3]) == own:         # the largest is the smallest
            return
        n = group.size()
        mine, every = np.zeros(_NOTE_BYTES, np.uint8), np.zeros((n, _NOTE_BYTES), np.uint8)
        text = note.encode()[:_NOTE_BYTES]
        mine[:len(text)] = np.frombuffer(text, np.uint8)
        told = [every, _NOTE_BYTES, self.MPI.BYTE]
        self._do(note, self.comm.Iallgather, [mine, self.MPI.BYTE], told)
        theirs = [bytes(e).rstrip(b"\0").decode(errors="ignore") for e in every]
        other = next((r for r, said in enumerate(theirs) if said != theirs[self.group.rank()]), (self.group.rank() + 1) % n)
        raise disagreement(self.group.ranks[other], theirs[other], engine.rank, note)

    def _bytes(self, a: np.ndarray) -> list:
        return [a.reshape(-1).view(np.uint8), self.MPI.BYTE]

    def _joined(self, arrays) -> np.ndarray:
        """Return the bytes of arrays, without a copy where they lie one after the other."""
        flat = _consecutive(arrays)
        return self.joined([flat_bytes(a) for a in arrays]) if flat is None else flat

    def _fits(self, size: int) -> bool:
        """Return whether one call takes so many bytes."""
        return size <= self.engine.most_bytes

    # Collectives.

    def barrier(self, note: str):
        """Return when all ranks have arrived."""
        self._agree(note)

    def swap(self, note: str, outgoing: dict, sources) -> dict:
        """Send each array of `outgoing` to its position; return the bytes from each of `sources`."""
        self._agree(note)
        return self._swap(note, outgoing, sources)

    def _swap(self, note, outgoing: dict, sources, into=None) -> dict:
        """Exchange bytes after their sizes, into given memory where the sizes are as expected."""
        n, MPI = self.group.size(), self.MPI
        going = {r: flat_bytes(a) for r, a in outgoing.items()}
        sizes = np.zeros((2, n), np.int64)
        for r, body in going.items():
            sizes[0, r] = body.size
        self._do(note, self.comm.Ialltoall, [sizes[0], 1, MPI.INT64_T], [sizes[1], 1, MPI.INT64_T])
        found, requests = {}, []
        for r in sources:
            given = None if into is None else flat_bytes(into[r])
            found[r] = given if given is not None and given.size == sizes[1, r] else np.empty(sizes[1, r], np.uint8)
            requests += [self._start(note, self.comm.Irecv, [p, MPI.BYTE], r, 0) for p in self.engine.pieces(found[r])]
        for r, body in going.items():
            requests += [self._start(note, self.comm.Isend, [p, MPI.BYTE], r, 0) for p in self.engine.pieces(body)]
        self._finish(requests, note)
        return found

    def _exchange(self, note: str, mine: np.ndarray, theirs: np.ndarray, own: np.ndarray | None = None):
        """Send an array to the only other rank, and receive one from it. `own` gets a copy meanwhile. MPICH's all-gather takes
        1.4 to 2 times as long for two ranks."""
        comm, other, kind, into = self.comm, self._other, self.MPI.BYTE, theirs
        if not theirs.flags.c_contiguous:
            into = self.empty(theirs.shape, theirs.dtype)

        def start():
            requests = [comm.Irecv([_memory(into), kind], other, 0), comm.Isend([_memory(mine), kind], other, 0)]
            if own is not None and own is not mine:
                np.copyto(own, mine if mine.shape == own.shape else mine.reshape(own.shape))
            return requests

        try:
            self._do(note, start)
        except DistBackendError:
            self.engine.abandoned.append((into, mine))
            raise
        if into is not theirs:
            theirs[...] = into

    def broadcast(self, a: np.ndarray, source: int, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return the source's array on every rank."""
        self._agree(note)
        if self.group.rank() == source:
            out = np.ascontiguousarray(a)
        elif out is None:
            out = np.empty(a.shape, a.dtype)
        for piece in self.engine.pieces(out.reshape(-1).view(np.uint8)):
            self._do(note, self.comm.Ibcast, [piece, self.MPI.BYTE], source)
        return a if self.group.rank() == source else out

    def all_gather(self, a: np.ndarray, note: str, outs=None) -> list:
        """Return every rank's array, on every rank."""
        self._agree(note)
        outs = [np.empty(a.shape, a.dtype) for _ in range(self.group.size())] if outs is None else outs
        self._gather(a, outs, note)
        return outs

    def _gather(self, a, outs, note: str):
        """Gather every rank's array. The own one may be `outs[rank]` itself."""
        MPI, other = self.MPI, self._other
        if other is not None and self._fits(outs[0].nbytes + outs[1].nbytes):
            self._exchange(note, a, outs[other], outs[1 - other])
            return
        here, sizes = self.group.rank(), _sizes(outs)
        if not self._fits(sum(sizes)):
            away = [r for r in range(len(outs)) if r != here]
            found = self._swap(note, dict.fromkeys(away, a), away, outs)
            for r, out in enumerate(outs):
                _settle(out, flat_bytes(a) if r == here else found[r])
            return
        flat = _consecutive(outs)
        target = self.empty((sum(sizes),), np.uint8) if flat is None else flat
        mine = MPI.IN_PLACE if a is outs[here] and flat is not None else [flat_bytes(a), MPI.BYTE]
        if sizes.count(sizes[0]) == len(sizes):
            self._do(note, self.comm.Iallgather, mine, [target, sizes[0], MPI.BYTE])
        else:
            self._do(note, self.comm.Iallgatherv, mine, [target, sizes, _starts(sizes), MPI.BYTE])
        if flat is None:
            for out, body in zip(outs, np.split(target, _starts(sizes)[1:])):
                out[...] = body.view(out.dtype).reshape(out.shape)

    def all_gather_coalesced(self, arrays, note: str, outs):
        """Fill the arrays in `outs`, some for each position, with those of all ranks."""
        self._agree(note)
        super().all_gather_coalesced(arrays, note, outs)

    def reduce_scatter_coalesced(self, pieces, op, note: str, out: np.ndarray) -> np.ndarray:
        """Return this rank's arrays in `pieces`, which has some for each position, combined over all ranks, in a row."""
        self._agree(note)
        return super().reduce_scatter_coalesced(pieces, op, note, out)

    def all_to_all(self, pieces, outs, note: str):
        """Send each position its piece, and receive the piece of each into `outs`."""
        self._agree(note)
        here, everyone = self.group.rank(), range(self.group.size())
        away = [r for r in everyone if r != here]
        found = self._swap(note, {r: pieces[r] for r in away}, away, outs)
        for r in everyone:
            _settle(outs[r], flat_bytes(pieces[here]) if r == here else found[r])

    def all_reduce(self, a: np.ndarray, op, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return the combination of every rank's array, on every rank."""
        out = np.empty(a.shape, a.dtype) if out is None else out
        self._agree(note)
        native = self._native(op, a.dtype.kind, a.dtype.itemsize)
        if native is None:
            self._reduce_in_order(a, op, note, out)
            return out
        if a is not out and (not a.flags.c_contiguous or a.ctypes.data != out.ctypes.data):
            np.copyto(out, a)
        for piece in self.engine.pieces(out, _REDUCED_BYTES):
            self._do(note, self.comm.Iallreduce, self.MPI.IN_PLACE, [piece, native[0]], native[1])
        if op is ReduceOp.AVG:
            np.divide(out, out.dtype.type(self.group.size()), out=out)
        return out

    def _native_type(self, op, kind: str, itemsize: int) -> tuple | None:
        """Return MPI's type and operation for a kind of numbers, if its reductions give the same bits on all ranks."""
        name = _TYPES.get(f"{kind}{itemsize}")
        ops = _KINDS.get(kind, ())              # no minimum of floats, which loses nan in MPI, and no sum of truth values
        if kind in "iu" and itemsize >= 4:
            ops = (*ops, *_SUMS)                # Open MPI does not wrap sums of smaller integers around
        return (getattr(self.MPI, name), getattr(self.MPI, _NAMES[op])) if name and op in ops else None

    def _reduce_in_order(self, a, op, note: str, out: np.ndarray):
        """Combine arrays in the order of ranks: each rank combines a share, and all gather the shares."""
        n, here = self.group.size(), self.group.rank()
        if a.nbytes <= _WHOLE_BYTES:
            rows = np.empty((n, a.size), a.dtype)
            self._gather(a, rows, note)
            combine(op, rows, out.reshape(-1))
            return
        for given, target in zip(self.engine.pieces(np.ascontiguousarray(a), _REDUCED_BYTES),
                                 self.engine.pieces(out, _REDUCED_BYTES)):
            pieces, shares = _shares(given, n), _shares(target, n)
            combine(op, self._collected(pieces, shares[here], note), shares[here])
            self._gather(shares[here], shares, note)

    def reduce_scatter(self, pieces, op, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return this rank's piece combined over all ranks, in their order. MPI's own reduce-scatter, when it does not block,
        takes up to eight times as long for some sizes (MPICH 5)."""
        mine = pieces[self.group.rank()]
        out = np.empty(mine.shape, mine.dtype) if out is None else out
        self._agree(note)
        combine(op, self._collected(pieces, mine, note), out)
        return out

    def _collected(self, pieces, like: np.ndarray, note: str) -> Any:
        """Return every rank's piece for this one."""
        n, sizes, here, other = self.group.size(), _sizes(pieces), self.group.rank(), self._other
        fits = self._fits(n * max(sizes))
        if other is not None and fits:
            theirs = self.empty(like.shape, like.dtype)
            self._exchange(note, pieces[other], theirs)
            return [theirs, pieces[here]] if here else [pieces[here], theirs]
        rows = self.empty((n, *like.shape), like.dtype)
        if fits:
            received, target, kind = [like.nbytes] * n, rows.reshape(-1).view(np.uint8), self.MPI.BYTE
            if sizes.count(sizes[0]) == n:
                self._do(note, self.comm.Ialltoall, [self._joined(pieces), sizes[0], kind], [target, sizes[0], kind])
            else:
                self._do(note, self.comm.Ialltoallv, [self._joined(pieces), sizes, _starts(sizes), kind],
                         [target, received, _starts(received), kind])
            return rows
        away = [r for r in range(n) if r != here]
        self._swap(note, {r: pieces[r] for r in away}, away, rows)
        rows[here] = pieces[here]
        return rows


class _Hopeless:
    """Test whether a rank of a collective has gone, and its bytes have not come for some time since."""

    def __init__(self, gone: dict, ranks: list):
        self._all, self._ranks, self._since, self.gone = gone, ranks, 0.0, []

    def __call__(self) -> bool:
        if not self._all:
            return False
        self.gone = [r for r in list(self._all) if r in self._ranks]        # the first one first
        if self.gone and not self._since:
            self._since = time.monotonic()
        return bool(self.gone) and time.monotonic() - self._since > _GRACE


@functools.lru_cache(1024)
def _mark(note: str) -> tuple[int, int]:
    """Return a fingerprint of a note, and its complement."""
    number = int.from_bytes(hashlib.blake2b(note.encode(), digest_size=8).digest(), "little")
    return number, number ^ 0xFFFF_FFFF_FFFF_FFFF


def _memory(a: np.ndarray) -> np.ndarray:
    """Return an array's elements, row by row, in memory that MPI takes."""
    return a if a.dtype.isbuiltin == 1 and a.flags.c_contiguous else flat_bytes(a)


def _sizes(arrays) -> list:
    """Return the bytes of each of a list of arrays, or of each row of an array."""
    return [arrays.nbytes // len(arrays)] * len(arrays) if isinstance(arrays, np.ndarray) else [a.nbytes for a in arrays]


def _shares(a: np.ndarray, n: int) -> list:
    """Return contiguous memory in n parts that differ by one element at most."""
    flat, size = a.reshape(-1), a.size
    return [flat[r * size // n:(r + 1) * size // n] for r in range(n)]


def _starts(sizes: list) -> list:
    return [0, *itertools.accumulate(sizes[:-1])]


def _settle(out: np.ndarray, body: np.ndarray):
    """Write received bytes, unless they have arrived where they belong."""
    if body.size != out.nbytes or body.__array_interface__["data"] != out.__array_interface__["data"]:
        out[...] = as_array(body, out)


def _consecutive(arrays) -> np.ndarray | None:
    """Return arrays that lie one after the other in memory as the bytes of all, or None."""
    if isinstance(arrays, np.ndarray):
        return arrays.reshape(-1).view(np.uint8) if arrays.flags.c_contiguous else None
    at, first, total = 0, None, sum(_sizes(arrays))
    for a in arrays:
        address = a.__array_interface__["data"][0]
        if not a.flags.c_contiguous or (a.size and first is not None and address != at):
            return None
        if a.size:
            first, at = a if first is None else first, address + a.nbytes
    if first is None:
        return np.empty(0, np.uint8)
    return np.lib.stride_tricks.as_strided(first.reshape(-1).view(np.uint8), (total,), (1,))
