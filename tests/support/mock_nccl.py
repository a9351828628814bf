"""An NCCL library in Python, beside the mock CUDA driver: ranks are processes, which exchange by files of one folder.

    with mock_cuda.installed() as cuda, mock_nccl.installed(cuda, folder) as nccl: ...

A collective is two pieces of work in its stream. The first publishes this rank's values once all work before has run. It does
so at once, so other ranks do not wait for this program. The second takes in the others' values as late as it may. It waits
until they are there or the communicator is aborted. Calls answer "in progress" until they were asked often enough.
Faults: `fail` gives all communicators an asynchronous error, `at_capture` is called when a call is captured. A rank that
never comes makes no call.
"""

import contextlib
import ctypes
import itertools
import os
import secrets
import time
from collections import deque

import ml_dtypes
import numpy as np

import mock_cuda_triton
from ingot.runtime.distributed.engines import nccl_library
from mock_cuda_rules import Violation
from mock_cuda_streams import put_into

OK, INVALID_ARGUMENT, INVALID_USAGE, REMOTE, IN_PROGRESS = 0, 4, 5, 6, 7
_WORDS = {0: b"no error", 1: b"unhandled cuda error", INVALID_ARGUMENT: b"invalid argument", INVALID_USAGE: b"invalid usage",
          REMOTE: b"remote process exited or there was a network error", IN_PROGRESS: b"operation in progress"}
_TYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64, ml_dtypes.bfloat16,
          ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
_REDUCE = [np.add, np.multiply, np.maximum, np.minimum]
_POLLS = 2              # answers "in progress" before a call is done
_PAUSE = 0.0003


def _check_memory(calls):
    """Hold the rule of NCCL: a call works in place, or its memory is apart from that of all calls of its group."""
    for i, (comm, *_, (_, received)) in enumerate(calls):
        for j, (*_, (sent, _)) in enumerate(calls):
            short, long = sorted((sent, received), key=lambda memory: memory[1])
            is_in_place = i == j and short[0] == long[0] + (comm.rank * short[1] if short[1] < long[1] else 0)
            if sent[0] < sum(received) and received[0] < sum(sent) and not is_in_place:
                raise Violation(f"a call receives {received[1]} bytes where {sent[1]} bytes are sent")


class Comm:
    """A communicator of one rank: its folder, and numbers of what it has done."""

    def __init__(self, folder, rank, size, device):
        self.folder, self.rank, self.size, self.device = folder, rank, size, device
        self.aborted = self.finalized = False
        self.busy, self.calls, self.splits = _POLLS, 0, 0
        self.waits = deque()                    # functions that return whether something in the background is done
        self.pairs = {}                         # how many messages were sent (to) or received (from)
        self.factors = {}                       # reductions made by ncclRedOpCreatePreMulSum
        os.makedirs(folder, exist_ok=True)


class MockNCCL:
    """Every function of the library that ingot calls."""

    version = 22703

    def __init__(self, cuda, folder):
        self.cuda, self.folder = cuda, str(folder)
        self.numbers, self.comms = itertools.count(0x7000, 0x10), {}
        self.failing, self.group, self.depth = 0, [], 0
        self.calls, self.aborts = [], 0
        self.at_capture = None                  # called once with a capture, instead of a call in it; gives its code or None
        self._put, cuda.put = cuda.put, self._put_and_publish

    def fail(self, code=REMOTE):
        """Give all communicators an asynchronous error."""
        self.failing = code

    def comm(self, handle) -> Comm:
        handle = getattr(handle, "value", handle)
        if handle not in self.comms:
            raise Violation(f"{handle} is no communicator, or was freed")
        return self.comms[handle]

    # Texts and communicators.

    def ncclGetVersion(self, out):
        put_into(out, self.version)
        return OK

    def ncclGetErrorString(self, code):
        return _WORDS.get(code, b"unknown error")

    def ncclGetLastError(self, comm):
        return b"the mock has no more to say"

    def ncclGetUniqueId(self, out):
        raw = b"\0\xff" + secrets.token_hex(8).encode()
        ctypes.memmove(out._obj.bytes, raw.ljust(128, b"\0"), 128)
        return OK

    def ncclCommInitRankConfig(self, out, size, name, rank, config):
        if not self._fits(config._obj) or not 0 <= rank < size or self.cuda.thread.device is None:
            return INVALID_ARGUMENT
        said = bytes(name.bytes)
        if said[:2] != b"\0\xff":
            return INVALID_ARGUMENT
        return self._join(out, os.path.join(self.folder, said[2:18].decode()), rank, size)

    @staticmethod
    def _fits(config):
        return config.magic == 0xCAFEBEEF and config.version >= 21400 and config.size >= 24 and config.blocking == 0

    def _join(self, out, folder, rank, size):
        comm = Comm(folder, rank, size, self.cuda.thread.device)
        self._write(comm, f"join.{rank}", b"")
        comm.waits.append(lambda: all(os.path.exists(os.path.join(folder, f"join.{r}")) for r in range(size)))
        handle = next(self.numbers)
        self.comms[handle] = comm
        put_into(out, handle)
        return IN_PROGRESS

    def ncclCommSplit(self, parent, color, key, out, config):
        comm = self.comm(parent)
        if not self._fits(config._obj) or self._is_busy(comm):
            return INVALID_USAGE
        number, comm.splits = comm.splits, comm.splits + 1
        self._write(comm, f"split{number}.{comm.rank}", np.array([color, key], np.int64).tobytes())
        names = [f"split{number}.{r}" for r in range(comm.size)]

        def arrived():
            if not all(self._is_there(comm, name) for name in names):
                return False
            pairs = [tuple(np.frombuffer(self._read(comm, name), np.int64)) for name in names]
            mine = sorted((k, r) for r, (c, k) in enumerate(pairs) if c == color)
            if color >= 0:
                self._join(out, os.path.join(comm.folder, f"part{number}.{color}"),
                           mine.index((key, comm.rank)), len(mine))
            return True

        comm.waits.append(arrived)
        return IN_PROGRESS

    def ncclCommGetAsyncError(self, handle, out):
        comm = self.comm(handle)
        put_into(out, self.failing or (IN_PROGRESS if self._is_busy(comm) else OK))
        return OK

    def _is_busy(self, comm) -> bool:
        while comm.waits and comm.waits[0]():
            comm.waits.popleft()
        comm.busy -= comm.busy > 0
        return bool(comm.waits) or comm.busy > 0

    def ncclCommFinalize(self, handle):
        self.comm(handle).finalized, self.comm(handle).busy = True, _POLLS
        return IN_PROGRESS

    def ncclCommDestroy(self, handle):
        if not self.comm(handle).finalized:
            raise Violation("a communicator is destroyed before its work is flushed")
        works = [work for entries in self.cuda.graphs.values() for _, work, _ in entries]
        if any(getattr(work, "comm", None) is self.comm(handle) for work in works):
            raise Violation("a communicator is destroyed while a graph has its work, which waits forever")
        del self.comms[getattr(handle, "value", handle)]
        return OK

    def ncclCommAbort(self, handle):
        self.comm(handle).aborted = True
        self.aborts += 1
        del self.comms[getattr(handle, "value", handle)]
        return OK

    def ncclRedOpCreatePreMulSum(self, out, factor, kind, residence, handle):
        comm, dtype = self.comm(handle), np.dtype(_TYPES[kind])
        if residence != 1:
            return INVALID_ARGUMENT
        number = 100 + len(comm.factors)
        comm.factors[number] = np.frombuffer(ctypes.string_at(factor, dtype.itemsize), dtype)[0]
        put_into(out, number)
        return OK

    def ncclRedOpDestroy(self, op, handle):
        del self.comm(handle).factors[op]
        return OK

    # Calls that enter streams.

    def ncclGroupStart(self):
        self.depth += 1
        return OK

    def ncclGroupEnd(self):
        if not self.depth:
            return INVALID_USAGE
        self.depth -= 1
        if self.depth:
            return OK
        ready, self.group = self.group, []
        _check_memory(ready)
        for comm, stream, publish, *_ in ready:
            comm.busy = _POLLS
            self.cuda.put(stream, publish)
        for _, stream, _, receive, _ in ready:
            self.cuda.put(stream, receive)
        return IN_PROGRESS if ready else OK

    def _launch(self, name, handle, stream, publish, receive, sends=(0, 0), receives=(0, 0)):
        """Enter the two pieces of work of a call. `publish` returns a number, which `receive` gets at the same run. `sends` and
        `receives` are (address, bytes)."""
        comm = self.comm(handle)
        if self._is_busy(comm) and not self.group:
            return INVALID_USAGE
        if self.cuda.thread.device != comm.device:
            return INVALID_ARGUMENT
        self.calls.append(name)
        capture = self.cuda.stream(stream).captured
        if self.at_capture is not None and capture is not None:
            fault, self.at_capture = self.at_capture, None
            code = fault(capture)
            if code is not None:
                return code
        numbers = deque()

        def first():
            if not comm.aborted:
                numbers.append(publish(comm))

        def second():
            if not comm.aborted:
                receive(comm, numbers.popleft())

        first.publishes, first.comm = True, comm
        self.ncclGroupStart()
        self.group.append((comm, stream, first, second, (sends, receives)))
        return self.ncclGroupEnd()

    def _put_and_publish(self, stream, work):
        """Enter work; what publishes values runs as soon as its stream lets it."""
        code = self._put(stream, work)
        queue = self.cuda.stream(stream)
        while getattr(work, "publishes", False) and any(w is work for w in queue.queue):
            if not self.cuda.run_one(queue):
                others = [s for s in self.cuda.queues() if s is not queue]
                if not any([self.cuda.run_one(s) for s in others]):  # noqa: C419
                    raise Violation("a stream waits forever")
        return code

    def _collective(self, name, send, sent, recv, received, how, handle, stream):
        """Publish `sent` bytes, and write `how(comm, the bytes of each rank)` to `received` bytes (None: this rank gets
        nothing)."""
        def publish(comm):
            number, comm.calls = comm.calls, comm.calls + 1
            said = name.encode().ljust(64) + (bytes(self.cuda.seen(send, sent, name)) if send else b"")
            self._write(comm, f"{number}.{comm.rank}", said)
            return number

        def receive(comm, number):
            every = [self._awaited(comm, f"{number}.{r}") for r in range(comm.size)]
            if None in every:
                return
            wrong = {e[:64].strip() for e in every} - {name.encode()}
            if wrong:
                raise Violation(f"rank {comm.rank} is in {name}, and others in {wrong}")
            found = how(comm, [e[64:] for e in every])
            if found is not None and received(comm):
                self.cuda.seen(recv, received(comm), name)[...] = np.frombuffer(found, np.uint8)

        comm = self.comm(handle)
        sends, receives = (send or 0, sent if send else 0), (recv or 0, received(comm))
        return self._launch(name, handle, stream, publish, receive, sends, receives)

    def _combined(self, op, kind, handle):
        """The combination of each rank's bytes by a reduction."""
        dtype = np.dtype(_TYPES[kind])
        wide = np.float32 if dtype.itemsize < 4 and dtype.kind not in "iub" else dtype
        factor = self.comm(handle).factors.get(op)
        if op >= len(_REDUCE) and factor is None:
            raise Violation(f"{op} is no reduction of this communicator")

        def combine(every):
            parts = [np.frombuffer(e, dtype).astype(wide) for e in every]
            if factor is not None:
                parts = [p * np.asarray(factor, wide) for p in parts]
            total = parts[0]
            for p in parts[1:]:
                total = (np.add if factor is not None else _REDUCE[op])(total, p)
            return total.astype(dtype).tobytes()

        return combine

    def ncclAllReduce(self, send, recv, count, kind, op, handle, stream):
        size, combine = count * np.dtype(_TYPES[kind]).itemsize, self._combined(op, kind, handle)
        return self._collective("AllReduce", send, size, recv, lambda comm: size, lambda comm, every: combine(every), handle,
                                stream)

    def ncclReduce(self, send, recv, count, kind, op, root, handle, stream):
        size, combine = count * np.dtype(_TYPES[kind]).itemsize, self._combined(op, kind, handle)
        return self._collective("Reduce", send, size, recv, lambda comm: size if comm.rank == root else 0,
                                lambda comm, every: combine(every), handle, stream)

    def ncclBroadcast(self, send, recv, count, kind, root, handle, stream):
        size = count * np.dtype(_TYPES[kind]).itemsize
        mine = self.comm(handle).rank == root
        return self._collective("Broadcast", send if mine else 0, size, recv, lambda comm: size,
                                lambda comm, every: every[root], handle, stream)

    def ncclAllGather(self, send, recv, count, kind, handle, stream):
        size = count * np.dtype(_TYPES[kind]).itemsize
        return self._collective("AllGather", send, size, recv, lambda comm: size * comm.size,
                                lambda comm, every: b"".join(every), handle, stream)

    def ncclReduceScatter(self, send, recv, count, kind, op, handle, stream):
        size, combine = count * np.dtype(_TYPES[kind]).itemsize, self._combined(op, kind, handle)
        n = self.comm(handle).size
        return self._collective("ReduceScatter", send, size * n, recv, lambda comm: size, lambda comm, every: combine(
            [e[size * comm.rank:size * (comm.rank + 1)] for e in every]), handle, stream)

    def ncclSend(self, send, count, kind, peer, handle, stream):
        size = count * np.dtype(_TYPES[kind]).itemsize

        def publish(comm):
            number = comm.pairs["to", peer] = comm.pairs.get(("to", peer), -1) + 1
            self._write(comm, f"{comm.rank}to{peer}.{number}", bytes(self.cuda.seen(send, size, "Send")))
            return number

        return self._launch("Send", handle, stream, publish, lambda comm, number: None, sends=(send, size))

    def ncclRecv(self, recv, count, kind, peer, handle, stream):
        size = count * np.dtype(_TYPES[kind]).itemsize

        def number_of(comm):
            number = comm.pairs["from", peer] = comm.pairs.get(("from", peer), -1) + 1
            return number

        def receive(comm, number):
            found = self._awaited(comm, f"{peer}to{comm.rank}.{number}")
            if found is not None:
                if len(found) != size:
                    raise Violation(f"{len(found)} bytes were sent where {size} are received")
                self.cuda.seen(recv, size, "Recv")[...] = np.frombuffer(found, np.uint8)

        return self._launch("Recv", handle, stream, number_of, receive, receives=(recv, size))

    # Files.

    @staticmethod
    def _write(comm, name, said: bytes):
        path = os.path.join(comm.folder, name)
        with open(path + ".part", "wb") as f:
            f.write(said)
        os.rename(path + ".part", path)

    @staticmethod
    def _is_there(comm, name) -> bool:
        return os.path.exists(os.path.join(comm.folder, name))

    @staticmethod
    def _read(comm, name) -> bytes:
        with open(os.path.join(comm.folder, name), "rb") as f:
            return f.read()

    def _awaited(self, comm, name):
        """The bytes of a file once it is there; None if the communicator is aborted."""
        while not self._is_there(comm, name):
            if comm.aborted:
                return None
            time.sleep(_PAUSE)
        return self._read(comm, name)


@contextlib.contextmanager
def installed(cuda, folder):
    """The runtime on a mock NCCL library, whose ranks meet in a folder."""
    mock = MockNCCL(cuda, folder)
    before = nccl_library.replace(mock)
    try:
        yield mock
    finally:
        nccl_library.restore(before)
        del cuda.put


mock_cuda_triton.as_library(globals())
