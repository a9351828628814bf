"""Objects in C code that a traced function changes in place: sets, arrays, byte strings, files in memory, events.

A row is (how the object is made, what the function does with it, what the caller does between two calls). A trace gives eager's
results and leaves eager's content, at each of five calls; `SETTLES` are rows that are replayed from some call on.
"""

import array
import copy
import io
import textwrap
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import ingot
from ingot import jit

ARRAY, SET, BYTES, FILE, DOUBLES = "np.arange(4.)", "{1, 2}", "bytearray(b'abc')", "io.StringIO('12')", "array('d', [1., 2.])"
SETTLES = {
    "an item of an array": (ARRAY, "o.v[0] = 5.", "o.v[0] = 0"),
    "copyto": (ARRAY, "np.copyto(o.v, np.ones(4))", "o.v[0] = 7"),
    "fill": (ARRAY, "o.v.fill(3.)", "o.v[0] = 7"),
    "out=": (ARRAY, "np.multiply(o.v, 0, out=o.v)", "o.v[:] = 1"),
    "a stored method": (ARRAY, "o.f(3.)", "o.v[0] = 7"),
    "read after it is written": (ARRAY, "o.v[0] = 5.; y = y * float(o.v.sum())", "o.v[0] = 0"),
    "a strided array": ("np.arange(8.)[::2]", "o.v[1] = 9.", "o.v[1] = 2"),
    "an array in Fortran's order": ("np.asfortranarray(np.ones((2, 3)))", "o.v[0, 1] += 1", "o.v[0, 1] = 1"),
    "a zero that gets a sign": ("np.array([0.])", "o.v[0] = -0.0", "o.v[0] = 0."),
    "an array in containers": ("{'k': [np.zeros(2)]}", "o.v['k'][0][0] = 5", "o.v['k'][0][0] = 0"),
    "add": (SET, "o.v.add('k')", "o.v.discard('k')"),
    "discard": (SET, "o.v.discard(1)", "o.v.add(1)"),
    "update of a set": (SET, "o.v |= {7}; y = y * len(o.v)", "o.v.discard(7)"),
    "a set with another order": ("set(range(0, 64, 8))", "o.v.discard(8); o.v.add(72)", "o.v.discard(72); o.v.add(8)"),
    "clear": (SET, "o.v.clear()", "o.v.add(5)"),
    "pop": ("{1}", "y = y * o.v.pop()", "o.v.add(1)"),
    "a set in a dictionary": ("{'k': set()}", "o.v['k'].add(4)", "o.v['k'].clear()"),
    "objects in a set": ("set()", "o.v.add(threading)", "o.v.clear()"),
    "an item of a bytearray": (BYTES, "o.v[0] = 65", "o.v[0] = 0"),
    "a slice of a bytearray": (BYTES, "o.v[0:1] = b'zz'", "del o.v[0]; o.v[0] = 97"),
    "another length": (BYTES, "o.v.append(65); y = y * len(o.v)", "o.v.pop()"),
    "struct": ("bytearray(8)", "struct.pack_into('d', o.v, 0, 2.)", "o.v[:] = bytes(8)"),
    "an item of array.array": (DOUBLES, "o.v[0] = 7.", "o.v[0] = 0."),
    "pop of array.array": (DOUBLES, "y = y * o.v.pop()", "o.v.append(2.)"),
    "a file that is written anew": (FILE, "o.v.seek(0); o.v.truncate(); o.v.write('9')", ""),
    "a file that is read from its start": (FILE, "o.v.seek(0); y = y * float(o.v.read(1))", ""),
    "a file with line ends of its own": ("io.StringIO(newline='\\r\\n')", "o.v.write('a\\nb')", "o.v.seek(0); o.v.truncate()"),
    "a file of bytes": ("io.BytesIO()", "o.v.write(b'ab')", "o.v.seek(0); o.v.truncate()"),
    "an event": ("threading.Event()", "o.v.set()", "o.v.clear()"),
    "an event that is waited for": ("threading.Event()", "o.v.set(); o.v.wait(); o.v.clear()", ""),
}
CHANGES = {
    "another object with the same content": (ARRAY, "o.v[0] = 5.", "o.v = np.arange(4.)"),
    "a counter": (ARRAY, "o.v[1] += 1; y = y * float(o.v[1])", ""),
    "a number": (ARRAY, "o.v[0] = i", ""),
    "a number of a tensor": (ARRAY, "o.v[0] = x.sum().item()", "o.v[0] = 0"),
    "a tensor": (ARRAY, "o.v[:2] = x", "o.v[:2] = 0"),
    "an array of a tensor": (ARRAY, "o.v[:2] = (x * 2).numpy()", "o.v[:2] = 0"),
    "a rounded number of a tensor": (ARRAY, "o.v[0] = round(x.sum().item() * 0.3, 1)", "o.v[0] = 0"),
    "random numbers of ingot": (ARRAY, "o.v[:2] = ingot.rand(2).numpy()", "ingot.manual_seed(i)"),
    "a log": (FILE, "o.v.write(f'{x.sum().item():.2f} {i}')", ""),
    "a file that is read on": ("io.StringIO('123456789')", "y = y * float(o.v.read(1))", ""),
    "numbers in a set": ("set()", "o.v.add(x.sum().item() + i)", "o.v.clear()"),
    "a longer array.array": (DOUBLES, "o.v.append(float(x.sum()))", ""),
    "a view": ("(lambda a: [a, a[1:]])(np.zeros(4))", "o.v[0][1] += 1; y = y * float(o.v[1][0])", ""),
    "bytes under an array": ("(lambda b: [b, np.frombuffer(b, 'u1')])(bytearray(2))",
                             "o.v[0][0] += 1; y = y * int(o.v[1][0])", ""),
    "an array that shares memory later": ("[np.zeros(2), np.zeros(1)]", "o.v[0][1] = 5.; y = y * (1 + float(o.v[1][0]))",
                                          "o.v[0][1] = 0.; o.v[1] = o.v[0][1:] if i == 2 else np.zeros(1)"),
    "a set that is another one later": ("[{1}, {1}]", "o.v[0].add(2); y = y * len(o.v[1])",
                                        "o.v[0].discard(2); o.v[1] = o.v[0] if i == 2 else {1}"),
    "an array and a lock": (ARRAY, "with lock: o.v[0] += 1", ""),
    "a host function that changes it": (ARRAY, "host(lambda: o.v.__setitem__(0, i))()", ""),
    "a host function that reads it": (ARRAY, "o.v[0] += 1; host(lambda: log.append(o.v[0]))()", ""),
    "a host function that changes it, too": (ARRAY, "host(lambda: o.v.__setitem__(0, i))(); o.v[1] += 1", ""),
}
REFUSED = {
    "another shape": ("np.zeros(4)", "o.v.shape = (2, 2)", "it changed o.v"),
    "another dtype": ("np.zeros(4)", "o.v.dtype = np.int64", "it changed o.v"),
    "an array that becomes read-only": ("np.zeros(4)", "o.v.setflags(write=False)", "it changed o.v"),
    "an array of objects": ("np.array([None, 1])", "o.v[0] = i", "it changed o.v"),
    "the memory of a tensor": (ARRAY, "t = ingot.from_numpy(o.v); t.add_(x.sum())", "it changed o.v"),
    "the memory of a tensor, in bytes": ("bytearray(16)", "ingot.frombuffer(o.v, dtype=ingot.float64).add_(x.sum())",
                                         "it changed what it reads"),
    "a host function besides": (ARRAY, "o.v[1] += 1; host(lambda: o.v.__setitem__(0, i))()", "and so does a host function"),
    "a set of a class": ("type('Own', (set,), {})()", "o.v.add(1)", "an Own that lives outside|it changes o.v"),
    "a closed file": (FILE, "o.v.close()", "it changed what it reads"),
}
CALLS = 5


@pytest.fixture(autouse=True)
def _counts_recordings():
    """Let all calls that can be replayed be replayed, however short they are."""
    before = ingot.are_deterministic_algorithms_enabled()
    ingot.use_deterministic_algorithms(True)
    yield
    ingot.use_deterministic_algorithms(before)


def content(x):
    if isinstance(x, dict):
        return {k: content(v) for k, v in x.items()}
    if isinstance(x, list):
        return [content(v) for v in x]
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.str, x.tobytes()
    if isinstance(x, io.StringIO | io.BytesIO):
        return x.getvalue(), x.tell()
    if isinstance(x, threading.Event):
        return x.is_set()
    return [*x]


def life(row, wrap):
    """Return (result, content) of each call, and the function."""
    make, does, between = row
    space = {"__name__": "row", "array": array.array, "io": io, "np": np, "threading": threading, "ingot": ingot,
             "host": jit.host, "lock": threading.Lock(), "log": [], "o": SimpleNamespace(f=None)}
    exec("import struct\n" + f"o.v = {make}\nfirst = o.v\n" + ("o.f = o.v.fill\n" if "o.f" in does else "")
         + f"def fn(x, i):\n    y = x * 2\n{textwrap.indent(does, '    ')}\n    return y\n"
         + f"def between(i):\n    {between or 'pass'}\n", space)
    fn, found = wrap(space["fn"]), []
    ingot.manual_seed(0)
    for i in range(CALLS):
        result = fn(ingot.arange(2, dtype=ingot.float64) + i, i).tolist()
        found.append((result, content(space["o"].v), content(space["first"]), space["log"][-1:]))
        space["between"](i)
    return found, fn


@pytest.mark.parametrize("name", [*SETTLES, *CHANGES])
def test_each_call_changes_them_as_eager_code_does(name):
    row = (SETTLES | CHANGES)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, _ = life(row, lambda fn: fn)
        traced, fn = life(row, jit.trace)
    assert traced == eager
    if name in SETTLES:
        assert fn.stats()["compiles"] <= 3
        assert not fn.stats()["unrecorded"]


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")       # of newer versions of numpy
@pytest.mark.parametrize("name", REFUSED)
def test_changes_that_no_replay_could_make_are_refused(name):
    make, does, why = REFUSED[name]
    with pytest.raises(jit.TraceError, match=why):
        life((make, does, ""), jit.trace)


KEEPS = {"returned": "r = o.v", "returned in a list": "r = [o.v]", "stored": "o.w = o.v", "compared": "r = o.v is first",
         "in a tuple": "r = (o.v, 1)", "returned and replaced": "r = o.v; o.v = copy.copy(o.v)",
         "in a list and replaced": "r = [o.v]; o.v = copy.copy(o.v)", "stored and replaced": "o.w = o.v; o.v = copy.copy(o.v)"}


def kept_life(make, does, wrap):
    """Return which objects each call returns and keeps, as their numbers in the order in which they appear."""
    space = {"__name__": "kept", "np": np, "array": array.array, "io": io, "copy": copy, "o": (o := SimpleNamespace(w=None))}
    exec(f"o.v = first = {make}\ndef fn(x):\n    r, y = None, x * 2\n    {does}\n    return y, r\n", space)
    fn, numbers, found = wrap(space["fn"]), {}, []
    for i in range(CALLS):
        before = o.v
        _, result = fn(ingot.ones(2))
        held = [before, *(result if isinstance(result, list | tuple) else [result]), o.v, o.w]
        found.append([x if isinstance(x, bool) else numbers.setdefault(id(x), (len(numbers), x))[0] for x in held])
        o.v = o.v if i == 2 or "copy" in does else copy.copy(o.v)
    return found


@pytest.mark.parametrize("does", KEEPS)
@pytest.mark.parametrize("make", [SET, ARRAY, BYTES, DOUBLES, "[1]", "{1: 2}"])
def test_objects_that_are_kept_are_those_of_the_call(make, does):
    with warnings.catch_warnings(action="ignore"):
        assert kept_life(make, KEEPS[does], jit.trace) == kept_life(make, KEEPS[does], lambda fn: fn)
