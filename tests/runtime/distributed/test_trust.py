"""Trust between processes: a run admits who knows its secret, keeps its files private, and runs nothing that it receives."""

import contextlib
import gc
import os
import random
import resource
import socket
import stat
import threading
import time
import tracemalloc

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
import ranks
from ingot import distributed as dist
from ingot.ir.errors import FileError
from ingot.runtime.distributed.engines.engine import Run
from ingot.runtime.distributed.engines.tcp_engine import TCPEngine
from ingot.runtime.distributed.stores import handshake, local_store, socket_messages


@pytest.fixture
def secret(monkeypatch):
    """Return a function that sets the secret of this process's environment."""
    def put(text):
        if text is None:
            monkeypatch.delenv(handshake.SECRET, raising=False)
        else:
            monkeypatch.setenv(handshake.SECRET, text)

    put(None)
    return put


def open_store(host="127.0.0.1", port=0, is_master=True):
    return dist.TCPStore(host, port, None, is_master, timeout=3)


# The store.


@pytest.mark.parametrize("theirs", [None, "", "other", "right ", "Right"])
def test_a_store_turns_away_who_does_not_know_its_secret(secret, theirs):
    secret("right")
    server = open_store()
    server.set("k", "v")
    secret(theirs)
    with pytest.raises(dist.DistError, match=r"another secret.*INGOT_RUN_SECRET"):
        open_store(port=server.port, is_master=False)
    secret("right")
    assert open_store(port=server.port, is_master=False).get("k") == b"v"


def test_a_store_that_is_dropped_leaves_those_of_others_alone():
    kept = open_store()
    client = open_store(port=kept.port, is_master=False)
    for _ in range(20):
        open_store()            # and gone
        gc.collect()
        client.set("k", "v")
        assert kept.get("k") == b"v"


def test_a_client_does_not_trust_a_store_without_the_secret(secret):
    server = open_store()
    secret("right")
    with pytest.raises(dist.DistError, match="another secret"):
        open_store(port=server.port, is_master=False)


@pytest.mark.parametrize("is_master", [True, False])
@pytest.mark.parametrize("host", ["0.0.0.0", "10.1.2.3", "node-7", ""])
def test_a_store_that_other_machines_reach_needs_a_secret(secret, host, is_master):
    """A rank is told before it waits for an answer, which will not come from a keeper without a secret."""
    begin = time.monotonic()
    with pytest.raises(dist.DistStoreError, match=r"needs a secret. Set INGOT_RUN_SECRET.*pip install .mpi4py"):
        open_store(host, 9, is_master)
    assert time.monotonic() - begin < 1


def test_a_listener_that_says_nothing_is_named():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(dist.DistNetworkError, match=f"the store at {store} has not answered within 0.2 s"):
            dist.TCPStore("127.0.0.1", silent.getsockname()[1], None, False, timeout=0.2)


def test_a_store_listens_on_loopback_unless_told_otherwise(secret):
    secret("right")
    for host, bound in (("localhost", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0")):
        store = open_store(host)
        assert store._server.listener.getsockname()[0] == bound


STRANGERS = {
    "says nothing": lambda s: None,
    "hangs up": lambda s: s.close(),
    "says a little": lambda s: s.sendall(b"x"),
    "guesses": lambda s: s.sendall(os.urandom(64)),
    "sends back the challenge": lambda s: s.sendall(s.recv(32) * 2),
    "speaks without a proof": lambda s: s.sendall(b"\3\0\0\0" + b"\3\0\0\0put" + b"\1\0\0\0k" + b"\1\0\0\0w"),
    "sends without end": lambda s: s.sendall(bytes(1 << 20)),
}


@pytest.mark.parametrize("conduct", STRANGERS.values(), ids=[*STRANGERS])
def test_strangers_change_nothing_and_hold_up_nobody(secret, monkeypatch, conduct):
    monkeypatch.setattr(handshake, "PATIENCE", 0.3)
    secret("right")
    server = open_store()
    server.set("k", "v")
    strangers = []
    for _ in range(8):
        s = socket.create_connection(("127.0.0.1", server.port))
        with contextlib.suppress(OSError):
            conduct(s)
        strangers.append(s)
    begin = time.monotonic()
    assert open_store(port=server.port, is_master=False).get("k") == b"v"
    assert time.monotonic() - begin < 2
    time.sleep(0.5)
    assert server._server.strangers.count == 0          # all have left, or were shown out
    for s in strangers:
        s.close()


def _fuzzed(draw) -> bytes:
    """Return a request of a store with some faults: other bytes, wild counts and lengths, no end."""
    names = [b"put", b"get", b"wait", b"add", b"append", b"compare_set", b"delete", b"has", b"count", b"other"]
    fields = [draw.choice(names), *[draw.randbytes(draw.randrange(12)) for _ in range(draw.randrange(4))]]
    if draw.random() < 0.5:         # a limit of time that is none, or passes at once
        fields[1:] = [draw.choice([b"0", b"nan", b"-1", b"k"]), *fields[2:]]
    frame = bytearray(b"".join(socket_messages.packed_fields(fields)))
    for _ in range(draw.randrange(3)):
        at = draw.randrange(len(frame))
        frame[at:at + 4] = draw.choice([draw.randbytes(4), b"\xff" * 4, (1 << 26).to_bytes(4, "little"), b"\0\0\0\x40", b""])
    return bytes(frame[:draw.randrange(len(frame) + 1)] if draw.random() < 0.2 else frame)


def _memory_of(process: int, field: str) -> int:
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field))


def _keep(path, secret, end, begin):
    os.close(begin)         # so that this process ends with its parent, too
    os.environ[handshake.SECRET] = secret
    resource.setrlimit(resource.RLIMIT_AS, (_memory_of(os.getpid(), "VmSize") + (3 << 30),) * 2)     # claims cannot take more
    store = local_store.LocalStore(path, True)
    store.set("k", "v")
    os.read(end, 1)
    store.close()
    os._exit(0)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
@pytest.mark.parametrize("frames", [500, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_fuzzed_frames_take_no_memory_and_end_no_server(frames, secret):
    """Frames of a process that knows the secret; the others are shown out by their first 64 bytes."""
    secret("right")
    number, (end, begin) = 20_000 + os.getpid() % 10_000, os.pipe()
    child = os.fork()
    if not child:
        try:
            _keep(number, "right", end, begin)
        finally:
            os._exit(1)
    path = os.path.join(local_store._folder(), str(number))
    store, draw = local_store.LocalStore(number, False, 10), random.Random(7)
    assert store.get("k") == b"v"
    before, sent = _memory_of(child, "VmRSS"), 0
    while sent < frames:
        drawn, knows = [_fuzzed(draw) for _ in range(20)], draw.random() < 0.9      # all of them, whenever the server hangs up
        with socket.socket(socket.AF_UNIX) as sock, contextlib.suppress(OSError):
            sock.settimeout(5)
            sock.connect(path)
            if knows:
                handshake.introduce(sock, b"right", "the store", 5)
            for frame in drawn:
                sent += 1
                sock.sendall(frame)
    key = "longer than any that is drawn"       # a frame may well delete "k"
    store.set(key, "v")
    assert store.get(key) == b"v"
    grown = _memory_of(child, "VmHWM") - before
    os.write(begin, b"e")
    os.waitpid(child, 0)
    assert grown < 64 << 20


def test_a_message_takes_memory_for_what_has_come(secret):
    """A claim of 64 MiB without the bytes, or of more, takes nothing."""
    here, there = socket.socketpair()
    with here, there:
        tracemalloc.start()
        there.sendall(b"\1\0\0\0" + (1 << 26).to_bytes(4, "little") + b"some")
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(EOFError):
            socket_messages.read_fields(here)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
        tracemalloc.stop()
    for claim in (b"\xff\xff\xff\xff", b"\2\0\0\0" + b"\0" * 4 + b"\1\0\0\4"):
        here, there = socket.socketpair()
        with here, there:
            there.sendall(claim)
            with pytest.raises(dist.DistNetworkError, match="does not speak this protocol"):
                socket_messages.read_fields(here)
    with pytest.raises(dist.DistStoreError, match="at most 64 MiB"):
        open_store().set("k", bytes(1 << 26))


def test_ranks_admit_each_other_and_no_strangers(monkeypatch):
    """A stranger that reaches the listener of rank 0 first is turned away, and the ranks meet."""
    monkeypatch.setattr(handshake, "PATIENCE", 0.3)
    store, engines = dist.HashStore(10), {}

    def join(rank):
        engines[rank] = TCPEngine(Run(rank, 2, store, 10))

    first = threading.Thread(target=join, args=(0,))
    first.start()
    host, _, port = store.get("tcp/0").decode().rpartition(":")
    silent = socket.create_connection((host, int(port)))
    wrong = socket.create_connection((host, int(port)))
    wrong.sendall(os.urandom(64) + b"\1\0\0\0")
    join(1)
    first.join()
    inbox = engines[0].inbox
    engines[1].send([0], (0, 0), "note", np.frombuffer(b"body", np.uint8))
    assert bytes(inbox.receive(1, (0, 0), inbox.ticket(1, (0, 0)), 5, "a test")[1]) == b"body"
    for s in (silent, wrong):
        s.close()
    for e in engines.values():
        e.close()


# Objects.


class Planted:
    """Object whose pickle calls a function when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class Own:
    """Plain class of a user."""

    def __init__(self, n):
        self.n = n


def _exchange(rank, folder):
    state = {"a": [1, 2.5, "x", None, (True, b"\0")], "t": ingot.arange(3.), "n": np.arange(2), "net": ingot.nn.Linear(2, 1)}
    found: list = [None] * 2
    dist.all_gather_object(found, {**state, "rank": rank})
    assert [f["rank"] for f in found] == [0, 1] and all(f["a"] == state["a"] for f in found)
    assert all(ingot.equal(f["t"], state["t"]) and (f["n"] == state["n"]).all() for f in found)
    assert all(type(f["net"]) is ingot.nn.Linear for f in found)
    with pytest.raises(FileError, match=r"object from another rank.*(?s:.*)add_safe_globals"):
        dist.all_gather_object(found, Own(rank))
    with ingot.serialization.safe_globals([Own]):
        dist.all_gather_object(found, Own(rank))
    assert [f.n for f in found] == [0, 1]
    planted = os.path.join(folder, "planted")
    with pytest.raises(FileError, match="mkdir"):
        dist.all_gather_object(found, Planted(planted))
    assert not os.path.exists(planted)


def test_objects_from_other_ranks_are_data_and_run_nothing(tmp_path):
    ranks.run(2, _exchange, str(tmp_path))


# The store in a file.


def test_the_file_of_a_store_is_private(tmp_path):
    before = os.umask(0)
    try:
        dist.FileStore(tmp_path / "f").set("k", "v")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "f").st_mode) == 0o600


def _as_link(path):
    path.with_name("target").touch()
    path.symlink_to("target")


def _for_all(path):
    path.touch()
    path.chmod(0o666)


PLANTED = {"link": (_as_link, "is a link"), "writable by others": (_for_all, "other users may write"),
           "pipe": (os.mkfifo, "is not a file"),
           "other bytes": (lambda p: (p.write_bytes(b"hello"), p.chmod(0o600)), "damaged"),
           "long key": (lambda p: (p.write_bytes(b"\1" + b"\0" * 7 + b"\xff" * 4 + b"xy"), p.chmod(0o600)), "damaged"),
           "long value": (lambda p: (p.write_bytes(b"\xff" * 7 + b"\x7f" + b"\1\0\0\0" + b"xy"), p.chmod(0o600)), "damaged"),
           "negative size": (lambda p: (p.write_bytes(b"\xfe" + b"\xff" * 7 + b"\1\0\0\0" + b"xy"), p.chmod(0o600)), "damaged")}


@pytest.mark.parametrize(("plant", "message"), PLANTED.values(), ids=[*PLANTED])
def test_a_planted_file_is_no_store(tmp_path, plant, message):
    plant(tmp_path / "f")
    with pytest.raises(dist.DistStoreError, match=message):
        dist.FileStore(tmp_path / "f").set("k", "v")
