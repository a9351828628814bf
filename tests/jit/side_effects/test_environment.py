"""Environment variables that a traced function sets or deletes: each call leaves the environment as an eager call does, for
Python and for C code, and gives eager's result."""

import ctypes
import os
import warnings

import pytest

import ingot
from ingot import jit

CALLS = 6
WRITES = {
    "an item": "os.environ['INGOT_A'] = '3'",
    "an item by another name": "env['INGOT_A'] = '3'",
    "a number": "os.environ['INGOT_A'] = str(i % 2)",
    "a number that changes": "os.environ['INGOT_A'] = str(int(os.environ.get('INGOT_A', '0')) + 1)",
    "pop": "os.environ.pop('INGOT_A', None)",
    "pop of another": "os.environ.pop('INGOT_B', None)",
    "setdefault": "x = x + float(os.environ.setdefault('INGOT_A', '2'))",
    "update": "os.environ.update({'INGOT_B': '4', 'INGOT_A': '5'})",
    "an operator": "os.environ |= {'INGOT_A': '6'}",
    "del": "os.environ['INGOT_A'] = '1'\n    del os.environ['INGOT_A']",
    "another order": "v = os.environ.pop('INGOT_B', '7')\n    os.environ['INGOT_A'] = '1'\n    os.environ['INGOT_B'] = v",
    "another order of old ones": "v = os.environ.pop('INGOT_B', '7')\n    os.environ['INGOT_B'] = v",
    "putenv": "os.putenv('INGOT_A', '8')",
    "unsetenv": "os.unsetenv('INGOT_A')",
    "a stored method": "put('INGOT_A', '9')",
    "a helper": "helper('INGOT_A', '9')",
    "a block": "with changed('INGOT_A', '9'):\n        x = x * float(os.environ['INGOT_A'])",
    "a branch": "if x.sum() > 9:\n        os.environ['INGOT_A'] = '1'\n    else:\n        os.environ.pop('INGOT_A', None)",
    "an error": "os.environ['INGOT_A'] = '3'\n    if i == 4:\n        raise ValueError('four')",
    "an error of the write": "os.environ['INGOT_B'] = '3'\n    try:\n        os.environ['INGOT_A'] = 3\n"
                             "    except TypeError:\n        x = x + 1",
}
READS = {
    "none": ("", ""), "before": ("x = x + float(os.environ.get('INGOT_A', '0.5'))", ""),
    "behind": ("", "x = x * float(os.environ.get('INGOT_A', '0.5'))"),
    "both": ("a = os.getenv('INGOT_A')", "x = x if a == os.getenv('INGOT_A') else x * 7"),
    "all": ("x = x + len([k for k in os.environ if k[:6] == 'INGOT_'])", "log.append(list(os.environ.items())[-2:])"),
    "prints": ("print(os.environ.get('INGOT_A'))", "print(os.environ.get('INGOT_A'), x.sum().item())"),
    "a host step": ("seen(x)", "y = x * 2"), "a host step that reads": ("", "host(x)"),
    "a host step that asks a library": ("", "ask(x)"),
}
BETWEEN = {"nothing": "pass", "a change": "os.environ['INGOT_A'] = str(10 + i % 2)",
           "the end": "os.environ.pop('INGOT_A', None)", "another": "os.environ['INGOT_B'] = str(i % 2)"}
_GETENV = ctypes.CDLL(None).getenv
_GETENV.restype = ctypes.c_char_p


@pytest.fixture(autouse=True)
def _settings():
    before = dict(os.environ)
    is_deterministic = ingot.are_deterministic_algorithms_enabled()
    ingot.use_deterministic_algorithms(True)        # recordings count instead of seconds
    yield
    ingot.use_deterministic_algorithms(is_deterministic)
    os.environ.clear()
    os.environ.update(before)


def life(write, read, between, wrap, capsys):
    """Return (result, environment of Python, of C code, output, log) of each call, and the function."""
    for name in ("INGOT_A", "INGOT_B", "INGOT_C"):
        os.environ.pop(name, None)
    os.environ["INGOT_B"] = "2"
    os.environ["INGOT_C"] = "2"
    before, behind = READS[read]
    space = {"__name__": "environment", "os": os, "env": os.environ, "put": os.environ.__setitem__, "log": [],
             "seen": jit.host(lambda x: print("host", float(x.sum()))),
             "host": jit.host(lambda x: print("host", os.environ.get("INGOT_A"))),
             "ask": jit.host(lambda x: print("host", os.getenv("INGOT_A")))}
    exec(f"""
import contextlib
def helper(name, value):
    os.environ[name] = value
@contextlib.contextmanager
def changed(name, value):
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before
def fn(x, i):
    {before or 'pass'}
    {WRITES[write]}
    {behind or 'pass'}
    return x * 2
def between(i):
    {BETWEEN[between]}
""", space)
    fn, lives = wrap(space["fn"]), []
    for i in range(CALLS):
        try:
            result = fn(ingot.arange(3.0) + i, i % 2 if write == "a number" else i).tolist()
        except ValueError as error:
            result = str(error)
        environment = [(k, v) for k, v in os.environ.items() if k.startswith("INGOT_")]
        lives.append((result, environment, [_GETENV(name) for name in (b"INGOT_A", b"INGOT_B")], capsys.readouterr().out,
                      space["log"][:]))
        space["between"](i)
    return lives, fn


@pytest.mark.drawn
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("write", WRITES)
def test_each_call_changes_the_environment_as_eager_code_does(write, read, between, capsys):
    with warnings.catch_warnings(action="ignore"):
        eager, _ = life(write, read, between, lambda fn: fn, capsys)
        traced, fn = life(write, read, between, jit.trace, capsys)
        assert life(write, read, between, ingot.compile, capsys)[0] == eager
    assert traced == eager
    if between == "nothing" and "number" not in write and read != "all" and "that" not in read:
        assert fn.stats()["compiles"] <= 4


def test_the_environment_as_bytes_is_refused():
    space = {"__name__": "environment", "os": os}
    exec("def fn(x):\n    os.environb[b'INGOT_A'] = b'3'\n    return x", space)
    with pytest.raises(jit.TraceError, match="environb"):
        jit.trace(space["fn"])(ingot.ones(2))
