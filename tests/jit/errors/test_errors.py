"""Messages of traces: each error, warning, miss and reason of an eager call names line, function, thing and way out.

A row is a program in which `f` is traced and called. `#!` marks the line that the message must name; without a mark it names
the line of `f` itself.
"""

import contextlib
import os
import random
import re
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import ingot
import message_sites
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
    ("iterator", "it = iter([1., 2., 3.] * 9)\ndef f(x):\n    return x * next(it)  #!", r"\bit\b.*iterator", "argument"),
    ("generator", "gen = (1. * i for i in range(99))\ndef f(x):\n    return x * next(gen)  #!", r"\bgen\b.*iterator",
     "argument"),
    ("count in a loop", "import itertools\nticks = itertools.count()\ndef f(x):\n    for n in ticks:  #!\n        return x * n",
     r"\bticks\b", "argument"),
    ("iterator in a list", "its = [iter([1., 2., 3.] * 9)]\ndef f(x):\n    for it in its:\n        for v in it:  #!\n"
     "            return x * v", r"its\[0\], an iterator", "argument"),
    ("item of a cursor", "import sqlite3\nbase = sqlite3.connect(':memory:')\nrows = [base.execute('select 1.0')]\n"
     "def f(x):\n    for row in rows:\n        (a,), = row  #!\n    return x * a", r"rows\[0\], an iterator", "argument"),
    ("queue, get", "import queue\nq = queue.Queue()\nfor i in range(9): q.put(1.)\ndef f(x):\n    return x * q.get()  #!",
     "queue",
     HOST),
    ("queue, put", "import queue\nq = queue.Queue()\ndef f(x):\n    y = x * 2\n    q.put(1.)  #!\n    return y", "queue", HOST),
    ("random of Python", "import random\ndef f(x):\n    return x * random.getrandbits(80)  #!", "random",
     "argument|ingot's"),
    ("random of a generator", "import random\nr = random.Random(0)\ndef f(x):\n    return x * r.getrandbits(80)  #!",
     "random", "argument|ingot's"),
    ("random of numpy", "import numpy as np\ndef f(x):\n    return x * np.random.bytes(2)[0]  #!", "random",
     "argument|ingot's"),
    ("generator of numpy", "import numpy as np\ng = np.random.default_rng(0)\ndef f(x):\n"
     "    return x * g.bytes(2)[0]  #!", "random", "argument|ingot's"),
    ("date", "import datetime\ndef f(x):\n    return x, datetime.datetime.now()  #!", r"datetime", "argument"),
    ("uuid", "import uuid\ndef f(x):\n    return x, str(uuid.uuid4())  #!", "random|uuid", "argument|ingot's"),
    ("urandom", "import os\ndef f(x):\n    return x, os.urandom(2)  #!", "urandom", "argument"),
    ("file to write", "def f(x):\n    with open('out.txt', 'w') as file:  #!\n        file.write('a')\n    return x", "file",
     HOST),
    ("folder", "import os\ndef f(x):\n    return x * len(list(os.scandir('.')))  #!", "scandir", "argument"),
    ("thread", "import threading\ndef f(x):\n    threading.Thread(target=print).start()  #!\n    return x", "thread", HOST),
    ("stream of a program", "import json, sys\ndef f(x):\n    json.dump([1], sys.stdout)  #!\n    return x", r"sys\.stdout",
     r"print\(\)"),
    ("copied state of a library", "import copy, zlib\nclass H: pass\nh = H()\nh.z = zlib.compressobj()\ndef f(x):\n"
     "    copy.deepcopy(h)  #!\n    return x", r"copies h\.z", HOST),
    ("exception in a log", "import logging\ndef f(x):\n    try:\n        1 / 0\n    except ZeroDivisionError:\n"
     "        logging.getLogger('a').exception('e')  #!\n    return x", "logs an exception", HOST),
    ("grad mode", "def f(x):\n    ingot.set_grad_enabled(not ingot.is_grad_enabled())  #!\n    return x * 2", "grad mode",
     "with"),
    ("attribute of an argument", "def f(x):\n    x.tag = 3\n    return x * 2", "attribute tag", "return"),
    ("attribute read of an argument", "X.tag = 2\ndef f(x):\n    return x * x.tag", "attribute tag", "argument"),
    ("generator returned", "def f(x):\n    return (x * i for i in range(3))", "generator", "return tensors"),
    ("part of an array of objects", "import numpy as np\nA = np.empty(3, object)\ndef f(x):\n    return x, A[1:]",
     "view of an array of objects", "copy of the array"),
    ("function run in a context", "import contextvars\nC = contextvars.copy_context()\ndef f(x):\n    return C.run(abs, x)  #!",
     "sets context variables", "by itself"),
    ("function returned", "def f(x):\n    return lambda: x", "function", "return tensors"),
    ("object with __del__", "class D:\n    def __init__(self):  #!\n        self.a = 1\n    def __del__(self): pass\n"
     "def f(x):\n    D()\n    return x * 2", "__del__", "outside"),
    ("dictionary of a library", "def f(x):\n    import math\n    return x * math.__dict__['pi']", "math.__dict__", "math.name"),
    ("write through globals()", "def f(x):\n    globals()['made'] = x\n    return x", "made", "global made"),
    ("dataclass argument changed", "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int\nd = D(1)\nARGS = (d,)\n"
     "def f(x, d):\n    d.a += 1\n    return x * d.a", "object among its arguments", "return"),
    ("list with itself", "loop = []\nloop.append(loop)\nARGS = (loop,)\ndef f(x, l):\n    return x * len(l)", "contains itself",
     "parts"),
    ("version of a tensor", "def f(x):\n    y = x + 1\n    return y, x._version  #!", "how often", "outside"),
    ("file to save", "def f(x):\n    ingot.save(x, 'x.pt')  #!\n    return x", "saves a file", HOST),
    ("file to load", "def f(x):\n    return ingot.load('nothing.pt')  #!", "loads a file", "outside"),
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
    ("file by number",
     "import os\nend, _ = os.pipe()\ndef f(x):\n    with open(end, closefd=False):  #!\n        return x",
     "no file", "argument"),
    ("path that is none",
     "import os\ndef f(x):\n    return x * os.path.exists(0)  #!",
     "no path", "argument"),
    ("switch left changed",
     "def f(x):\n    ingot.set_num_threads(1 + ingot.get_num_threads() % 2)  #!\n    return x * 2",
     "leaves .* changed", "outside"),
    ("context variable reset",
     "import contextvars\nv = contextvars.ContextVar('v', default=0)\ntoken = v.set(1)\ndef f(x):\n    v.reset(token)  #!\n"
     "    return x * 2",
     "context variable v", "outside"),
    ("resize of a view",
     "base = ingot.ones(4)\nv = base[:2]\ndef f(x):\n    v.resize_(3)  #!\n    return x * v.sum()",
     "is a view", "outside"),
    ("resize of a parameter",
     "w = ingot.ones(4, requires_grad=True)\ndef f(x):\n    with ingot.no_grad():\n        w.t_()  #!\n    return x",
     "requires grad", "outside"),
    ("gradient of no leaf",
     "w = ingot.ones(3, requires_grad=True)\ny = w * 2\ny.retain_grad()\ny.sum().backward()\ndef f(x):\n"
     "    return x * y.grad  #!",
     "no leaf", "argument"),
    ("gradient of no leaf, set",
     "w = ingot.ones(3, requires_grad=True)\ny = w * 2\ndef f(x):\n    y.grad = x  #!\n    return x",
     "no leaf", "argument"),
    ("state of a generator",
     "g = ingot.Generator()\nstate = g.get_state()\nclass H: pass\ndef f(x):\n    return x, g.get_state() + 1  #!",
     "state of a random generator", "outside"),
    ("generator put back",
     "g = ingot.Generator()\nstate = g.get_state()\ndef f(x):\n    g.set_state(state)  #!\n    return x",
     "into a state", "seed"),
    ("array written later",
     "def f(x):\n    y = x * 2\n    a = y.numpy()\n    a[0] = 5.\n    return y",
     "was written", "copy"),
    ("tensor written at backward",
     "seen = ingot.ones(3)\nw = ingot.ones(3, requires_grad=True)\ndef write(g):\n    seen.add_(1)  #!\n"
     "def f(x):\n    y = x * w\n    y.register_hook(write)\n    return y",
     "writes to a tensor in place", "inside"),
    ("random numbers at backward",
     "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    y = x * w\n"
     "    y.register_hook(lambda g: g * ingot.rand(3))\n    return y",
     "random numbers", "inside"),
    ("number that a backward reads",
     "k = 1.\nw = ingot.ones(3, requires_grad=True)\ndef f(x):\n    global k\n    y = x * w\n"
     "    y.register_hook(lambda g: g * k)\n    k += 1\n    return y",
     r"writes to k\b", "inside"),
    ("ctx changed at backward",
     "w = ingot.ones(3, requires_grad=True)\nclass F(ingot.autograd.Function):\n    @staticmethod\n"
     "    def forward(ctx, x):\n        ctx.n = 0\n        return x * 1\n    @staticmethod\n"
     "    def backward(ctx, g):\n        ctx.n += 1\n        return g\ndef f(x):\n    return F.apply(x * w)",
     r"F\.backward.*ctx", "inside"),
    ("iterator that a hook moves on",
     "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    y = x * w\n    steps = iter([1., 2.])\n"
     "    y.register_hook(lambda g: g * next(steps))\n    return y",
     "a hook.*changes an object", "inside"),
    ("attribute of a grad_fn from outside",
     "w = ingot.ones(3, requires_grad=True)\ny = w * 2\ny.grad_fn.mark = 1\ndef f(x):\n    return x * y * y.grad_fn.mark  #!",
     "the grad_fn of a tensor from outside", "argument"),
    ("hook at backward",
     "log = []\nw = ingot.ones(3, requires_grad=True)\ndef f(x):\n    y = x * w\n"
     "    y.register_hook(lambda g: log.append(1))\n    return y",
     "hook that runs", "inside"),
    ("leaf handed out",
     "def f(x):\n    w = ingot.ones(3, requires_grad=True)\n    return w, w * x",
     "requires grad, which it has made", "outside"),
    ("host function and list",
     "log = []\n@jit.host\ndef note(v):\n    log.append(1)\ndef f(x):\n    log.append(2)\n    note(x)  #!\n    return x",
     "changes log, and so does a host function", "one of them"),
    ("argument reached otherwise",
     "held = [1]\nARGS = (held,)\ndef f(x, l):\n    l.append(2)\n    return x * len(held)",
     "held, a container that is an argument", "one of the two"),
    ("equal sizes of dynamic=",
     "OPTIONS = dict(dynamic={'x': {0: 'n', 1: 'n'}})\nX = ingot.ones(2, 3)\ndef f(x): return x",
     "sizes named n", "different names"),
    ("class without calls",
     "class f: pass",
     "cannot be called", "trace its methods"),
    ("module with slots",
     "class N(nn.Module):\n    __slots__ = ('a',)\n    def forward(self, x): return x\nf = N()",
     "cannot stay", "forward"),
    ("attribute of an argument compared by value",
     "class C:\n    def __init__(self): self.a = 1\n    def __eq__(self, o): return True\n"
     "    def __hash__(self): return 1\nARGS = (C(),)\ndef f(x, c):\n    c.a = x\n    return x * 2",
     "assigns to", "return the value"),
    ("sparse gradient",
     "e = nn.Embedding(4, 2, sparse=True)\ne(ingot.tensor([1])).sum().backward()\ndef f(x):\n"
     "    return x * e.weight.grad.coalesce().values().sum()  #!",
     "sparse gradient", "clear it"),
    ("python's generator by a library",
     "import random, statistics\nd = statistics.NormalDist(0, 1)\ndef f(x):\n    return x * d.samples(1)[0]",
     "random numbers", "argument"),
    ("condition changed",
     "import os\ndef f(x):\n    a = os.environb.get(b'Q')\n    os.environb[b'Q'] = b'b'\n    return x",
     r"changed os\.environb", "return the value"),
    ("data over another",
     "w = ingot.ones(3)\ndef f(x):\n    y = x * 2\n    w.data = y\n    return y, y[:2]",
     r"sets \.data", "clone"),
    ("value in backward",
     "class F(ingot.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n"
     "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n"
     "        return g * 2 if ctx.saved_tensors[0].sum() > 0 else g\nw = ingot.ones(3, requires_grad=True)\ndef f(x):\n"
     "    return F.apply(x * w)",
     "going backward", "inside"),
    ("host function changes an argument later",
     "n = []\nARGS = ([1],)\n@jit.host\ndef h(v):\n    n.append(1)\n    if len(n) > 1: ARGS[0].append(1)\ndef f(x, l):\n"
     "    h(x)\n    return x * len(l)",
     "is an argument of the traced", "return what is new"),
    ("data of a view beside its base",
     "b = ingot.ones(4)\nv = b[:2]\ndef f(x):\n    y = b * 2\n    v.data = x[:2] * 1  #!\n    return y",
     r"sets \.data of a tensor that is a view", "copy_"),
    ("other memory",
     "w = ingot.ones(3)\ndef f(x):\n    y = x * 2\n    y.set_(w)  #!\n    return y",
     "set_ gives a tensor other memory", "new tensor"),
    ("data of another kind",
     "w = ingot.ones(2, 3, requires_grad=True)\ndef f(x):\n    y = w * 2\n    y.data = x  #!\n    return y",
     r"sets \.data of a tensor of float32\[2, 3\] to one of float32\[3\]", "keep its kind"),
    ("data behind a window",
     "w = ingot.ones(2)\ndef f(x):\n    w.set_(x)\n    w.data = x[1:]  #!\n    return x",
     r"sets \.data of a tensor behind set_\(\)", "one of the two"),
    ("other memory under a history",
     "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    y = w * 2\n    with ingot.no_grad():\n        y.set_(x)  #!\n"
     "    return y",
     "set_ changes the memory of a tensor that requires grad", "new tensor"),
    ("detached in place, and requires grad again", "w = ingot.ones(3, requires_grad=True) * 2\ndef f(x):\n    w.detach_()\n"
     "    w.requires_grad_()  #!\n    return x * w", "detaches", "detach|outside"),
    ("hook on a leaf of its own",
     "def f(x):\n    y = x.detach().requires_grad_()\n    y.register_hook(lambda g: g * 2)  #!\n    return y",
     "returns a leaf that it made, with a hook on it", "outside"),
    ("hook on a parameter",
     "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    (x * w).sum().backward()\n"
     "    w.register_post_accumulate_grad_hook(lambda p: None)\n    return x",
     "registers a hook", "outside"),
    ("hook on a view that is written",
     "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    v = x[1:]\n    v.mul_(w[1:])\n"
     "    v.register_hook(lambda g: g * 2)  #!\n    return v",
     "hook on a view", "outside"),
    ("class of a number by another name of type", "kind_of = type\ndef f(x):\n    return kind_of(x.sum().item())  #!",
     "class of a number", r"write type\(x\)"),
    ("other sizes of memory that is written", "X = ingot.ones(2, 3)\nARGS = X[0],\ndef f(x, row):\n    x.mul_(2.0)\n"
     "    x.t_()  #!\n    return x", "several tensors", "clone"),
    ("both ways", "OPTIONS = dict(fullgraph=True, refuse=False)\ndef f(x): return x", "fullgraph=True raises", "one of them"),
    ("a dimension of dynamic=", "OPTIONS = dict(dynamic={'x': {5: 'n'}})\ndef f(x): return x", "dim 5 of x",
     "1 dims"),
    ("host function writes to a tensor later",
     "OPTIONS = dict(fullgraph=True)\nn = []\n@jit.host\ndef h(v):\n    n.append(1)\n    if len(n) > 2: v.add_(1)\n"
     "def f(x):\n    y = x * 2\n    h(y)\n    return y",
     "host function h has written to a tensor", r"clone\(\)"),
    ("host function draws later",
     "OPTIONS = dict(fullgraph=True)\nn = []\n@jit.host\ndef h(v):\n    n.append(1)\n    if len(n) > 2: ingot.rand(1)\n"
     "def f(x):\n    h(x)\n    return x + ingot.rand(3)",
     "draws random numbers", "in one of them"),
    ("host function writes where the function does",
     "OPTIONS = dict(fullgraph=True)\nclass C: pass\nc = C()\nc.a = 0\nn = []\n@jit.host\ndef h(v):\n    n.append(1)\n"
     "    if len(n) > 2: c.a = 5\ndef f(x):\n    h(x)\n    c.a = x\n    return x * 2",
     r"has changed c\.a", "one of them"),
    ("key that was made",
     "class K: pass\ndef f(x):\n    return {K(): x}",
     "key that it has made, a K", "numbers or strings"),
    ("answer that the function changes",
     "import os\ndef f(x):\n    here = len(os.getcwd())\n    os.chdir('/')\n    return x * here",
     r"os\.getcwd\(\) was", "outside"),
    ("file that the function makes",
     "import os\ndef f(x):\n    there = os.path.exists('made')\n    os.makedirs('made')\n    return x * there",
     "the file made was 'missing'", "outside"),
    ("setting of numpy that the function changes",
     "import numpy as np\ndef f(x):\n    known = len(np.geterr())\n    np.seterr(all='ignore')\n    return x * known",
     r"changed what it reads: numpy\.geterr\(\)", "outside"),
    ("history that was freed",
     "w = ingot.ones(3, requires_grad=True)\nt = w * w\nt.sum().backward()\ndef f(x):\n    t.mul_(w)  #!\n    return t * 1",
     "writes in place to a tensor from outside", r"no_grad\(\)"),
    ("argument that is compared",
     "held = [1.]\ndef f(x, l, k):\n    return x * k if l is held else x\nCALLS = [(X, held, 2.), (X, held, 3.)]",
     "an argument is the list that it reaches otherwise", "one way"),
    ("code in C that takes no number",
     "import datetime\nlog = []\ndef f(x, k):\n    log.append(1)\n    return x * datetime.timedelta(k).days  #!\n"
     "CALLS = [(X, 2.), (X, 3.)]",
     "timedelta", HOST),
    ("object that cannot be pickled",
     "import types\nspace = {'__name__': 'sympy'}\n"
     "exec('class S:\\n    def __reduce__(self): raise TypeError\\n    def value(self): return 2.', space)\ns = space['S']()\n"
     "def f(x):\n    return x * s.value()",
     "it reaches s, a S", HOST),
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
    ("class of a module", "class A(nn.Module):\n    def forward(self, x): return x\nclass B(A): pass\nnet = A()\n"
     "def f(x):\n    net.__class__ = B\n    return net(x)\ndef call(f):\n    for i in range(9): f(X)",
     r"class of [AB] at \S+:\d+", "outside"),
    ("attribute of a class",
     "class C: n = 0\nc = C()\nc.n = 1\ndef f(x):\n    c.n += 1\n    C.n = c.n\n    return x * c.n\n"
     "def call(f):\n    for i in range(9): f(X)", r"assigns to C\.n", "outside"),
    ("rule of a container", "import collections\nd = collections.defaultdict(int)\ndef f(x):\n"
     "    d.default_factory = float if d.default_factory is int else int\n    return x * 2\ndef call(f):\n"
     "    for i in range(3): f(X)", "default_factory of d was changed", "outside"),
    ("attribute in C code", "import numpy as np\nkind, n = np.dtype([('a', 'f4')]), 0\ndef f(x):\n    global n\n    n += 1\n"
     "    kind.names = (f'a{n}',)\n    return x * 2\ndef call(f):\n    for i in range(9): f(X)",
     r"changed kind\.names", "outside"),
    ("new attribute of a library's object", "import numpy as np\nkind = object.__new__(np.finfo)\ndef f(x):\n"
     "    kind.extra = 1\n    return x * 2\ndef call(f):\n    for i in range(9):\n        vars(kind).pop('extra', None)\n"
     "        f(X)",
     r"changed kind\.extra", "outside"),
    ("replaced objects", "class C: pass\nh = C()\nh.value = len\ndef f(x):\n    h.value = lambda: 3\n    return x * 2\n"
     "def call(f):\n    for i in range(9): f(X)", r"puts a function that it has made into h\.value", "make it outside"),
    ("part of an array that is left", "class S: pass\ns = S()\ndef f(x):\n    s.a = x.numpy()[1:]\n    return x * 2\n"
     "def call(f):\n    f(X)", "memory of an array", "copy"),
    ("host function that writes a tensor", "@jit.host\ndef h(v):\n    v.add_(1)\ndef f(x):\n    y = x * 2\n    h(y)\n"
     "    return y\ndef call(f):\n    for i in range(3): f(X)", "host function h writes to a tensor", r"clone\(\)"),
    ("too many values", "def f(x):\n    return x * float(str(x.sum().item()))\ndef call(f):\n"
     "    for i in range(80): f(ingot.full((2,), 1. * i))", "recorded too often", "misses"),
    ("host function that writes", "log = []\n@jit.host\ndef note(v):\n    log.append(1)\ndef f(x):\n    note(x)\n"
     "    return x * len(log)\ndef call(f):\n    for i in range(9): f(X)", "host function note changes",
     "return what is needed"),
    ("frames at each call", "import sys\ndef f(x):\n    return x * len(sys._getframe(0).f_code.co_name)  #!\n"
     "def call(f):\n    for i in range(3): f(X)", r"_getframe\(\) was called at", "a recording cannot"),
    ("computed names at each call", "rate = 2.\ndef f(x):\n    return x * globals()['ra' + 'te'[:len(x)]]\ndef call(f):\n"
     "    for i in range(3): f(X)", r"names in globals\(\)", "a recording cannot"),
    ("id of a list at each call", "seen = {}\ndef f(x, l):\n    seen[id(l)] = 1\n    return x * 2\ndef call(f):\n"
     "    for i in range(3): f(X, [1])", r"takes the id\(\) of a list", "a recording cannot"),
    ("a cache filled at each call", "import functools\n@functools.lru_cache(None)\ndef c(n): return n + 1\nn = [0]\n"
     "def f(x):\n    n[0] += 1\n    return x * c(n[0])\ndef call(f):\n    for i in range(3): f(X)", "to fill its cache",
     "a recording cannot"),
)]

LATER = [Row(*row) for row in (
    ("backward of an older graph", "w = ingot.ones(3, requires_grad=True)\nloss = (w * 2).sum()\ndef f(x):\n"
     "    loss.backward()  #!\n    return x", "backward|ran before", "same traced function"),
    ("tensor that was never used",
     "w = ingot.ones(3, requires_grad=True)\ny = (w * 2)\ndef f(x):\n    (x * y).sum().backward()  #!\n    return x",
     "goes through MulBackward0, which was computed before the call", "same traced function"),
    ("saved by an older graph",
     "w = ingot.ones(3, requires_grad=True)\nloss = (w * w).sum()\ndef f(x):\n"
     "    loss.backward(retain_graph=True)  #!\n    return x",
     "goes through SumBackward0, which was computed before the call", "same traced function"),
    ("cache filled", "import functools\n@functools.lru_cache(None)\ndef c(n): return n + 1\nn = [0]\ndef f(x):\n"
     "    n[0] += 1\n    return x * c(n[0])", r"c\(\) was run to fill its cache", "a recording cannot"),
    ("order of a dictionary", "d = {'a': 1, 'b': 2}\ndef f(x):\n    d['a'] = d.pop('a')\n    return x * 2",
     "order of d was changed", "a recording cannot"),
    ("container that was made", "class C: pass\nc = C()\nc.s = {1}\nn = [0]\ndef f(x):\n    n[0] += 1\n"
     "    c.s = {n[0], 'a'}\n    return x * 2", r"puts a set that it has made into c\.s", "make it outside"),
    ("module that is restructured",
     "net = nn.Linear(3, 3)\ndef f(x):\n    y = net(x)\n    net._buffers['q'] = x\n    return y",
     "changed the parameters, children or hooks of a Linear", "outside"),
    ("container put and changed",
     "r = {}\nL = list(range(9))\ndef f(x):\n    r['l'] = L\n    L.pop(0)\n    return x * len(r)",
     "puts L into an empty place", "a recording cannot"),
    ("tensor with an attribute",
     "class C: pass\nc = C()\ndef f(x):\n    y = x * 2\n    y.tag = lambda: 1\n    c.y = y\n    return x",
     "a tensor with an attribute that is a function", "make it outside"),
    ("tensor over an array",
     "import numpy as np\na = np.ones(3)\nkept = []\ndef f(x):\n    kept.append(ingot.from_numpy(a)[1:])\n    return x * 2",
     "leaves a tensor over the memory of an array from outside", "leave a clone"),
    ("object of a library that is changed",
     "space = {'__name__': 'sympy'}\nexec('class S:\\n    a = 1\\n    def __reduce__(self): return list, ([self.a],)\\n'\n"
     "     '    def bump(self):\\n        self.a += 1\\n        return 2.', space)\ns = space['S']()\ndef f(x):\n"
     "    return x * s.bump()",
     "it changed what s holds", "outside"),
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
    ("gradient", "w = ingot.ones(3, requires_grad=True)\ndef f(x):\n    (x * w).sum().backward()",
     r"the gradient of w was None, and is set", "few"),
    ("gradient of a parameter", "m = nn.Linear(3, 2)\ndef f(x):\n    m(x).sum().backward()",
     r"the gradient of Linear\.weight was None, and is set", "few"),
    ("gradient of an argument", "w = ingot.ones(2, requires_grad=True)\ndef f(x):\n    x['w'].square().sum().backward()\n"
     "CALLS = [({'w': w},)] * 3", r"the gradient of x\['w'\] was None, and is set", "few"),
    ("captured tensor", "w = ingot.ones(3)\ndef f(x): return x * w\nCHANGE = lambda i: w.requires_grad_(i == 1)",
     r"w now requires grad", "few"),
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


def calls_of(space) -> list:
    """Return the arguments of each call that a program asks for."""
    return space.get("CALLS", [(space["X"], *space.get("ARGS", ()))])


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
        for args in 3 * calls_of(space):
            traced(*args)
    if not isinstance(space["f"], int):
        check(str(error.value), row, file, line, space["f"])


NOT_OF_CALLS = frozenset(("argument of trace", "class without calls", "module with slots"))      # raised by `trace` itself
# They give another result at each call, or in each process.
EACH_TIME = frozenset(("clock", "clock of intervals", "date", "uuid", "urandom", "state of a generator", "generator put back"))
# Rows that raise in compiled functions, too, and why.
_TWICE = "the recording has run a hook or a backward of the user's, which eager code does not"
LOUD = {
    "tensor written at backward": _TWICE,
    "random numbers at backward": _TWICE,
    "ctx changed at backward": _TWICE,
    "iterator that a hook moves on": _TWICE,
    "hook at backward": _TWICE,
    "host function and list": "the function has written before, and cannot run again",
    "host function changes an argument later": "a part of the replay has run",
    "code in C that takes no number": "the function has written before, and cannot run again",
}


def outcome(row, folder, compiled) -> tuple:
    """Return what the calls of a program return or raise, and what its variables then hold, without addresses. A seventh call
    in a row is like the ones before."""
    folder.mkdir()
    os.chdir(folder)
    random.seed(0)
    np.random.seed(0)
    ingot.manual_seed(0)
    ingot.set_grad_enabled(True)
    space, _, _ = load(row, folder)
    results: list = []
    try:
        f = compiled(space["f"])
        for args in 7 * calls_of(space):
            results.append(f(*args))
    except Exception as error:
        results.append((type(error), "" if isinstance(error, TypeError) else str(error)))
    held = {k: v for k, v in space.items() if k[0] != "_" and k != "f" and isinstance(v, ingot.Tensor | list | dict | float)}
    return re.sub("0x[0-9a-f]+", "", repr(results)), re.sub("0x[0-9a-f]+", "", repr(held))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [row for row in ERRORS if row.name not in NOT_OF_CALLS and "OPTIONS" not in row.source],
                         ids=lambda row: row.name)
def test_compiled_functions_that_cannot_be_traced_do_as_eager_code(row, tmp_path, monkeypatch):
    """A program with a clock or its own random numbers says something else each time, and raises nothing."""
    monkeypatch.chdir(tmp_path)
    numpys, environment = np.geterr(), dict(os.environ)
    eager, found = outcome(row, tmp_path / "a", lambda f: f), outcome(row, tmp_path / "b", ingot.compile)
    np.seterr(**numpys)
    os.environ.clear()
    os.environ.update(environment)
    if row.name in LOUD:
        assert "ingot.jit.errors" in found[0]
    else:
        assert found == eager or (row.name in EACH_TIME and "Error" not in found[0])


@pytest.mark.filterwarnings("ignore")
def test_a_call_that_ran_twice_is_the_last_that_is_recorded():
    """Later calls may have written something where the recording fails, and could not run again."""
    kind_of, log = type, []

    @ingot.compile
    def f(x, writes):
        if writes:
            log.append(1)
        return kind_of(x.sum().item())

    x = ingot.ones(3)
    assert [f(x, False), *[f(x, True) for _ in range(9)]] == [float] * 10 and len(log) == 9


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
    space, file, line = load(row, tmp_path)
    with pytest.raises(jit.TraceError, match="fullgraph=True"), warnings.catch_warnings(action="ignore"):
        space["call"](ingot.compile(space["f"], fullgraph=True))


@pytest.mark.parametrize("row", MISSES, ids=lambda row: row.name)
def test_misses_name_the_line_the_thing_and_a_way_out(row, tmp_path):
    space, file, line = load(row, tmp_path)
    traced = jit.trace(space["f"])
    for i in range(4):
        for args in calls_of(space):
            traced(*args)
        space.get("CHANGE", int)(i)
    misses = traced.stats()["misses"]
    assert len(misses) > 1
    text = next((text for text in misses[1:] if re.search(row.thing, text)), misses[-1])
    check(text, row, file, line, space["f"])
    assert not re.search(r"\b(number|size) \d+\b", " ".join(misses))


@pytest.mark.parametrize("row", LATER, ids=lambda row: row.name)
def test_calls_whose_recording_is_thrown_away_are_counted_with_their_reason(row, tmp_path):
    space, file, line = load(row, tmp_path)
    traced = jit.trace(space["f"])
    with warnings.catch_warnings(action="ignore"):
        for _ in range(3):
            traced(space["X"])
    check(next(reason for reason in traced.stats()["eager"] if re.search(row.thing, reason)), row, file, line, space["f"])


# Places of the tracer whose messages no row above provokes, and why.
ELSEWHERE = {
    "guards/arg_pytree.py _set_spec": "needs a Python that does not tell, tests/jit/side_effects/test_set_order.py",
    "host/post_host_guards.py refused": "tests/jit/host/test_post_host_guards.py",
    "python_state/chain_reads.py happens": "needs another Python, tests/jit/python_state/test_call_events.py",
    "python_state/finalize.py _check_replaced": "tests/jit/side_effects/test_replaced_objects.py",
    "python_state/finalize.py _check_conditions": "needs another thread, which changes the members of a class",
    "python_state/finalize.py _check_guards": "another thread, tests/jit/test_races.py",
    "recorder/inputs.py overlap_error": "tests/jit/recorder/test_inputs.py",
    "recorder/outputs.py _shared_output": "needs several processes, tests/runtime/distributed/tensor/test_traced_dtensor.py",
    "recorder/shared_tensors.py _check_part": "needs several processes, as above",
    "replay/segment_tree.py run": "an error of ingot's own",
    "side_effects/remade.py settle": "tests/jit/side_effects/test_replaced_objects.py",
    "tracing/cache_miss.py _judge": "needs a clock, tests/jit/errors/test_late_replays.py",
    "tracing/cache_miss.py run_too_dear": "needs a clock, tests/jit/errors/test_recompile_limit.py",
    "tracing/cache_miss.py record": "needs a clock, tests/jit/test_pitfalls.py",
    "tracing/cache_miss.py _complain": "needs a clock, tests/jit/test_pitfalls.py",
    "tracing/cache_miss.py _discard": "needs several devices",
    "tracing/cache_miss.py _refuse_second": "tests/product/test_private_names.py",
    "tracing/compiler.py compile": "tests/jit/tracing/test_compiler.py",
    "tracing/dynamic_shapes.py check_keys": "comes before a trace, tests/jit/exporting/test_names.py",
    "tracing/record_graph.py _finished": "of exports, which are tested in tests/jit/exporting",
    "tracing/recorded_call.py _check_usable": "needs several devices or threads",
    "tracing/uncompiled_calls.py add": "fullgraph=True, FULLGRAPH above",
    "recorder/backward.py arrivals": "tests/jit/host/test_host_numbers.py",
    "python_state/drawn_numbers.py read": "tests/jit/host/test_host_numbers.py",
    "python_state/written_streams.py asks_about": "tests/jit/python_state/test_written_streams.py",
    "python_state/written_streams.py take_back": "tests/jit/python_state/test_written_streams.py",
    "python_state/stand_ins.py show": "tests/jit/python_state/test_stand_ins.py",
    "python_state/stand_ins.py _warn": "warnings.warn(3), which Python itself refuses where filters have texts",
    "python_state/stdlib_state.py check": "needs another thread or a signal, tests/jit/python_state/test_interrupting_code.py",
    "python_state/cached_functions.py check": "a net: code in C that calls a cached function unseen; no program is known",
    "recorder/gradient_log.py note_leaf": "a net: views are inputs of their own, so each leaf has its place",
    "recorder/gradient_log.py retains_read": "a net, as above",
    "recorder/gradient_log.py retaining": "a net, as above",
    "recorder/gradient_log.py detaching": "tests/jit/recorder/test_finish.py",
    "recorder/data_swap.py _remember": "tests/jit/recorder/test_swapped_histories.py",
    "side_effects/effects.py targets": "a net: writes.py refuses an argument that is reached otherwise before",
    "side_effects/writes.py add_variable": "a net: frames of one code that share no cell and hold one value",
}


def run_all(rows, tmp_path):
    """Run the programs of rows as the tests above do, whatever comes of it."""
    for row in rows:
        space, _, _ = load(row, tmp_path)
        with contextlib.suppress(ingot.IngotError, FileExistsError), warnings.catch_warnings(action="ignore"):
            traced = jit.trace(space["f"], **space.get("OPTIONS", {}))
            for i in range(4 * ("call" not in space)):
                for args in calls_of(space):
                    traced(*args)
                space.get("CHANGE", int)(i)
            space.get("call", id)(traced)
        ingot.set_grad_enabled(True)


def test_each_message_of_the_tracer_has_a_row_or_is_shown_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with message_sites.visited() as visited:
        run_all((*ERRORS, *FULLGRAPH, *LATER, *MISSES), tmp_path)
    unseen = {site.name for site in message_sites.sites()
              if not any((site.file, line) in visited for line in range(site.first, site.last + 1))}
    assert unseen == ELSEWHERE.keys()


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
