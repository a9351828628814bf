"""Doors: code with a handler does what it did, and its frames are in no traceback."""

import difflib
import dis
import fractions
import importlib
import inspect
import statistics
import textwrap
import traceback
import types
from pathlib import Path

import pytest

import ingot
from ingot import paths
from ingot.ir import doors
from ingot.ir.doors import door, with_door
from ingot.ir.tracebacks import is_own_module
from ingot.jit.python_state import functions_of_libraries
from ingot.jit.recorder import record
from ingot.jit.side_effects import unread_texts, writes
from ingot.runtime.state import mode

SOURCE = '''
def plain(n):
    return deep(n)
def deep(n):
    return 1 // n
def handles(n):
    try:
        return deep(n)
    except ZeroDivisionError as e:
        raise KeyError(n) from e
    finally:
        log.append(n)
def closes(n):
    with opened():
        for i in range(3):
            try:
                deep(n)
            finally:
                [deep(i) for i in (1, n)]
def cells(n, *a, k=3, **kw):
    def inner():
        return deep(n) + k
    return inner()
def long(n):
    if n == 3:
        return 0
''' + "".join([f"    n = n + {i % 7} if n != {i % 5} else n\n" for i in range(400)]) + '''
    return deep(0)
'''


def functions(door=door, name="ingot.doors"):
    from contextlib import nullcontext
    space = {"__name__": name, "opened": nullcontext, "log": []}
    exec(compile(SOURCE, "<source>", "exec"), space)
    return {k: door(f) for k, f in space.items() if type(f) is types.FunctionType}


@pytest.mark.parametrize("name", ["plain", "handles", "closes", "cells", "long"])
def test_an_exception_leaves_without_the_frame(name):
    for _ in range(2):
        with pytest.raises((ZeroDivisionError, KeyError)) as caught:
            functions()[name](0)
        trace = caught.value.__traceback__
        assert [entry.name for entry in traceback.extract_tb(trace)] == ["test_an_exception_leaves_without_the_frame"]
    if name != "long":
        expected = functions(lambda f: f)[name](2)
        assert functions()[name](2) == expected


def test_frames_between_stay():
    calls = functions()
    def users(n):
        return calls["plain"](n)
    space = {"__name__": "ingot.doors"}
    exec("def call(f, *args):\n    return f(*args)", space)
    with pytest.raises(ZeroDivisionError) as caught:
        door(space["call"])(users, 0)
    assert [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)] == ["test_frames_between_stay", "users"]


def test_a_door_inside_of_ingot_shortens_nothing():
    space = {"__name__": "ingot.doors", "plain": functions()["plain"], "extract": traceback.extract_tb}
    exec("def seen(n):\n    try:\n        return plain(n)\n    except ZeroDivisionError as e:\n"
         "        return [entry.name for entry in extract(e.__traceback__)]", space)
    assert space["seen"](0) == ["seen", "plain", "deep"]


def codes_of(module):
    found = [f for f in vars(module).values() if isinstance(f, types.FunctionType)]
    for cls in [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]:
        found += [getattr(f, "__func__", f) for f in vars(cls).values()]
    return [f.__code__ for f in found if isinstance(f, types.FunctionType)]


@pytest.mark.parametrize("module", [textwrap, difflib, fractions, statistics, dis, traceback, inspect])
def test_the_handler_takes_all_that_no_other_one_takes(module):
    for code in codes_of(module):
        changed = with_door(code)
        if changed is code:
            assert code.co_flags & doors._GENERATORS
            continue
        end = len(code.co_code) // 2
        before, after = doors._entries(code.co_exceptiontable), doors._entries(changed.co_exceptiontable)
        assert set(before) <= set(after)
        inside = [entry for entry in after if entry[0] < end]
        assert sum(entry[1] for entry in inside) == end                                     # no gap, no overlap
        assert [e[0] for e in inside] == sorted(e[0] for e in inside)
        assert [e[2] for e in inside if e not in before] == [end] * (len(inside) - len(before))
        assert [(e.start // 2, (e.end - e.start) // 2, e.target // 2) for e in dis._parse_exception_table(changed)] == [
            e[:3] for e in after]
        size = len(code.co_code)        # (a last range without a line goes on in the handler)
        lines = [(start, min(stop, size), line) for start, stop, line in changed.co_lines() if start < size]
        assert lines == list(code.co_lines())
        assert changed.co_code[: len(code.co_code)] == code.co_code


def test_the_standard_library_works_with_doors():
    def copies(module):
        copy = types.ModuleType(module.__name__)
        copy.__dict__.update(vars(module))
        exec(compile(Path(module.__file__).read_text(), module.__file__, "exec"), copy.__dict__)
        for value in [*vars(copy).values()]:
            if isinstance(value, type) and value.__module__ == copy.__name__:
                for f in vars(value).values():
                    door(getattr(f, "__func__", f))
            door(value)
        return copy
    text = "some words in a line " * 20
    assert copies(textwrap).fill(text, 30) == textwrap.fill(text, 30)
    assert copies(statistics).linear_regression([1, 2, 3], [2, 4, 7]) == statistics.linear_regression([1, 2, 3], [2, 4, 7])
    a, b = text[:200].split(), text[5:190].split()
    assert list(copies(difflib).unified_diff(a, b)) == list(difflib.unified_diff(a, b))


def public_functions():
    """Return (name, function) of public functions, and of the methods of public classes."""
    for path in ("", *paths.PUBLIC):
        module = importlib.import_module(f"ingot.{path}".rstrip("."))
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name, None)
            if isinstance(value, type) and is_own_module(value.__module__):
                for method, f in vars(value).items():
                    f = getattr(f, "__func__", f)
                    if type(f) is types.FunctionType and is_own_module(f.__module__ or "") and (
                            method[0] != "_" or method in ("__init__", "__call__")):
                        yield f"{path}.{name}.{method}", f
            elif type(value) is types.FunctionType and is_own_module(value.__module__ or ""):
                yield f"{path}.{name}", value


def test_every_public_function_has_a_door():
    found = list(public_functions())
    without = sorted({name for name, f in found if not doors.has_door(f.__code__)
                      and not f.__code__.co_flags & doors._GENERATORS})
    assert len(found) > 3000
    assert without == []
    # The tracer knows these functions by their code, which must not change after it was loaded.
    assert record._CALL is ingot.nn.Module.__call__.__code__
    assert writes._SETS_MODE is ingot.nn.Module.train.__code__
    assert functions_of_libraries._APPLY is ingot.autograd.Function.apply.__func__.__code__
    assert functions_of_libraries._FORWARD is importlib.import_module("ingot.autograd.function").run_forward.__code__
    assert functions_of_libraries._HASH is ingot.Tensor.__hash__.__code__
    set_dtype = ingot.set_default_dtype
    assert getattr(set_dtype, "_asks_for", set_dtype).__code__ in functions_of_libraries._MODE_SETTERS
    assert ingot.no_grad.__enter__.__code__ in functions_of_libraries._MODE_SETTERS
    assert ingot.amp.GradScaler.get_scale.__code__ in mode.HANDING_READERS
    assert ingot.Size.__repr__.__code__ in unread_texts._WRITERS
