"""The end of a store: the process that keeps it waits for those that still have something to ask."""

import os
import time

import pytest

from ingot import distributed as dist
from ingot import multiprocessing as mp
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
