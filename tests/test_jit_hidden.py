"""State that a traced function reads where names do not show it: after a change every call gives what eager code gives."""

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

    with pytest.raises(jit.TraceError, match="sets the context variable variable at .*reset it with the token"):
        jit.trace(f)(ingot.ones(2))
