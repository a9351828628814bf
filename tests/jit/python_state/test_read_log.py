"""State that a traced function reads without names that show it: after a change every call gives eager results."""

import functools
import importlib
from contextvars import ContextVar, copy_context

import pytest

import ingot
from hidden_programs import PROGRAMS, ROADS, program
from ingot import jit
from ingot.jit.guards.held_content import content_of
from side_by_side import plain, vec


@pytest.mark.drawn
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_changed_state_is_noticed(name, road):
    def life(wrap):
        ingot.manual_seed(0)
        fn, change = program(name, road)
        traced, seen = wrap(fn), []
        for after in (False, True):
            if after:
                change()
            for i in range(4):
                seen.append(traced(ingot.ones(3) * (i - 1)).tolist())
        return seen, traced

    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert want[:4] != want[4:], "the change changes nothing"
    assert traced.stats()["compiles"] <= 4, traced.stats()["misses"]


VARIABLE = ContextVar("variable", default=2.0)
SETS = {
    "a number": (lambda x: (VARIABLE.set(3.0), x * VARIABLE.get())[1], 2),
    "a tensor": (lambda x: (VARIABLE.set(x.sum()), x * 2)[1], 2),
    "read before": (lambda x: (x * VARIABLE.get(), VARIABLE.set(3.0), x * VARIABLE.get())[::2], 4),
    "counted": (lambda x: (VARIABLE.set(VARIABLE.get() + 1), x * VARIABLE.get())[1], 8),
    "reset": (lambda x: (VARIABLE.reset(VARIABLE.set(5.0)), x * VARIABLE.get())[1], 4),
    "set and reset": (lambda x: (VARIABLE.set(4.0), VARIABLE.reset(VARIABLE.set(5.0)), x)[2], 2),
    "set twice and reset": (lambda x: (VARIABLE.reset((VARIABLE.set(4.0), VARIABLE.set(5.0))[0]), x)[1], 4),
    "set as it was": (lambda x: (VARIABLE.set(2.0), x)[1], 4),
    "a table": (lambda x: (VARIABLE.set({"n": x * 2}), x)[1], 2),
}


@pytest.mark.parametrize("name", SETS)
def test_context_variables_are_set_by_every_call(name):
    fn, most = SETS[name]

    def life(fn):
        VARIABLE.set(2.0)
        seen = []
        for i in range(6):
            if i in (3, 4):
                VARIABLE.set(float(i))
            seen.append((plain(fn(vec(1.0 + i, 2.0))), plain(VARIABLE.get())))
        return seen

    want, traced = copy_context().run(life, fn), jit.trace(fn)
    got = copy_context().run(life, traced)
    assert got == want and traced.stats()["compiles"] <= most, traced.stats()["misses"]


def test_a_token_from_outside_is_refused():
    token = VARIABLE.set(3.0)
    with pytest.raises(jit.TraceError, match="token from outside"):
        jit.trace(lambda x: (VARIABLE.reset(token), x)[1])(ingot.ones(2))


CHANGED_INSIDE = {
    "an event": ("import threading\nthing = threading.Event()", "thing.set()"),
    "an array": ("import array\nthing = array.array('d')", "thing.append(1.0)"),
    "bytes": ("thing = bytearray(b'a')", "thing.append(1)"),
}


@pytest.mark.parametrize("name", CHANGED_INSIDE)
def test_changes_within_objects_of_the_library_are_repeated(name):
    setup, change = CHANGED_INSIDE[name]
    space = {"__name__": f"{__name__}.changed"}
    exec(f"{setup}\ndef outside(x):\n    {change}\n    return x * 2\n"
         f"def inside(x):\n    {setup.replace(chr(10), chr(10) + '    ')}\n    {change}\n    return x * 2", space)
    contents = []
    for fn in (space["outside"], jit.trace(space["outside"])):
        exec(setup, space)
        contents.append([(fn(ingot.ones(1)).item(), content_of(space["thing"])) for _ in range(4)])
    assert contents[0] == contents[1]
    traced = jit.trace(space["inside"])         # its own may be changed
    assert [traced(ingot.ones(1) * i).item() for i in range(3)] == [0, 2, 4] and traced.stats()["compiles"] == 1


WITH_A_CACHE = {
    "appends": "log.append(n); return n * 2.0",
    "prints": "print(n); return n * 2.0",
    "writes": "count.add_(n); return n * 2.0",
    "draws": "return ingot.randn(2)",
    "counts": "global number; number += n; return n * 2.0",
}


@pytest.mark.parametrize("name", WITH_A_CACHE)
def test_caches_are_filled_once(name, capsys):
    """A cached function runs for new arguments at the same calls as in eager code."""
    text = ("log, count, number = [], ingot.zeros(()), 0\n@functools.lru_cache\ndef kept(n): " + WITH_A_CACHE[name]
            + "\ndef fn(x, n): return x + kept(n)\ndef state(): return log, count.tolist(), number")

    def life(wrap):
        names = {"ingot": ingot, "functools": functools, "__name__": f"{__name__}.{name}"}
        exec(compile(text, f"<cache {name}>", "exec"), names)
        fn, seen = wrap(names["fn"]), []
        for n in (1, 1, 1, 3, 3, 3, 1):
            ingot.manual_seed(len(seen))
            seen.append((fn(ingot.ones(2), n).tolist(), names["state"]()))
        return repr(seen) + capsys.readouterr().out, fn

    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 2


IMPORTS = {
    "a module": "import {package}.settings as s\n    return x * s.k",
    "a submodule by the package": "import {package}.settings\n    return x * {package}.settings.k",
    "a name": "from {package}.settings import k\n    return x * k",
    "beside it": "from . import settings\n    return x * settings.k",
    "a name beside it": "from .settings import k\n    return x * k",
    "at once": "from . import settings\n    return settings.k * x",
    "a module at once": "import {package}.settings as s\n    return s.k * x",
    "for a function in it": "from . import settings\n    def g(): return settings.k\n    return x * g()",
    "a module for a function in it": "import {package}.settings as s\n    def g(): return s.k\n    return x * g()",
    "a name for a function in it": "from .settings import k\n    def g(): return k\n    return x * g()",
    "by name": "import importlib\n    return x * importlib.import_module('{package}.settings').k",
    "from above": "from ..{package} import settings as s\n    return x * s.k",
}


@pytest.mark.parametrize("case", IMPORTS)
def test_imports_of_functions_are_guarded(case, tmp_path, monkeypatch):
    package = "imports_" + str(list(IMPORTS).index(case))
    above = "within_" + package if ".." in IMPORTS[case] else ""
    folder = tmp_path / above / package
    folder.mkdir(parents=True)
    (tmp_path / above / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "settings.py").write_text("k = 2.0\n")
    (folder / "work.py").write_text(f"def fn(x):\n    {IMPORTS[case].format(package=package)}\n")
    monkeypatch.syspath_prepend(tmp_path)
    where = f"{above}.{package}" if above else package
    fn = jit.trace(importlib.import_module(f"{where}.work").fn)
    settings = importlib.import_module(f"{where}.settings")
    seen = []
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        settings.k = k
        seen.append(fn(ingot.ones(2)).tolist())
    assert seen == [[k, k] for k in (2.0, 2.0, 2.0, 5.0, 5.0)]
