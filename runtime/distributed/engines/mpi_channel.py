"""Collectives of a group by those of MPI, on the memory of arrays.

Before each one the ranks compare what they are about to do. So ranks that disagree get an error, and no call of MPI meets
another one. They compare by recursive doubling: in each round two ranks exchange messages, and after the last one each has
heard of all others. Where their number is no power of two, some ranks tell the one before them first, and are told last. The
tag of a message is a fingerprint of what its sender does. So a message may carry a small array as well.
"""

import functools
import hashlib
import itertools
import time
from typing import Any

import numpy as np

from ...core.device_array import address_of
from ...cpu.memory import alloc
from ..stores.distributed_errors import DistBackendError, DistTimeoutError
from ..stores.store import seconds
from .engine import Channel, as_array, disagreement, flat_bytes
from .mpi_progress import LostRanksError
from .reduce_op import ReduceOp, combine, combine_two, is_narrow

_NOTE_BYTES = 512           # bytes of a note that other ranks are told where they disagree
_WHOLE_BYTES = 1 << 13      # up to here every rank gets all arrays, where MPI cannot combine them
_REDUCED_BYTES = 1 << 23    # bytes that are combined at once, which then are in caches
_DOUBLED_BYTES = 1 << 15    # up to here times the number of ranks, messages that compare carry arrays to be combined,
_MOST_DOUBLED = 1 << 17     # and never more
_GATHERED_BYTES = 1 << 20   # up to here they carry arrays that are gathered, together
_SHORT_BYTES = 1 << 12      # up to here buffers need no alignment
_AGREED, _DIFFERENT, _FIRST_TAG = range(3)      # tags of ranks that have compared, of those that differ, and of others
_NOTHING = np.empty(0, np.uint8)
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

    goes_on = True

    def __init__(self, engine: Any, group: Any, comm: Any):
        super().__init__(engine, group)
        self.comm, self.MPI, self.broken = comm, engine.MPI, ""
        n, here = group.size(), group.rank()
        self._is_power, self._partners = n & (n - 1) == 0, _partners(n, here)
        self._is_beyond = self._partners[0][1] is None
        self._last = next(source for _, source in reversed(self._partners) if source is not None)
        self._doubled_bytes = min(_DOUBLED_BYTES * n, _MOST_DOUBLED)
        self._scratch: np.ndarray | None = None
        self._native = functools.cache(self._native_type)
        self._tags = self.MPI.COMM_WORLD.Get_attr(self.MPI.TAG_UB) - _FIRST_TAG

    def close(self):
        """Free the communicator, unless a collective never ended on it."""
        ended = not self.broken and not self.engine.revoked and not self.engine.interrupt
        if ended and self.comm is not None:
            with self.engine.progress.lock:
                self.comm.Free()
            self.comm = None

    # Calls.

    def _call(self, note: str, function, *args) -> Any:
        """Return the result of a function that calls MPI; raise an error that names the ranks which are lost."""
        try:
            return function(*args)
        except LostRanksError as e:
            raise self._lost(note, self.engine.lost_ranks(self.group), e) from e

    def _start(self, note: str, call, *args) -> Any:
        return self._call(note, self.engine.progress.call, call, *args)

    def _do(self, note: str, call, *args):
        """Start one request, or a list of them, and wait."""
        try:
            left = self._call(note, self.engine.progress.begun, call, *args)
            if left:
                self._finish(left, note)
        except BaseException:
            self.engine.abandoned.append(args)      # memory where MPI may still write
            raise

    def _finish(self, requests: list, note: str, busy: float = _MOVES, mismatch: Any = None) -> bool:
        """Wait for requests; raise an error that names the ranks which keep them from their end. Return False if a mismatch is
        found before that."""
        engine, limit = self.engine, seconds(self.group.timeout)
        try:
            hopeless = _Hopeless(engine.inbox.gone, [r for r in self.group.ranks if r != engine.rank], mismatch)
            if engine.progress.wait(requests, time.monotonic() + limit, busy, hopeless):
                return True
            if mismatch is not None and mismatch.found:
                return False
        except LostRanksError as e:
            raise self._lost(note, engine.lost_ranks(self.group), e) from e
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

    # Agreement.

    def _begin(self, note: str) -> int:
        """Begin a collective; return the tag of its messages."""
        engine, group = self.engine, self.group
        if self.broken:
            raise DistBackendError(f"the group {group.group_name!r} cannot communicate any more: {self.broken}{engine.way_out}")
        engine.collectives[group.number] += 1
        return _FIRST_TAG + _fingerprint(note) % self._tags

    def _round(self, note: str, tag: int, partners: tuple, mine=_NOTHING, theirs=_NOTHING, meanwhile=None) -> int:
        """Send contiguous memory to a receiver, and fill memory by that of a sender, where there are these. Return the tag, or
        `_DIFFERENT` if the sender has another one: then it may have sent any number of bytes. `meanwhile` is called while bytes
        move."""
        to, source = partners
        try:
            left = self._call(note, self.engine.progress.begun, self._post, tag, to, source, mine, theirs, meanwhile)
            if not left:
                return tag
            if tag == _DIFFERENT or source is None:
                self._finish(left, note)
                return tag
            if self._finish(left, note, _WAITS, _Mismatch(self, source, tag)):
                return tag
            cancelled, sending = self._start(note, _Cancelled, self.MPI, left[0]), left[1:]
            self._finish([cancelled], note)
            if cancelled.status.Is_cancelled():
                self._finish([*sending, _AnyMessage(self, source)], note)
                return _DIFFERENT
            if sending:
                self._finish(sending, note)
            return tag
        except BaseException:
            self.engine.abandoned.append((mine, theirs))        # where MPI may still read and write
            raise

    def _post(self, tag, to, source, mine, theirs, meanwhile) -> list:
        comm, kind, differs = self.comm, self.MPI.BYTE, tag == _DIFFERENT
        requests = [] if source is None or differs else [comm.Irecv([theirs, kind], source, tag)]
        if to is not None:
            requests.append(comm.Isend([_NOTHING if differs else mine, kind], to, tag))
        if source is not None and differs:
            requests.append(_AnyMessage(self, source))
        if meanwhile is not None:
            meanwhile()
        return requests

    def _agree(self, note: str):
        """Return once all ranks are about to do the same; raise an error that names one which is not."""
        self._compare(note, self._begin(note))

    def _compare(self, note: str, tag: int):
        """Let the ranks compare their tags, unless they have done so."""
        if tag != _AGREED:
            for partners in self._partners:
                tag = self._round(note, tag, partners)
            self._check(note, tag)

    def _check(self, note: str, tag: int):
        """Raise an error that names a rank which does something else, if a rank does. All ranks know of it after the rounds."""
        if tag != _DIFFERENT:
            return
        n, here = self.group.size(), self.group.rank()
        mine, every = np.zeros(_NOTE_BYTES, np.uint8), np.zeros((n, _NOTE_BYTES), np.uint8)
        text = note.encode()[:_NOTE_BYTES]
        mine[:len(text)] = np.frombuffer(text, np.uint8)
        told = [every, _NOTE_BYTES, self.MPI.BYTE]
        self._do(note, self.comm.Iallgather, [mine, self.MPI.BYTE], told)
        theirs = [bytes(e).rstrip(b"\0").decode(errors="ignore") for e in every]
        other = next((r for r, said in enumerate(theirs) if said != theirs[here]), (here + 1) % n)
        raise disagreement(self.group.ranks[other], theirs[other], self.engine.rank, note)

    # Memory.

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
        found: dict = {}
        try:
            requests = []
            for r in sources:
                given = None if into is None else flat_bytes(into[r])
                found[r] = given if given is not None and given.size == sizes[1, r] else np.empty(sizes[1, r], np.uint8)
                requests += [self._start(note, self.comm.Irecv, [p, MPI.BYTE], r, 0) for p in self.engine.pieces(found[r])]
            for r, body in going.items():
                requests += [self._start(note, self.comm.Isend, [p, MPI.BYTE], r, 0) for p in self.engine.pieces(body)]
            if requests:
                self._finish(requests, note)
        except BaseException:
            self.engine.abandoned.append((found, going))
            raise
        return found

    def _exchange(self, note: str, tag: int, mine: np.ndarray, theirs: np.ndarray, own: np.ndarray | None = None):
        """Send an array to the only other rank, and receive one from it. `own` gets a copy meanwhile. MPICH's all-gather takes
        1.4 to 2 times as long for two ranks."""
        into = theirs if theirs.flags.c_contiguous else self.empty(theirs.shape, theirs.dtype)
        copy = None
        if own is not None and not np.may_share_memory(mine, own):
            copy = functools.partial(np.copyto, own, mine.reshape(own.shape))
        self._check(note, self._round(note, tag, self._partners[0], _memory(mine), _memory(into), copy))
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
        tag = self._begin(note)
        outs = [np.empty(a.shape, a.dtype) for _ in range(self.group.size())] if outs is None else outs
        self._gather(a, outs, note, tag)
        return outs

    def _gather(self, a, outs, note: str, tag: int = _AGREED):
        """Gather every rank's array. The own one may be `outs[rank]` itself."""
        here, sizes, MPI = self.group.rank(), _sizes(outs), self.MPI
        total, is_even = sum(sizes), sizes.count(sizes[0]) == len(sizes)
        fits = self._fits(total)
        if len(sizes) == 2 and fits:
            self._exchange(note, tag, a, outs[1 - here], outs[here])
            return
        by_doubling = self._is_power and is_even and fits and total <= _GATHERED_BYTES
        if not by_doubling:
            self._compare(note, tag)
        if not fits:
            away = [r for r in range(len(outs)) if r != here]
            found = self._swap(note, dict.fromkeys(away, a), away, outs)
            for r, out in enumerate(outs):
                _settle(out, flat_bytes(a) if r == here else found[r], self.group.ranks[r])
            return
        flat = _consecutive(outs)
        target = self.empty((total,), np.uint8) if flat is None else flat
        if by_doubling:
            self._gather_by_doubling(a, target.reshape(len(outs), sizes[0]), note, tag)
        else:
            mine = MPI.IN_PLACE if flat is not None and np.may_share_memory(a, outs[here]) else [flat_bytes(a), MPI.BYTE]
            if is_even:
                self._do(note, self.comm.Iallgather, mine, [target, sizes[0], MPI.BYTE])
            else:
                self._do(note, self.comm.Iallgatherv, mine, [target, sizes, _starts(sizes), MPI.BYTE])
        if flat is None:
            for out, body in zip(outs, np.split(target, _starts(sizes)[1:])):
                out[...] = body.view(out.dtype).reshape(out.shape)

    def _gather_by_doubling(self, a, rows: np.ndarray, note: str, tag: int):
        """Gather every rank's array as the bytes of a row. Each round doubles the rows that a rank has."""
        here, count = self.group.rank(), 1
        rows[here] = flat_bytes(a)
        for partners in self._partners:
            mine, theirs = here & -count, partners[0] & -count
            tag = self._round(note, tag, partners, rows[mine:mine + count], rows[theirs:theirs + count])
            count *= 2
        self._check(note, tag)

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
            _settle(outs[r], flat_bytes(pieces[here]) if r == here else found[r], self.group.ranks[r])

    def all_reduce(self, a: np.ndarray, op, note: str, out: np.ndarray | None = None) -> np.ndarray:
        """Return the combination of every rank's array, on every rank."""
        out = np.empty(a.shape, a.dtype) if out is None else out
        tag = self._begin(note)
        if self._may_double(a.nbytes, a.dtype):
            self._reduce_by_doubling(a, op, note, out, tag)
            return out
        native = self._native(op, a.dtype.kind, a.dtype.itemsize)
        if native is None:
            self._reduce_in_order(a, op, note, out, tag)
            return out
        self._compare(note, tag)
        if a is not out and (not a.flags.c_contiguous or a.ctypes.data != out.ctypes.data):
            np.copyto(out, a)
        for piece in self.engine.pieces(out, _REDUCED_BYTES):
            self._do(note, self.comm.Iallreduce, self.MPI.IN_PLACE, [piece, native[0]], native[1])
        if op is ReduceOp.AVG:
            np.divide(out, out.dtype.type(self.group.size()), out=out)
        return out

    def _may_double(self, size: int, dtype) -> bool:
        """Return whether messages that compare may carry an array: a small one, which no more roundings make less exact."""
        return size <= self._doubled_bytes and self._fits(size) and not is_narrow(dtype)

    def _reduce_by_doubling(self, a, op, note: str, out: np.ndarray, tag: int):
        """Combine arrays. In each round two ranks combine the same two arrays, in the order of ranks."""
        here, (total, theirs) = self.group.rank(), self._buffers(a)
        np.copyto(total, a)
        for partners in self._partners:
            tag, source = self._round(note, tag, partners, total, out if self._is_beyond else theirs), partners[1]
            if source is not None and tag != _DIFFERENT and not self._is_beyond:
                into = out if source == self._last else total
                combine_two(op, *(total, theirs) if here < source else (theirs, total), into)
                total = into
        self._check(note, tag)
        if op is ReduceOp.AVG:
            np.divide(out, out.dtype.type(self.group.size()), out=out)

    def _native_type(self, op, kind: str, itemsize: int) -> tuple | None:
        """Return MPI's type and operation for a kind of numbers, if its reductions give the same bits on all ranks."""
        name = _TYPES.get(f"{kind}{itemsize}")
        ops = _KINDS.get(kind, ())              # no minimum of floats, which loses nan in MPI, and no sum of truth values
        if kind in "iu" and itemsize >= 4:
            ops = (*ops, *_SUMS)                # Open MPI does not wrap sums of smaller integers around
        return (getattr(self.MPI, name), getattr(self.MPI, _NAMES[op])) if name and op in ops else None

    def _reduce_in_order(self, a, op, note: str, out: np.ndarray, tag: int):
        """Combine arrays in the order of ranks: each rank combines a share, and all gather the shares."""
        n, here = self.group.size(), self.group.rank()
        if a.nbytes <= _WHOLE_BYTES:
            rows = np.empty((n, a.size), a.dtype)
            self._gather(a, rows, note, tag)
            combine(op, rows, out.reshape(-1))
            return
        self._compare(note, tag)
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
        tag, sizes, n = self._begin(note), _sizes(pieces), self.group.size()
        if n > 2 and self._is_power and sizes.count(sizes[0]) == n and self._may_double(sum(sizes), mine.dtype):
            rows = self._joined(pieces).view(mine.dtype).reshape(n, mine.size)
            self._scatter_by_halving(rows, op, note, out.reshape(-1), tag)
        else:
            combine(op, self._collected(pieces, mine, note, tag), out)
        return out

    def _buffers(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays like another one. Longer ones start on a cache line: another core reads those in half the time."""
        if a.nbytes < _SHORT_BYTES:
            return np.empty(a.shape, a.dtype), np.empty(a.shape, a.dtype)
        if self._scratch is None:
            self._scratch = alloc.aligned_zeros((2, self._doubled_bytes), np.uint8)
        first, second = self._scratch
        return np.ndarray(a.shape, a.dtype, first), np.ndarray(a.shape, a.dtype, second)

    def _scatter_by_halving(self, rows: np.ndarray, op, note: str, out: np.ndarray, tag: int):
        """Write this rank's row, combined over all ranks. In each round two ranks share their rows and combine them."""
        here = self.group.rank()
        for step, (other, source) in enumerate(self._partners):
            halves = rows.reshape(len(rows) // 2, 2, out.size)
            mine, given = halves[:, here >> step & 1], halves[:, other >> step & 1]
            going, theirs = self._buffers(given)
            np.copyto(going, given)
            tag = self._round(note, tag, (other, source), going, theirs)
            rows = mine
            if tag != _DIFFERENT:
                rows = np.empty(mine.shape, mine.dtype) if len(mine) > 1 else out.reshape(mine.shape)
                combine_two(op, *(mine, theirs) if here < other else (theirs, mine), rows)
        self._check(note, tag)
        if op is ReduceOp.AVG:
            np.divide(out, out.dtype.type(self.group.size()), out=out)

    def _collected(self, pieces, like: np.ndarray, note: str, tag: int = _AGREED) -> Any:
        """Return every rank's piece for this one."""
        n, sizes, here = self.group.size(), _sizes(pieces), self.group.rank()
        fits = self._fits(n * max(sizes))
        if n == 2 and fits:
            theirs = self.empty(like.shape, like.dtype)
            self._exchange(note, tag, pieces[1 - here], theirs)
            return [theirs, pieces[here]] if here else [pieces[here], theirs]
        self._compare(note, tag)
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
    """Test whether a mismatch is found, or a rank of a collective has gone and its bytes have not come for some time since."""

    def __init__(self, gone: dict, ranks: list, mismatch):
        self._all, self._ranks, self._mismatch, self._since, self.gone = gone, ranks, mismatch, 0.0, []

    def __call__(self) -> bool:
        if self._mismatch is not None and self._mismatch():
            return True
        if not self._all:
            return False
        self.gone = [r for r in list(self._all) if r in self._ranks]        # the first one first
        if self.gone and not self._since:
            self._since = time.monotonic()
        return bool(self.gone) and time.monotonic() - self._since > _GRACE


class _Mismatch:
    """Test whether a rank has sent a message with another tag than the one that is received."""

    def __init__(self, channel: MPIChannel, source: int, tag: int):
        MPI, self.found = channel.MPI, False
        self._status, self._tag = MPI.Status(), tag
        self._look = functools.partial(channel.engine.progress.call, channel.comm.Iprobe, source, MPI.ANY_TAG, self._status)

    def __call__(self) -> bool:
        self.found = self._look() and self._status.tag != self._tag
        return self.found


class _Cancelled:
    """Request to receive a message that is cancelled. If the message has been there before, the request ends as any other."""

    def __init__(self, MPI: Any, request: Any):
        self.status, self._request = MPI.Status(), request
        request.Cancel()

    def Test(self) -> bool:
        """Return whether the request has ended."""
        return self._request.Test(self.status)


class _AnyMessage:
    """Request to receive the next message of a rank, whatever it is. It makes progress when it is tested itself, so it stands
    last in a list."""

    def __init__(self, channel: MPIChannel, source: int):
        self._comm, self._MPI, self._source = channel.comm, channel.MPI, source
        self._request: Any = None

    def Test(self) -> bool:
        """Return whether the message has arrived."""
        if self._request is None:
            status = self._MPI.Status()
            message = self._comm.Improbe(self._source, self._MPI.ANY_TAG, status)
            if message is None:
                return False
            memory = np.empty(status.Get_count(self._MPI.BYTE), np.uint8)
            self._request = message.Irecv([memory, self._MPI.BYTE])
        return self._request.Test()


@functools.lru_cache(1024)
def _fingerprint(note: str) -> int:
    return int.from_bytes(hashlib.blake2b(note.encode(), digest_size=8).digest(), "little")


def _partners(n: int, here: int) -> list:
    """Return the receiver and the sender, or None, of each round of recursive doubling. Neighbours are combined first, so the
    order is that of ranks."""
    steps = n.bit_length() - 1
    beyond = n - (1 << steps)           # so many ranks, each the second of a pair, tell the first one, and are told by it
    if here < 2 * beyond and here % 2:
        return [(here - 1, None), (None, here - 1)]
    place = here // 2 if here < 2 * beyond else here - beyond
    others = [place ^ 1 << i for i in range(steps)]
    rounds: list = [(r, r) for r in [2 * p if p < beyond else p + beyond for p in others]]
    return [(None, here + 1), *rounds, (here + 1, None)] if here < 2 * beyond else rounds


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


def _settle(out: np.ndarray, body: np.ndarray, sender: int):
    """Write received bytes, unless they have arrived where they belong."""
    if body.size != out.nbytes or address_of(body) != address_of(out):
        out[...] = as_array(body, out, sender)


def _consecutive(arrays) -> np.ndarray | None:
    """Return arrays that lie one after the other in memory as the bytes of all, or None."""
    if isinstance(arrays, np.ndarray):
        return arrays.reshape(-1).view(np.uint8) if arrays.flags.c_contiguous else None
    at, first, total = 0, None, sum(_sizes(arrays))
    for a in arrays:
        address = address_of(a)
        if not a.flags.c_contiguous or (a.size and first is not None and address != at):
            return None
        if a.size:
            first, at = a if first is None else first, address + a.nbytes
    if first is None:
        return np.empty(0, np.uint8)
    return np.lib.stride_tricks.as_strided(first.reshape(-1).view(np.uint8), (total,), (1,))
