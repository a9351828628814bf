"""Messages of traces: each error, warning, miss and reason of an eager call names line, function, thing and way out.

A row is a program in which `f` is traced and called. `#!` marks the line that the message must name; without a mark it names
the line of `f` itself.
"""

import re
import warnings
from typing import NamedTuple

import pytest

import ingot
from ingot import jit

HEAD = "import ingot\nfrom ingot import jit, nn\nX = ingot.ones(3)\n"
BACK, HOST = "return|outside|inside", r"jit\.host"


class Row(NamedTuple):
    """A program, what its message names, and the way out."""

    name: str
    source: str
    thing: str
    way_out: str


ERRORS = [Row(*row) for row in (
    ("iterator", "it = iter([1., 2., 3.] * 9)\ndef f(x):\n    return x * next(it)", r"\bit\b.*iterator", "argument"),
    ("generator", "gen = (1. * i for i in range(99))\ndef f(x):\n    return x * next(gen)", r"\bgen\b.*iterator", "argument"),
    ("count", "import itertools\nticks = itertools.count()\ndef f(x):\n    return x * next(ticks)", r"\bticks\b", "argument"),
    ("queue, get", "import queue\nq = queue.Queue()\nfor i in range(9): q.put(1.)\ndef f(x):\n    return x * q.get()  #!",
     "queue",
     HOST),
    ("queue, put", "import queue\nq = queue.Queue()\ndef f(x):\n    y = x * 2\n    q.put(1.)  #!\n    return y", "queue", HOST),
    ("random of Python", "import random\ndef f(x):\n    return x * random.random()  #!", "random", "argument|ingot's"),
    ("random of a generator", "import random\nr = random.Random(0)\ndef f(x):\n    return x * r.uniform(0, 1)  #!", "random",
     "argument|ingot's"),
    ("random of numpy", "import numpy as np\ndef f(x):\n    return x * np.random.rand()  #!", "random", "argument|ingot's"),
    ("generator of numpy", "import numpy as np\ng = np.random.default_rng(0)\ndef f(x):\n    return x * g.normal()  #!",
     "random",
     "argument|ingot's"),
    ("clock", "import time\ndef f(x):\n    y = x * 2\n    return y * time.time()  #!", r"time\.time", "argument"),
    ("clock of intervals", "import time\ndef f(x):\n    start = time.perf_counter()  #!\n    return x * start", "perf_counter",
     "argument"),
    ("date", "import datetime\ndef f(x):\n    return x, datetime.datetime.now()  #!", r"datetime", "argument"),
    ("uuid", "import uuid\ndef f(x):\n    return x, str(uuid.uuid4())  #!", "random|uuid", "argument|ingot's"),
    ("urandom", "import os\ndef f(x):\n    return x, os.urandom(2)  #!", "urandom", "argument"),
    ("file to write", "def f(x):\n    with open('out.txt', 'w') as file:  #!\n        file.write('a')\n    return x", "file",
     HOST),
    ("folder", "import os\ndef f(x):\n    return x * len(list(os.scandir('.')))  #!", "scandir", "argument"),
    ("thread", "import threading\ndef f(x):\n    threading.Thread(target=print).start()  #!\n    return x", "thread", HOST),
    ("exception in a log", "import logging\ndef f(x):\n    try:\n        1 / 0\n    except ZeroDivisionError:\n"
     "        logging.getLogger('a').exception('e')  #!\n    return x", "logs an exception", HOST),
    ("grad mode", "def f(x):\n    ingot.set_grad_enabled(not ingot.is_grad_enabled())  #!\n    return x * 2", "grad mode",
     "with"),
    ("attribute of an argument", "def f(x):\n    x.tag = 3\n    return x * 2", "attribute tag", "return"),
    ("attribute read of an argument", "X.tag = 2\ndef f(x):\n    return x * x.tag", "attribute tag", "argument"),
    ("generator returned", "def f(x):\n    return (x * i for i in range(3))", "generator", "return tensors"),
    ("function returned", "def f(x):\n    return lambda: x", "function", "return tensors"),
    ("object with __del__", "class D:\n    def __init__(self):  #!\n        self.a = 1\n    def __del__(self): pass\n"
     "def f(x):\n    D()\n    return x * 2", "__del__", "outside"),
    ("write through globals()", "def f(x):\n    globals()['made'] = x\n    return x", "made", "global made"),
    ("dataclass argument changed", "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int\nd = D(1)\nARGS = (d,)\n"
     "def f(x, d):\n    d.a += 1\n    return x * d.a", "object among its arguments", "return"),
    ("list with itself", "loop = []\nloop.append(loop)\nARGS = (loop,)\ndef f(x, l):\n    return x * len(l)", "contains itself",
     "parts"),
    ("version of a tensor", "def f(x):\n    y = x + 1\n    return y, x._version  #!", "how often", "outside"),
    ("file to save", "def f(x):\n    ingot.save(x, 'x.pt')  #!\n    return x", "saves a file", HOST),
    ("file to load", "def f(x):\n    return ingot.load('nothing.pt')  #!", "loads a file", "outside"),
    ("backward of an older graph", "w = ingot.ones(3, requires_grad=True)\nloss = (w * 2).sum()\ndef f(x):\n"
     "    loss.backward()  #!\n    return x", "backward|ran before", "same traced function"),
    ("host function's result", "@jit.host\ndef count():\n    return 3\ndef f(x):\n    return x * count()  #!",
     "count returned int",
     "tensors"),
    ("data of a view", "base = ingot.ones(4)\nview = base[:3]\ndef f(x):\n    view.data = x * 2  #!\n    return view * 1",
     r"\.data", "copy_|in place|outside|clone|tensor"),
    ("container of another class",
     "import collections\nclass L(list): pass\nlog = L()\ndef f(x):\n    log.append(1)\n    return x",
     "log|list", BACK),
    ("argument of trace", "f = 3", "got int", "function"),
    ("dynamic=", "OPTIONS = dict(dynamic='x')\ndef f(x): return x", "dynamic=", "None, True, False"),
    ("a dimension of dynamic=", "OPTIONS = dict(dynamic={'x': {5: 'n'}})\ndef f(x): return x", "dimension 5 of x",
     "1 dimensions"),
)]

FULLGRAPH = [Row(*row) for row in (
    ("vmap", "def f(x):\n    return x * 2\ndef call(f):\n    ingot.func.vmap(f)(ingot.ones(2, 3))", "inside of vmap",
     "put vmap"),
    ("anomaly", "def f(x):\n    return x * 2\ndef call(f):\n    with ingot.autograd.detect_anomaly(): f(X)", "detect_anomaly",
     "jit.debug"),
    ("function mode", "from ingot.overrides import TorchFunctionMode\nclass M(TorchFunctionMode):\n"
     "    def __torch_function__(self, f, types, args=(), kwargs=None): return f(*args, **(kwargs or {}))\n"
     "def f(x):\n    return x * 2\ndef call(f):\n    with M(): f(X)", "TorchFunctionMode", "inside of the traced function"),
    ("saved tensors", "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    return x * w\ndef call(f):\n"
     "    with ingot.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): f(X)", "saved_tensors_hooks", "checkpoint"),
    ("replaced objects", "class C: pass\nh = C()\nh.value = C()\ndef f(x):\n    h.value = C()\n    return x * 2\ndef call(f):\n"
     "    for i in range(9): f(X)", r"puts a C that it has made into h\.value", "make it outside"),
    ("too many values", "def f(x):\n    return x * float(str(x.sum().item()))\ndef call(f):\n"
     "    for i in range(80): f(ingot.full((2,), 1. * i))", "recorded too often", "misses"),
    ("host function that writes", "log = []\n@jit.host\ndef note(v):\n    log.append(1)\ndef f(x):\n    note(x)\n"
     "    return x * len(log)\ndef call(f):\n    for i in range(9): f(X)", "host function note changes",
     "return what is needed"),
)]

MISSES = [Row(*row) for row in (
    ("number", "def f(x, k): return x * k\nCALLS = [(X, 2.), (X, 3.)]", "k is 3.0, and was recorded as 2.0", "symbolic"),
    ("number, its value used", "def f(x, k):\n    return x * k if k != 4 else x\nCALLS = [(X, 2.), (X, 3.), (X, 4.)]",
     r"k - ?4|k-4|k [!<=]", "tensors"),
    ("item of a dictionary", "def f(x, d): return x * d['a'] + d['b']\nCALLS = [(X, dict(a=1., b=1)), (X, dict(a=2., b=1))]",
     r"d\['a'\] is 2\.0", "symbolic"),
    ("shared list", "l = [1, 2]\ndef f(x, a, b, c): return x * a[0] + b[0] * c\nCALLS = [(X, l, l, 3), (X, l, l, 5)]", "c is 5",
     "symbolic"),
    ("slice", "def f(x, s): return x[s]\nCALLS = [(X, slice(0, 2)), (X, slice(0, 1))]", r"s\.stop is 1", "symbolic"),
    ("named tuple", "import collections\nP = collections.namedtuple('P', 'a b')\ndef f(x, p): return x * p.b\n"
     "CALLS = [(X, P(1, 2)), (X, P(1, 3))]", r"p\.b is 3", "symbolic"),
    ("dataclass", "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass D:\n    lr: float\n    t: object\n"
     "def f(x, d): return x * d.lr\nCALLS = [(X, D(1., X)), (X, D(2., X))]", r"d\.lr is 2\.0", "symbolic"),
    ("rest of the arguments", "def f(x, *rest): return x * rest[1]\nCALLS = [(X, 1., 2.), (X, 1., 3.)]", r"rest\[1\] is 3\.0",
     "symbolic"),
    ("numpy scalar", "import numpy as np\ndef f(x, n): return x * n\nCALLS = [(X, np.float32(1)), (X, np.float32(2))]",
     r"n is 2\.0", "symbolic"),
    ("size", "def f(x): return x * 2\nCALLS = [(ingot.ones(n),) for n in (3, 4)]", r"x\.shape\[0\] is 4", "symbolic"),
    ("attribute, a number", "class C: s = 1\nc = C()\ndef f(x): return x * c.s\nCHANGE = lambda i: setattr(c, 's', i)",
     r"c\.s was",
     "read at each call"),
    ("looked-up number", "class C: s = 1\nc = C()\nc.s = 1\ndef f(x): return x * c.s if c.s != 3 else x\n"
     "CHANGE = lambda i: setattr(c, 's', i + 1)", r"needs c\.s", "tensors"),
    ("attribute, text", "class C: pass\nc = C()\nc.kind = '0'\ndef f(x): return x * len(c.kind)\n"
     "CHANGE = lambda i: setattr(c, 'kind', str(i) * i)", r"c\.kind was", "leave it as it is"),
    ("global list", "log = []\ndef f(x): return x * sum(log)\nCHANGE = log.append", "log", "leave|read at each call"),
    ("module's attribute", "class N(nn.Module):\n    kind = 'a'\n    def forward(self, x):\n        return x * len(self.kind)\n"
     "f = N()\nCHANGE = lambda i: setattr(f, 'kind', 'b' * i)", r"kind", "leave it as it is"),
    ("module's parameter removed", "f = nn.Linear(3, 2)\nCHANGE = lambda i: i == 1 and f.register_parameter('bias', None)",
     r"Linear\.bias was", "leave it as it is"),
    ("gradient", "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    (x * w).sum().backward()", "a gradient that was None",
     "few"),
    ("value",
     "def f(x):\n    return x * float(str(x.sum().item()))  #!\nCALLS = [(ingot.full((2,), 1. * i),) for i in range(3)]",
     "item.. gave 4.0", "tensors"),
    ("whole number",
     "def f(x):\n    return x * len('a' * int(x.sum()))  #!\nCALLS = [(ingot.full((2,), 1. * i),) for i in range(3)]",
     "item.. gave 4", "tensors"),
    ("array", "import numpy as np\ndef f(x, a): return x * float(a.mean())\nCALLS = [(X, np.ones(3) * i) for i in range(3)]",
     "a is a numpy array", "as_tensor"),
)]


def load(row, tmp_path):
    """Run the program of a row from a file; return (its namespace, file, marked line or None)."""
    file, source = tmp_path / "program.py", HEAD + row.source + "\n"
    file.write_text(source)
    space = {"__name__": "program"}
    exec(compile(source, str(file), "exec"), space)
    marked = [n for n, line in enumerate(source.splitlines(), 1) if line.endswith("#!")]
    return space, str(file), marked[0] if marked else None


def check(text, row, file, line, fn):
    """Compare a message with what its row asks for."""
    code = getattr(getattr(fn, "forward", fn), "__code__", None)
    if code is not None:
        here = code.co_firstlineno if line is None else line
        where = f"{file}:{here}" if file == code.co_filename else f"{code.co_filename}:"
        assert where in text, text
        assert re.search(r"\bin [\w.<>]+\]", text), text
    assert re.search(row.thing, text), text
    assert re.search(row.way_out, text), text


@pytest.fixture(autouse=True)
def _modes():
    yield
    ingot.set_grad_enabled(True)


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row.name)
def test_errors_name_the_line_the_thing_and_a_way_out(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, file, line = load(row, tmp_path)
    with pytest.raises(jit.TraceError) as error:
        traced = jit.trace(space["f"], **space.get("OPTIONS", {}))
        for _ in range(3):
            traced(space["X"], *space.get("ARGS", ()))
    if not isinstance(space["f"], int):
        check(str(error.value), row, file, line, space["f"])


@pytest.mark.parametrize("row", FULLGRAPH, ids=lambda row: row.name)
def test_eager_calls_are_counted_with_their_reason_and_raise_with_fullgraph(row, tmp_path):
    space, file, line = load(row, tmp_path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loose = jit.trace(space["f"])
        space["call"](loose)
    reasons = [reason for reason in loose.stats()["eager"] if re.search(row.thing, reason)]
    assert reasons and loose.stats()["unrecorded"] == sum(loose.stats()["eager"].values()), loose.stats()["eager"]
    for warning in [str(w.message) for w in said if issubclass(w.category, jit.TracerWarning)]:
        assert re.search(rf"{file}:\d+.*\bin f\]|\bin f\]", warning), warning
    space, file, line = load(row, tmp_path)
    with pytest.raises(jit.TraceError, match="fullgraph=True") as error, warnings.catch_warnings(action="ignore"):
        space["call"](jit.trace(space["f"], fullgraph=True))
    check(str(error.value), row, file, line, space["f"])
    with pytest.raises(jit.TraceError, match="fullgraph=True"), warnings.catch_warnings(action="ignore"):
        space["call"](ingot.compile(load(row, tmp_path)[0]["f"], fullgraph=True))


@pytest.mark.parametrize("row", MISSES, ids=lambda row: row.name)
def test_misses_name_the_line_the_thing_and_a_way_out(row, tmp_path):
    space, file, line = load(row, tmp_path)
    traced = jit.trace(space["f"])
    for i in range(4):
        for args in space.get("CALLS", [(space["X"],)]):
            traced(*args)
        space.get("CHANGE", int)(i)
    misses = traced.stats()["misses"]
    assert len(misses) > 1
    text = next((text for text in misses[1:] if re.search(row.thing, text)), misses[-1])
    check(text, row, file, line, space["f"])
    assert not re.search(r"\b(number|size) \d+\b", " ".join(misses))


def test_calls_in_another_trace_and_without_traces_are_counted_and_allowed():
    inner = jit.trace(lambda x: x * 2, fullgraph=True)
    outer = jit.trace(lambda x: inner(x) + 1)
    x = ingot.ones(2)
    for _ in range(3):
        outer(x)
    with ingot.compiler.set_stance("force_eager"):
        inner(x)
    (first, one), (second, other) = inner.stats()["eager"].items()
    assert (one, other) == (1, 1) and "another traced function" in first and "traces are off" in second


def test_a_first_call_that_fills_a_cache_is_counted_and_allowed():
    """The next call is recorded, so it is no reason against one graph."""
    layer = jit.trace(ingot.nn.LazyLinear(2), fullgraph=True)
    for _ in range(3):
        layer(ingot.ones(1, 3))
    assert layer.stats()["compiles"] == 1 and any("took its sizes" in reason for reason in layer.stats()["eager"])
