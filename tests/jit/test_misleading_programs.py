"""Programs that try to mislead the tracer give what eager code gives, or raise a TraceError."""

import warnings

import pytest

import ingot
import misleading_state
import misleading_values
from fuzzed_modules.life import loaded
from ingot import jit
from ingot.jit.replay.compile_segment import Job
from misleading_values import IMPORTS
from outcomes import outcome

CALLS = 8
PROGRAMS = misleading_values.PROGRAMS | misleading_state.PROGRAMS
REFUSED = misleading_values.REFUSED | misleading_state.REFUSED
MOST = misleading_values.MOST | misleading_state.MOST


def data(x):
    """Return all that a program can see of a value: types, orders, signs of zeros."""
    if isinstance(x, ingot.Tensor):
        return str(x.dtype), x.requires_grad, x.detach().tolist()
    if isinstance(x, (list, tuple, dict)):
        return type(x).__name__, [data(v) for v in (x.items() if isinstance(x, dict) else x)]
    return type(x).__name__, repr(x)


def life(name, wrap, capsys):
    """Return the results of a program at each call with its output, and the wrapped function."""
    found = []
    ingot.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = vars(loaded(IMPORTS + PROGRAMS[name], f"misleading_{wrap.__name__}", f"<{name}>"))
        fn = space["_wrapped"] = wrap(space["fn"])
        for i in range(CALLS):
            space.get("turn", int)(i)
            args = space["args"](i) if "args" in space else (ingot.ones(3) * (i + 1),)
            kind, *result = outcome(lambda *args: data(fn(*args)), *args)
            found.append((kind, result, data(args), data(space.get("seen", tuple)()), capsys.readouterr().out))
    return found, fn


def as_it_is(fn):
    return fn


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_eager_gives_or_a_trace_error(name, capsys):
    want, _ = life(name, as_it_is, capsys)
    got, fn = life(name, jit.trace, capsys)
    refused = [i for i, (kind, *_) in enumerate(got) if kind == "trace"]
    assert bool(refused) == (name in REFUSED)
    first = refused[0] if refused else CALLS
    assert got[:first] == want[:first]
    assert fn.stats()["compiles"] <= MOST.get(name, 4), fn.stats()["misses"]


def test_a_failure_of_compiled_code_alone_is_said(monkeypatch):
    space = {"__name__": Job.__module__}        # or it would be an exception from outside
    exec("def fails(*args): raise ValueError('broken')", space)
    f = jit.trace(lambda x: x * 2)
    f(ingot.ones(3))
    monkeypatch.setattr(Job, "run_compiled", space["fails"])
    with pytest.warns(jit.TracerWarning, match="compiled code of <lambda> raised ValueError: broken; the call ran as it is"):
        assert f(ingot.ones(3)).tolist() == [2.0, 2.0, 2.0]
