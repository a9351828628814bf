"""Objects that a replay may drop run no Python code when they go: an exception from a signal handler would be lost in there."""

import ast
import gc
import random
import signal
from pathlib import Path

import pytest

import ingot
from ingot import jit
from ingot.ir.weak_table import WeakTable
from interrupts import Interrupted, install_as_handler, is_from_outside, points_of, raised_at

ROOT = Path(ingot.__file__).parent
ON_THE_WAY = ("ir", "passes", "jit", "runtime/core", "runtime/cpu", "runtime/cuda", "runtime/memo")
RUNS_CODE = frozenset(("WeakKeyDictionary", "WeakSet", "WeakValueDictionary", "finalize"))
NOT_IN_A_REPLAY = {
    "jit/exporting/file/writer.py": "removes the folder of an exported model",
    "jit/fx/graph_module.py": "removes the source of a graph module",
    "jit/python_state/frames_apart.py": "compares with the code of the class",
    "jit/python_state/weak_references.py": "compares with the classes",
}


def _code_of_finalisers(tree):
    """Yield what a module has that runs when an object goes: `__del__`, and classes of `weakref` with callbacks in Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__del__":
            yield node.name
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
        if name in RUNS_CODE:
            yield name
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "weakref.ref" and len(node.args) == 2:
            callback = node.args[1]
            if isinstance(callback, ast.Call) and getattr(callback.func, "id", "") == "partial":
                callback = callback.args[0]
            if getattr(callback, "attr", "") not in ("append", "pop"):
                yield "callback"


def test_no_object_on_the_way_of_a_replay_has_a_finaliser_in_python():
    found = {}
    for path in (p for room in ON_THE_WAY for p in (ROOT / room).rglob("*.py")):
        code = sorted(set(_code_of_finalisers(ast.parse(path.read_text(encoding="utf-8")))))
        if code:
            found[path.relative_to(ROOT).as_posix()] = code
    assert found.keys() == NOT_IN_A_REPLAY.keys(), found


class Relocated:
    """A function that writes to a list which lies at one place, so that its entry has a `SoleReference`."""

    def __init__(self):
        self.log = []
        self.call = jit.trace(self._call)

    def _call(self, x):
        self.log.append(x * 2)
        return x + 1


def _drop_recordings():
    it, x = Relocated(), ingot.ones(2)
    for _ in range(3):
        it.call(x)
        it.log = []
    del it


def _drop_loans():
    t = ingot.ones(4)
    arrays = [t.numpy() for _ in range(8)]
    arrays.clear()
    return t


def _drop_table():
    table, values = WeakTable(), [ingot.ones(1) for _ in range(8)]
    for i, value in enumerate(values):
        table[i] = value
    del value
    values.clear()
    assert len(table) == 0
    table[0] = ingot.ones


@pytest.mark.parametrize("drop", [gc.collect, _drop_loans, _drop_table], ids=["recordings", "loans", "table"])
def test_no_exception_is_lost_where_objects_go(drop, monkeypatch):
    lost, before = [], signal.getsignal(signal.SIGUSR2)
    install_as_handler(signal.SIGUSR2)
    monkeypatch.setattr("sys.unraisablehook", lambda found: lost.append(found.exc_value))

    def call():
        drop()

    def prepare():
        gc.collect()
        if drop is gc.collect:
            gc.disable()
            _drop_recordings()

    try:
        prepare()
        count = points_of(call)
        for number in random.Random(0).sample(range(count), min(count, 60)):
            prepare()
            _, error, reached = raised_at(number, call, Interrupted)
            assert not lost, lost
            assert is_from_outside(error) or not reached
    finally:
        gc.enable()
        signal.signal(signal.SIGUSR2, before)


def test_memory_counts_its_users_outside_by_who_holds_it():
    t = ingot.ones(4)
    storage = t._storage
    assert (storage.lent, storage.returned) == (0, 0)
    arrays = [t.numpy() for _ in range(3)]
    assert (storage.lent, storage.returned) == (3, 0)
    arrays.pop()
    storage.lend()
    assert (storage.lent, storage.returned) == (3, 1)
    arrays.clear()
    assert (storage.lent, storage.returned) == (1, 3)
