"""Stores that one process keeps for others: their end, and the one whose requests an engine carries."""

import os
import signal
import threading
import time

import pytest

import ranks
from ingot import distributed as dist
from ingot import multiprocessing as mp
from ingot.runtime.distributed.groups.store_by_messages import StoreByMessages
from ingot.runtime.distributed.stores import store_service
from ingot.runtime.distributed.stores.local_store import LocalStore

LATE = 0.15     # seconds after which a client asks, when the keeper has long come to its end


def _open(kind, number, is_master):
    return LocalStore(number, is_master, 20) if kind == "local" else dist.TCPStore("127.0.0.1", number, None, is_master, 20)


def _keep_or_ask(rank, kind, number, has_left):
    store = _open(kind, number, rank == 0)
    store.set(str(rank), "here")
    store.wait(["0", "1"])
    if rank == 0:
        if has_left:
            store.close()
        return
    time.sleep(LATE)
    for _ in range(3):
        assert store.get("0") == b"here"


@pytest.mark.parametrize("has_left", [False, True])
@pytest.mark.parametrize("kind", ["local", "tcp"])
def test_a_client_that_asks_late_gets_its_answer(kind, has_left):
    number = 20_000 + (os.getpid() + 7 * (kind == "tcp") + has_left) % 10_000
    mp.start_processes(_keep_or_ask, (kind, number, has_left), 2, start_method="fork")


def _stay_or_end(rank, number, path):
    store = _open("local", number, rank == 0)
    store.set(str(rank), "here")
    store.wait(["0", "1"])
    if rank:
        end, deadline = os.path.join(path, "end"), time.monotonic() + 30
        while not os.path.exists(end) and time.monotonic() < deadline:
            time.sleep(0.01)


def test_a_client_that_stays_is_waited_for_a_few_seconds_only(tmp_path, monkeypatch):
    monkeypatch.setattr(store_service, "_LEAVING", 0.3)
    started = mp.start_processes(_stay_or_end, (20_000 + os.getpid() % 10_000, str(tmp_path)), 2, join=False,
                                 start_method="fork")
    keeper, client = started.processes
    keeper.join(20)
    assert keeper.exitcode == 0 and client.exitcode is None
    (tmp_path / "end").touch()
    while not started.join(20):
        assert client.is_alive()


class Interrupted(Exception):
    """Error of a signal handler."""


def _interrupt(*_):
    raise Interrupted


@pytest.mark.parametrize("kind", ["local", "tcp"])
def test_an_interrupted_request_leaves_no_answer_to_the_next_one(kind, monkeypatch):
    number = 0 if kind == "tcp" else 30_000 + os.getpid() % 10_000
    store = _open(kind, number, True)
    store.set("k", "v")
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interrupted):
            store.wait(["never"], 0.3)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert store.get("k") == b"v" and store.check(["k"])
    store.close()


def test_a_late_answer_is_none_to_the_next_request(monkeypatch):
    store = _open("local", 30_000 + os.getpid() % 10_000, True)
    monkeypatch.setattr(store_service, "GRACE", 0.05)
    monkeypatch.setattr(store.served, "add", lambda key, amount: time.sleep(0.3) or 7)
    store.table.patience = 0.05
    with pytest.raises(dist.DistStoreError, match="has gone"):
        store.add("n", 1)
    begin = time.monotonic()
    with pytest.raises(dist.DistStoreError, match="has gone"):
        store.add("n", 1)
    assert time.monotonic() - begin < 0.05
    store.close()


def _by_messages(rank, early):
    if rank == 0 and early:
        time.sleep(0.1)         # requests arrive before there is a store
    store = StoreByMessages(dist.group.WORLD.engine, 20)
    if rank:
        store.set(str(rank), bytes([0, rank]))
        store.append("text", "ab")
        assert store.multi_get(["1", "2"]) == [b"\0\1", b"\0\2"] and store.check(["1"]) and not store.check(["never"])
        begin = time.monotonic()
        with pytest.raises(dist.DistTimeoutError, match=r"waited 0.1 s for \['never'\]"):
            store.wait(["1", "never"], 0.1)
        assert time.monotonic() - begin < 5
        with pytest.raises(dist.DistStoreError, match="invalid literal"):
            store.add("1", 1)
        waiting = [threading.Thread(target=store.get, args=(f"late{i}",)) for i in range(4)]     # each waits on its own
        for t in waiting:
            t.start()
        if rank == 1:
            for i in range(4):
                store.set(f"late{i}", "")
        for t in waiting:
            t.join()
        store.add("count", rank)
    dist.barrier()
    if rank == 0:
        assert store.add("count", 0) == 3 and store.get("text") == b"abab" and store.compare_set("count", "3", "4") == b"4"
        assert store.num_keys() == 8 and store.delete_key("1")


@pytest.mark.parametrize("early", [False, True])
def test_a_store_whose_requests_an_engine_carries(early):
    ranks.run(3, _by_messages, early)
