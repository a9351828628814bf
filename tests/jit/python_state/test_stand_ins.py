"""Functions that have stand-ins while a call is recorded, called in many ways: each replay does as eager code does."""

import builtins
import codecs
import contextlib
import functools
import gc
import glob
import io
import itertools
import logging
import math
import pathlib
import pprint
import sys
import textwrap
import warnings
from math import log, sqrt
from warnings import warn

import pytest

import ingot
from ingot import jit

KEPT: dict = {"print": print, "sqrt": math.sqrt, "warn": warnings.warn}
BOUND = functools.partial(print, "bound", end="!\n")
SPREAD = {"sep": "-"}
LOGGER = logging.getLogger("ingot.stand_ins")


class Reporter:
    tell = staticmethod(print)
    root = math.sqrt

    def __init__(self, out=print):
        self.out = out

    def __call__(self, n):
        self.out("called", n)


REPORTER = Reporter()


def with_default(n, out=print):
    out("default", n)


def generated(n):
    for i in range(2):
        print("part", i, n)
        yield math.sqrt(n + i)


def applied(function, n):
    return function(n), function is print, function is math.sqrt


MESSAGES = {
    "by_name": lambda x, n: print("n", n),
    "of_builtins": lambda x, n: builtins.print("n", n),
    "of_a_table": lambda x, n: KEPT["print"]("n", n),
    "of_a_class": lambda x, n: (Reporter.tell("n", n), REPORTER(n)),
    "as_a_default": lambda x, n: with_default(n),
    "as_a_variable": lambda x, n: [out("n", n) for out in (print, KEPT["print"])],
    "bound": lambda x, n: BOUND(n),
    "bound_inside": lambda x, n: functools.partial(print, "n", sep="-")(n),
    "spread": lambda x, n: print(*("n", n), **SPREAD),
    "to_code_in_c": lambda x, n: [*map(print, ["n", n])],
    "to_a_function": lambda x, n: applied(print, n),
    "generating": lambda x, n: sum(generated(n)),
    "in_a_container": lambda x, n: [f("n", n) for f in [print]],
    "to_a_stream": lambda x, n: print("n", n, file=sys.stdout),
    "lazily": lambda x, n: print(f"{x.sum().item():.1f}", x.mean().item()),
    "warning": lambda x, n: warnings.warn(f"n {n}", stacklevel=1),
    "warning_by_name": lambda x, n: warn("by name", stacklevel=1),
    "warning_of_a_table": lambda x, n: KEPT["warn"]("of a table", RuntimeWarning, 1),
    "warning_of_ingot": lambda x, n: ingot.nn.functional.upsample(x.reshape(1, 1, -1), scale_factor=2),
    "logging": lambda x, n: LOGGER.error("n %d", n),
    "logging_a_record": lambda x, n: LOGGER.handle(LOGGER.makeRecord("a", 40, "file", 1, "made", (), None)),
}


@pytest.fixture
def told():
    """A function that returns the result of a call, what it prints and logs, and its warnings with their lines."""
    out, logged, handler = io.StringIO(), [], logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())

    def tell(call):
        out.seek(0)
        out.truncate()
        logged.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        return repr(result), out.getvalue(), [*logged], [(w.category, str(w.message), w.filename, w.lineno) for w in caught]

    LOGGER.addHandler(handler)
    with contextlib.redirect_stdout(out):
        yield tell
    LOGGER.removeHandler(handler)


@pytest.mark.parametrize("name", MESSAGES)
def test_each_replay_gives_the_messages_of_eager_code(name, told):
    fn = MESSAGES[name]
    traced = jit.trace(fn, fullgraph=True)
    for n in (3, 3, 4, 4):
        x = ingot.full((2,), float(n))
        assert told(lambda x=x, n=n: traced(x, n)) == told(lambda x=x, n=n: fn(x, n)), n


NUMBERS = {
    "by_name": lambda x, n: x * sqrt(n),
    "of_the_module": lambda x, n: (x * math.sqrt(n), math.log(n, 2.0)),
    "of_a_table": lambda x, n: x * KEPT["sqrt"](n),
    "of_a_class": lambda x, n: x * Reporter.root(n),
    "bound": lambda x, n: x * functools.partial(log, n)(2.0),
    "to_code_in_c": lambda x, n: (x, [*map(math.sqrt, [n, n + 1])], [*itertools.starmap(math.pow, [(n, 2.0)])]),
    "to_a_function": lambda x, n: (x, applied(math.sqrt, n)),
    "generating": lambda x, n: (x, [math.exp(v / n) for v in (n, n + 1)]),
    "read": lambda x, n: (x, math.sqrt(x.sum().item()), math.isnan(x.mean().item()), math.hypot(x.sum().item(), n)),
    "of_ingot": lambda x, n: (ingot.sym_sqrt(n), ingot.arange(0.0, n, 1.0)),
    "tests": lambda x, n: (x, math.isfinite(n), math.isinf(float(n))),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_functions_of_numbers_make_no_recording_for_each_number(name):
    fn = NUMBERS[name]
    traced = jit.trace(fn, fullgraph=True)
    for n in (3, 5, 4, 9, 7, 8):
        x = ingot.full((2,), float(n))
        assert repr(traced(x, n)) == repr(fn(x, n)), n
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


def test_what_a_function_keeps_is_pythons_own():
    held: dict = {}

    def fn(x):
        held["print"], held["sqrt"] = print, math.sqrt
        held["list"] = [print]
        held["list"].append(warnings.warn)
        return x * 2, print is builtins.print, {print: 1}.get(builtins.print), [print].index(builtins.print)

    traced = jit.trace(fn)
    for _ in range(3):
        assert traced(ingot.ones(2))[1:] == (True, 1, 0)
        assert held["print"] is builtins.print and held["sqrt"] is math.sqrt
        assert held["list"] == [builtins.print, warnings.warn]


def test_code_of_libraries_gets_stand_ins(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("first")

    def fn(x):
        with codecs.open(str(path), encoding="utf-8") as file:
            return x * len(file.read()), path.read_text(), textwrap.dedent("  a")

    traced = jit.trace(fn)
    for text in ("first", "first", "another", "another"):
        path.write_text(text)
        got = traced(ingot.ones(1))
        assert got[0].tolist() == [len(text)] and got[1] == text


def test_recordings_leave_the_reference_counts_of_these_functions():
    def make(i):
        def fn(x):
            print(i, file=sys.stderr)
            return x * math.sqrt(i) + sum(map(math.sqrt, [1, 4]))
        return fn

    def count():
        return sys.getrefcount(print), sys.getrefcount(math.sqrt)

    with contextlib.redirect_stderr(io.StringIO()):
        jit.trace(make(0))(ingot.ones(1))
        gc.collect()        # what other tests left may refer to them
        before = count()
        for i in range(20):
            jit.trace(make(i))(ingot.ones(1))
        assert all(abs(a - b) < 10 for a, b in zip(count(), before))


PRETTY = {      # functions of x and a count that print by `pprint`
    "a dictionary": lambda x, n: pprint.pprint({"sum": x.sum().item(), "all": [x, n], "text": "z" * 50, "more": "y" * 60}),
    "pp": lambda x, n: pprint.pp({"b": n, "a": x.mean().item()}, width=8),
    "a text": lambda x, n: pprint.pprint(f"sum {x.sum().item():.3f}"),
    "by map": lambda x, n: [*map(pprint.pprint, [n, x.sum().item()])],
    "by a name of its own": lambda x, n: SHOW([n]),
}
SHOW = pprint.pprint


@pytest.mark.parametrize("row", PRETTY)
def test_each_call_prints_prettily(row, capsys):
    def life(wrap):
        fn = wrap(lambda x, n: (PRETTY[row](x, n), x * 2)[1])
        return [(fn(ingot.ones(2) * i, i).tolist(), capsys.readouterr().out) for i in range(5)]

    assert life(jit.trace) == life(lambda f: f)


def test_pretty_prints_to_other_streams_are_refused():
    stream = io.StringIO()
    with pytest.raises(jit.TraceError, match=r"pprint.pprint for another stream than sys.stdout; use print\(file=\)"):
        jit.trace(lambda x: (pprint.pprint([1], stream), x)[1])(ingot.ones(2))


@pytest.mark.parametrize("look", ["len(list(pathlib.Path(folder).glob('*.txt')))", "len([*pathlib.Path(folder).rglob('*')])",
                                  "len(list(pathlib.Path(folder).iterdir()))", "len(list(glob.iglob(folder + '/*')))"])
def test_listed_folders_are_guarded(look, tmp_path):
    space = {"__name__": "looking", "pathlib": pathlib, "glob": glob, "folder": str(tmp_path)}
    exec(f"def fn(x): return x * {look}", space)
    fn = jit.trace(space["fn"])
    for i in range(9):
        assert fn(ingot.ones(2)).tolist() == space["fn"](ingot.ones(2)).tolist() == [i // 3] * 2
        if i % 3 == 2:
            (tmp_path / f"{i}.txt").touch()
    assert fn.stats()["compiles"] == 3
