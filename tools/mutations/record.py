"""A pytest plugin that writes down, for each test, which functions of the product it executes, how long it takes, and whether
it fails. Each process of xdist has a file of its own in the folder of the map."""

import base64
import json
import os
import sys
import time
import zlib
from typing import Any

import pytest

from . import hits


def pytest_configure(config):
    """Give this process bytes of its own, before it imports the product."""
    if hits.FOLDER in os.environ:
        hits.use(os.path.join(os.environ[hits.FOLDER], f"bytes-{os.getpid()}"))


def pytest_collection_finish():
    """Have code generators run where their texts are known from an earlier process."""
    texts: Any = sys.modules.get("ingot.runtime.cpu.compiler.ir_cache")
    if texts is not None:
        texts._sources = str


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run a test, with its fixtures, from clean bytes."""
    marks = hits.everywhere.__hits__
    marks[:] = bytes(len(marks))
    _now.update(failed=False)
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    packed = base64.b64encode(zlib.compress(bytes(marks), 1)).decode()
    with open(os.path.join(os.environ[hits.FOLDER], f"tests-{os.getpid()}.jsonl"), "a", encoding="utf-8") as out:
        out.write(json.dumps([item.nodeid, round(seconds, 4), _now["failed"], packed]) + "\n")


def pytest_runtest_logreport(report):
    """Note a failure. (With xdist the process that hands out tests hears of it as well, and ignores it.)"""
    if report.failed:
        _now["failed"] = True


_now: dict = {"failed": False}
