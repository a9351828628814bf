"""State of every sort of object, on every path from a function to it, changed between calls: traced code beside eager code."""

import decimal
import os
import re

import pytest

import ingot
from holder_programs import PRELUDE, program
from ingot import jit
from state_holders import CLASSES, HOLDERS, PATHS

pytestmark = pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
CHANGES = [(name, change) for name, holder in HOLDERS.items() for change in holder.changes]
# Changes that the function itself makes, besides those whose result depends on the garbage collector or the clock.
WRITES = [(name, change) for name, change in CHANGES if change != "pass" and name not in (
    "class subclasses", "LogRecord", "weakref dead")]
NUMBERS = (None, None, 5.0, 7.0, 3.0, None, 5.0)        # what a change puts there before each call; None changes nothing
# `jit.trace` refuses to move on an iterator from outside, and calls of C code whose effects it does not know.
REFUSED = frozenset((
    "numpy iterator", "numpy flat", "iterator of list", "reversed", "enumerate", "zip", "map", "filter", "generator", "cycle",
    "chain", "islice", "repeat", "tee", "accumulate", "cmp_to_key", "Queue get", "Lock", "ExitStack"))
# Recordings keep alive what they read, so calls run eagerly where a weak reference alone leads to an object.
EAGER = frozenset(name for name in HOLDERS if name.lower().startswith(("weak", "proxy")))

_USE = re.compile(r"^( +)(return x|x = x) \* \(USE\)$", re.MULTILINE)       # the statement with the use


@pytest.fixture(autouse=True)
def _settings(monkeypatch):
    """Leave the process as it was: some rows change the environment or the context of decimal numbers."""
    monkeypatch.delenv("INGOT_MATRIX", raising=False)
    with decimal.localcontext():
        yield


class Life:
    """Calls of the function of one program, with a change of the object before some of them."""

    def __init__(self, name, path, wrap, write=None):
        """Make the object and the function, which itself makes the change `write` before it uses the object."""
        ingot.manual_seed(0)
        decimal.getcontext().prec = 28
        os.environ.pop("INGOT_MATRIX", None)
        self.space = {"__name__": "program_of_a_user", "m": {}}
        self._run("classes", CLASSES)
        self._run("object", f"o = {HOLDERS[name].make}")
        define = PATHS[path].define if write is None else _USE.sub(rf"\g<1>v = number\n\g<1>{write}\n\g<0>", PATHS[path].define)
        self._run("function", define.replace("USE", HOLDERS[name].use))
        self.f = self.space["f"] = wrap(self.space["f"])
        self._call = compile(PATHS[path].call, "call", "eval")

    def _run(self, name, text):
        exec(compile(text, f"{name} of a user", "exec"), self.space)

    def results(self, change) -> list:
        """Return the result of each call, and the state at the end."""
        results = []
        for number in NUMBERS:
            if number is not None:
                self.space["v"] = number
                self._run("change", change)
            self.space["x"] = ingot.tensor([1.0, 2.0])
            results.append(outcome(lambda: eval(self._call, self.space).tolist()))
        return [*results, *self._state()]

    def states(self) -> list:
        """Return the result of each call, and the state behind it; the number that the function puts there changes once."""
        results = []
        for number in (4.0, 4.0, 4.0, 6.0, 6.0):
            self.space["number"], self.space["x"] = number, ingot.tensor([1.0, 2.0])
            results += [outcome(lambda: eval(self._call, self.space).tolist()), *self._state()]
        return results

    def _state(self) -> tuple:
        return content(self.space["o"]), sorted([str((key, content(value))) for key, value in self.space["m"].items()])


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def shown(x) -> str:
    """Return an object as text, if that tells its state rather than its address."""
    text = outcome(lambda: repr(x))
    return "" if " at 0x" in str(text) else text


def content(x, around=()):
    """Return an object as text, with what it holds."""
    if any(x is o for o in around) or len(around) > 4 or type(x) is type(__builtins__):
        return "..."
    around = (*around, x)
    if type(x) in (dict, list, tuple, set, frozenset):
        items = x.items() if type(x) is dict else x
        return f"{type(x).__name__}{[content(item, around) for item in items]}"
    attributes = getattr(x, "__dict__", None)
    if type(attributes) is not dict or isinstance(x, (type, ingot.Tensor, ingot.nn.Module)):
        return shown(x)
    return f"{type(x).__name__} {content(attributes, around)} {shown(x)}"


@pytest.mark.parametrize("name, change", WRITES)
@pytest.mark.parametrize("path", [name for name, path in PATHS.items() if _USE.search(path.define)])
def test_a_change_that_the_function_makes_is_made_again(name, change, path):
    expected = Life(name, path, lambda f: f, change).states()
    assert Life(name, path, lambda f: jit.trace(f, refuse=False), change).states() == expected


@pytest.mark.parametrize("name, change", CHANGES)
@pytest.mark.parametrize("path", PATHS)
def test_a_change_of_state_is_seen(name, change, path):
    expected = Life(name, path, lambda f: f).results(change)
    traced = Life(name, path, jit.trace)
    results = traced.results(change)
    is_refused = any(type(result) is tuple and result[0] is jit.TraceError for result in results)
    assert is_refused is (name in REFUSED) and (is_refused or results == expected)
    assert is_refused or name in EAGER or traced.f.stats()["compiles"]
    if is_refused:
        assert Life(name, path, lambda f: jit.trace(f, refuse=False)).results(change) == expected


def run(drawn, wrap) -> tuple:
    """Return (results of the calls of a random program, its function)."""
    ingot.manual_seed(0)
    decimal.getcontext().prec = 28
    space = {"__name__": "program_of_a_user"}
    for text in (PRELUDE, drawn.setup, drawn.define):
        exec(compile(text, "program of a user", "exec"), space)
    space["f"], results = wrap(space["f"]), []
    for change in drawn.changes:
        if change is not None:
            o, m, statement, number = change
            names = {**space, "o": space[o], "m": space[m], "v": number}
            results.append(outcome(lambda: exec(compile(statement, "change", "exec"), names)))
        space["x"] = ingot.tensor([1.0, 2.0])
        results.append(outcome(lambda: eval(drawn.call, space).tolist()))
    return results, space["f"]


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(2000))
def test_random_programs_see_changes_of_several_objects(seed):
    drawn = program(seed)
    expected, _ = run(drawn, lambda f: f)
    results, _ = run(drawn, lambda f: jit.trace(f, refuse=False))
    assert str(results) == str(expected), f"seed {seed}\n{drawn}"      # (nan differs from itself)


def test_most_random_programs_are_recorded():
    recorded = [run(program(seed), lambda f: jit.trace(f, refuse=False))[1].stats()["compiles"] > 0 for seed in range(12)]
    assert sum(recorded) > 6


def test_the_matrix_is_large():
    assert len(HOLDERS) >= 120 and len(PATHS) >= 12
