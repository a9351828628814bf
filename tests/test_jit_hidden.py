"""State that a traced function reads where names do not show it: after a change every call gives what eager code gives."""

import functools
from contextvars import ContextVar

import pytest

import ingot
from hidden_programs import PROGRAMS, ROADS, program
from ingot import jit


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


def test_a_context_variable_that_stays_set_is_refused():
    variable = ContextVar("variable", default=2.0)

    def f(x):
        variable.set(3.0)
        return x * variable.get()

    with pytest.raises(jit.TraceError, match=r"sets the context variable variable at .*reset it with the token"):
        jit.trace(f)(ingot.ones(2))


WITH_A_CACHE = {
    "appends": "log.append(n); return n * 2.0",
    "prints": "print(n); return n * 2.0",
    "writes": "count.add_(n); return n * 2.0",
    "draws": "return ingot.randn(2)",
    "counts": "global number; number += n; return n * 2.0",
}


@pytest.mark.parametrize("name", WITH_A_CACHE)
def test_what_fills_a_cache_is_done_once(name, capsys):
    """Whatever a function with lru_cache does for new arguments, it does at the calls at which eager code does it."""
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
