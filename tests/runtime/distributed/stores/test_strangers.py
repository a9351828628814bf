"""Connections of strangers that wait: they hold up no honest client of a store and no rank, and no field of a request ends a
thread of the server."""

import contextlib
import random
import socket
import threading
import time

import numpy as np
import pytest

from ingot import distributed as dist
from ingot.runtime.distributed.engines.engine import Run
from ingot.runtime.distributed.engines.tcp_engine import TCPEngine
from ingot.runtime.distributed.stores import handshake, socket_messages
from ingot.runtime.distributed.stores.store import Table, seconds
from ingot.runtime.distributed.stores.store_service import reply_to

BYTE_EACH = 0.1         # seconds: much less than the patience below


@pytest.fixture
def patience(monkeypatch):
    """Let proofs take a second."""
    monkeypatch.setattr(handshake, "PATIENCE", 1.0)
    monkeypatch.setenv(handshake.SECRET, "right")


def _open(port=0, is_master=True):
    return dist.TCPStore("127.0.0.1", port, None, is_master, timeout=5)


class Trickle(threading.Thread):
    """Connections that send a byte each from time to time, as long as the listener keeps them."""

    def __init__(self, port: int, count: int):
        super().__init__(daemon=True)
        self.port, self.count, self.ended = port, count, threading.Event()
        self.open: list = []

    def run(self):
        for _ in range(self.count):
            with contextlib.suppress(OSError):
                self.open.append(socket.create_connection(("127.0.0.1", self.port), timeout=5))
        while not self.ended.wait(BYTE_EACH):
            for s in self.open:
                with contextlib.suppress(OSError):
                    s.send(b"x")

    def close(self):
        self.ended.set()
        self.join()
        for s in self.open:
            s.close()


@contextlib.contextmanager
def trickling(port: int, count: int):
    strangers = Trickle(port, count)
    strangers.start()
    try:
        yield strangers
    finally:
        strangers.close()


def test_one_deadline_covers_a_whole_proof(patience):
    """Each byte used to be waited for anew."""
    here, there = socket.socketpair()
    with here, there:
        ended = threading.Event()

        def send():
            while not ended.wait(BYTE_EACH):
                with contextlib.suppress(OSError):
                    there.send(b"x")

        sender = threading.Thread(target=send)
        sender.start()
        begin = time.monotonic()
        assert not handshake.admit(here, b"right")
        ended.set()
        sender.join()
        assert time.monotonic() - begin < 2.0


def test_one_deadline_covers_a_whole_introduction():
    here, there = socket.socketpair()
    with here, there:
        ended = threading.Event()

        def send():
            while not ended.wait(BYTE_EACH):
                there.send(b"x")

        sender = threading.Thread(target=send)
        sender.start()
        begin = time.monotonic()
        with pytest.raises(dist.DistNetworkError, match=r"has not answered within 0\.5 s"):
            handshake.introduce(here, b"right", "the store", 0.5)
        ended.set()
        sender.join()
        assert time.monotonic() - begin < 1.5


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_strangers_that_trickle_leave_room_for_clients(monkeypatch, count):
    """With the patience of every day, so that none of them is shown out by its time."""
    monkeypatch.setenv(handshake.SECRET, "right")
    server = _open()
    with trickling(server.port, count) as strangers:
        deadline = time.monotonic() + 5
        while len(strangers.open) < min(count, 300) and time.monotonic() < deadline:
            time.sleep(0.01)
        for _ in range(5):
            begin = time.monotonic()
            client = _open(server.port, False)
            client.set("k", "v")
            assert client.get("k") == b"v" and time.monotonic() - begin < 5.0       # the patience is 10
            client.close()
        assert server._server.strangers.count <= 129


def test_many_clients_come_at_once(patience):
    """More than strangers may wait from one address: each proves itself at once."""
    server, found = _open(), []

    def come():
        client = _open(server.port, False)
        found.append(client.add("n", 1))

    clients = [threading.Thread(target=come) for _ in range(100)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    assert sorted(found) == list(range(1, 101))


def test_a_stranger_that_waits_does_not_stop_a_group(monkeypatch):
    store, engines = dist.HashStore(20), {}

    def join(rank):
        engines[rank] = TCPEngine(Run(rank, 3, store, 20))

    first = threading.Thread(target=join, args=(0,))
    first.start()
    port = int(store.get("tcp/0").decode().rpartition(":")[2])
    with trickling(port, 20) as strangers:
        while len(strangers.open) < 20:
            time.sleep(0.01)
        begin = time.monotonic()
        others = [threading.Thread(target=join, args=(rank,)) for rank in (1, 2)]
        for thread in others:
            thread.start()
        for thread in (*others, first):
            thread.join()
        assert time.monotonic() - begin < 5.0
    for a in range(3):
        for b in range(3):
            engines[a].send([b], (0, 0), "note", np.frombuffer(bytes([a, b]), np.uint8))
    for b in range(3):
        inbox = engines[b].inbox
        for a in range(3):
            assert bytes(inbox.receive(a, (0, 0), inbox.ticket(a, (0, 0)), 5, "a test")[1]) == bytes([a, b])
    for e in engines.values():
        e.close()


def test_a_group_without_a_rank_names_it_beside_strangers():
    store, errors = dist.HashStore(20), []

    def join():
        try:
            TCPEngine(Run(0, 2, store, 1.0))
        except dist.DistError as error:
            errors.append(error)

    first = threading.Thread(target=join)
    first.start()
    port = int(store.get("tcp/0").decode().rpartition(":")[2])
    with trickling(port, 3):
        first.join(10)
        assert not first.is_alive() and "for ranks [1] to connect" in str(errors[0])


FIELDS = [b"1e308", b"inf", b"-inf", b"nan", b"-1", b"1e400", b"9" * 4000, b"9" * 5000, b"", b"k", b"\xff\xfe", b"0x10", b"1_0",
          str(1 << 63).encode(), str(-(1 << 64)).encode(), b"3.5"]
NAMES = [b"put", b"get", b"wait", b"add", b"append", b"compare_set", b"delete", b"has", b"count", b"other", b"\xff"]


@pytest.mark.parametrize("seed", range(3))
def test_every_field_of_a_request_is_checked(seed):
    """All requests are answered, and none waits for longer than it says."""
    rng, table, kinds = random.Random(seed), Table(), set()
    table.put("there", b"1")
    table.put("large", str((1 << 63) - 1).encode())
    for _ in range(3000):
        name = rng.choice(NAMES)
        args = [rng.choice([b"there", b"large", *FIELDS]) for _ in range(rng.randrange(4))]
        if name in (b"get", b"wait") and args[-1:] and _waits(args):
            continue
        kind, text = reply_to(table, name, args)
        kinds.add(kind)
        assert isinstance(text, bytes)
    assert kinds == {b"ok", b"late", b"error"}


def _waits(args) -> bool:
    """Return whether a request waits for a key that never comes, for ever."""
    for a in args:
        with contextlib.suppress(ValueError):
            if float(a) > 0:
                return True
    return False


def test_numbers_of_a_store_have_64_bits():
    table = Table()
    assert reply_to(table, b"add", [b"n", str((1 << 63) - 1).encode()])[0] == b"ok"
    for amount in (b"1", b"9" * 4000, str(1 << 63).encode()):
        kind, text = reply_to(table, b"add", [b"n", amount])
        assert kind == b"error" and b"64 bits" in text
    assert table.get("n", 0) == str((1 << 63) - 1).encode()


@pytest.mark.parametrize("timeout", [1e308, float("inf"), 1e20])
def test_a_time_without_end_is_waited_for(timeout):
    store = dist.HashStore(timeout=5)
    threading.Timer(0.1, store.set, ("k", "v")).start()
    store.wait(["k"], timeout)
    server = _open()
    client = _open(server.port, False)
    threading.Timer(0.1, server.set, ("late", "v")).start()
    client.wait(["late"], timeout)
    assert client.get("late") == b"v"


@pytest.mark.parametrize("timeout", [float("nan"), "soon", None])
def test_a_time_that_is_none_is_refused(timeout):
    with pytest.raises((dist.DistError, ValueError, TypeError)):
        seconds(timeout)


def test_requests_with_wild_numbers_leave_a_server_at_work(monkeypatch):
    monkeypatch.setenv(handshake.SECRET, "right")
    server = _open()
    server.set("there", "1")
    for name, *args in ([b"get", b"there", b"1e308"], [b"wait", b"1e308", b"there"], [b"add", b"there", b"9" * 4000],
                        [b"get", b"there", b"nan"], [b"wait", b"inf", b"there"]):
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as sock:
            handshake.introduce(sock, b"right", "the store", 5)
            socket_messages.write_fields(sock, [name, *args])
            assert socket_messages.read_fields(sock)[0] in (b"ok", b"error")
            socket_messages.write_fields(sock, [b"count"])
            assert socket_messages.read_fields(sock)[0] == b"ok"
