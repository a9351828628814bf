"""The life of a module: its function is called, its state changed, and all that can be seen compared, eager against traced."""

import array
import collections
import contextlib
import contextvars
import enum
import functools
import io
import linecache
import random
import re
import sys
import threading
import types
import warnings
import weakref
from typing import Any, NamedTuple

import numpy as np

import ingot
from fuzzed_modules.generate import CALLS, PRELUDE
from ingot import jit, nn

_PLAIN = (int, float, complex, str, bytes, range, type(None), type(...), np.generic, ingot.dtype)
# Modules whose objects show their content as text.
_WITH_TEXT = frozenset(("array", "builtins", "datetime", "decimal", "fractions", "pathlib", "re"))
_ADDRESS = re.compile(" at 0x[0-9a-f]+")
_OF_MODULES = frozenset(vars(nn.Module())) - {"training", "_parameters", "_buffers", "_modules"}


class Seen(NamedTuple):
    """View of all that a call leaves: how it ended ("ok", "refused" or the error's type), and the text of each path."""

    end: str
    parts: dict


class View:
    """Texts of all values below some roots, by path. Objects that were met before are named by their first path."""

    def __init__(self, module_name):
        self.module_name = module_name
        self.parts: dict = {}
        self.met: dict = {}         # id -> first path, and the object, which must live as long
        self.arrays: list = []      # (path, memory) of the tensors

    def add(self, path, x):
        if isinstance(x, _PLAIN) and not hasattr(x, "__dict__"):
            self.parts[path] = f"{type(x).__name__} {x!r}"
        elif isinstance(x, (tuple, set, types.MethodType)) or (isinstance(x, frozenset) and _is_constant(x)) or (
                not self._is_met(path, x)):
            self.parts[path] = type(x).__name__
            self._add_inside(path, x)

    def _is_met(self, path, x):
        if id(x) in self.met:
            self.parts[path] = f"the object of {self.met[id(x)][0]}"
            return True
        self.met[id(x)] = path, x
        return False

    def _add_inside(self, path, x):
        if isinstance(x, ingot.Tensor):
            self._add_tensor(path, x)
        elif isinstance(x, np.ndarray):
            self._add_array(path, x)
        elif isinstance(x, (list, tuple, set, frozenset, collections.deque)):
            for i, v in enumerate(x):
                self.add(f"{path}[{i}]", v)
            if isinstance(x, collections.deque):
                self.parts[path] += f" of {x.maxlen}"
        elif isinstance(x, dict):
            self._add_items(path, x)
        else:
            self._add_object(path, x)

    def _add_array(self, path, x):
        whose = next((f", shares the memory of {other}" for other, b in self.arrays if np.shares_memory(x, b)), "")
        self.arrays.append((path, x))
        content = "of objects" if x.dtype == object else f"{x.tolist()!r}"
        self.parts[path] = f"array {x.dtype} {content} {x.strides} {x.flags.writeable}{whose}"
        for i, v in enumerate(x.flat if x.dtype == object else ()):
            self.add(f"{path}[{i}]", v)

    def _add_items(self, path, x):
        self.parts[path] += _ADDRESS.sub("", f" {[(type(k).__name__, k) for k in x]}").replace(self.module_name, "")
        for k, v in list(x.items()):
            self.add(_ADDRESS.sub("", f"{path}[{k!r}]").replace(self.module_name, ""), v)

    def _add_tensor(self, path, x):
        a = x.detach().numpy()
        self.parts[path] = f"tensor {x.dtype} {tuple(x.shape)} {a.tolist()!r} {x.requires_grad} {x.is_leaf}"
        shared = next((other for other, b in self.arrays if np.shares_memory(a, b)), None)
        self.arrays.append((path, a))
        if shared is not None:
            self.parts[path] += f" over the memory of {shared}"
        if x.is_leaf:
            self.add(f"{path}.grad", x.grad)
        for k in [k for k in vars(x) if k[0] != "_"]:
            self.add(f"{path}.{k}", vars(x)[k])

    def _add_object(self, path, x):
        if isinstance(x, types.FunctionType):
            inside = {"defaults": x.__defaults__, "kwdefaults": x.__kwdefaults__, **vars(x)}
            inside |= {f"cell {n}": _content(c) for n, c in zip(x.__code__.co_freevars, x.__closure__ or ())}
            self.parts[path] = f"function {x.__name__}"
        elif isinstance(x, types.CellType):
            inside = {"content": _content(x)}
        elif isinstance(x, contextvars.ContextVar):
            inside = {"value": x.get(None)}
        elif isinstance(x, functools.partial):
            inside = {"func": x.func, "args": x.args, "keywords": x.keywords}
        elif isinstance(x, weakref.ref):
            inside = {"target": x()}
        elif isinstance(x, types.MethodType):
            inside = {"self": x.__self__}
        elif isinstance(x, ingot.optim.Optimizer):
            inside = {"groups": x.param_groups, "state": list(x.state.values())}
        elif isinstance(x, types.ModuleType):
            inside = {k: v for k, v in vars(x).items() if k[0] != "_"} if x.__name__.startswith("fuzzed_") else {}
        elif getattr(type(x), "__module__", "") in (self.module_name, "types", "collections", "_thread") \
                or isinstance(x, (nn.Module, threading.local)):
            inside = self._attributes(x)
            if isinstance(x, (*_PLAIN, bytearray, array.array, enum.Enum)):
                self.parts[path] += f" {_ADDRESS.sub('', repr(x)).replace(self.module_name, '')}"
        elif isinstance(x, type) and x.__module__ == self.module_name:
            inside = {k: v for k, v in vars(x).items() if k[:2] != "__"}
        else:
            inside = {}
            if type(x).__module__.partition(".")[0] in _WITH_TEXT and type(x) is not types.BuiltinFunctionType:
                self.parts[path] += f" {_ADDRESS.sub('', repr(x)).replace(self.module_name, '')}"
        for k, v in inside.items():
            self.add(f"{path}.{k}", v)

    def _attributes(self, x):
        found = {k: v for k, v in (vars(x) if hasattr(x, "__dict__") else {}).items() if k not in _OF_MODULES}
        slots = [s for c in type(x).__mro__ for s in getattr(c, "__slots__", ()) if hasattr(x, s)]
        if isinstance(x, type):
            found = {k: v for k, v in found.items() if k[:2] != "__"}
        return found | {s: getattr(x, s) for s in slots}


def _is_constant(x):
    """Return whether a value is one that Python may give twice."""
    return isinstance(x, (*_PLAIN, enum.Enum)) or (isinstance(x, (tuple, frozenset)) and all(map(_is_constant, x)))


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return "nothing"


def eager(fn):
    return fn


def _any_args(i):
    return ingot.arange(3.0) + i,


def loaded(text, name, file="<fuzzed>"):
    """Return a new module of a text, whose lines tracebacks can show."""
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, file, "exec"), vars(module))
    return module


def life(text: str, wrap, calls: int = CALLS) -> tuple[list[Seen], Any]:
    """Return what can be seen after each call of a module's function, and what `wrap` made of the function."""
    random.seed(0)
    ingot.manual_seed(0)
    found: list = []
    before = set(sys.modules)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("ignore")
        try:
            module = loaded(PRELUDE + text, f"fuzzed_{wrap.__name__}")
            space = vars(module)
            outside = set(vars(loaded(PRELUDE, "fuzzed_nothing")))
            fn, results = wrap(space["fn"]), []
            for i in range(calls):
                space.get("turn", int)(i)
                found.append(_call(fn, space, outside, i, results, printed))
                if found[-1].end == "refused":
                    break
        finally:
            for name in set(sys.modules) - before:
                if name.startswith("fuzzed_"):
                    del sys.modules[name]
    return found, fn


def _call(fn, space, outside, i, results, printed) -> Seen:
    """Call a function, and return what can be seen then."""
    end, given, result = "ok", (), None
    try:
        given = space.get("args", _any_args)(i)
        result = fn(*given)
        space.get("after", max)(i, result if "after" in space else 0)
    except jit.TraceError as error:
        return Seen("refused", {"message": str(error)})
    except Exception as error:
        end = type(error).__name__
    if end == "ok" and "follow" in space:
        result = result, space["follow"](i, given, result)
    results.append((result, given))
    view = View(space["__name__"])
    for n, (kept, arguments) in enumerate(results):
        view.add(f"result {n}", kept)
        view.add(f"arguments {n}", arguments)
    for name, value in space.items():
        if name not in outside and name[0] != "_":
            view.add(name, value)
    view.parts["printed"] = printed.getvalue()
    view.parts["grad mode"] = f"{ingot.is_grad_enabled()} {ingot.get_default_dtype()}"
    return Seen(end, view.parts)


class Verdict(NamedTuple):
    """How a traced module compares: "same", "refused" (a TraceError), "wrong", or "unsteady" if eager runs differ; with the
    call and what differs there."""

    kind: str
    call: int = -1
    text: str = ""


def compare(text: str) -> tuple[Verdict, Any]:
    """Run a module eagerly and traced; return the verdict and the traced function."""
    want, _ = life(text, eager)
    got, fn = life(text, jit.trace)
    for i, (a, b) in enumerate(zip(want, got)):
        if b.end == "refused":
            return Verdict("refused", i, b.parts["message"]), fn
        if a.end != b.end:
            return Verdict("wrong", i, f"ended with {b.end}, eagerly with {a.end}"), fn
        if a.parts != b.parts:
            if life(text, eager)[0] != want:        # addresses perhaps
                return Verdict("unsteady", i), fn
            lines = [f"{path}: {b.parts.get(path)}, eagerly {a.parts.get(path)}" for path in {**a.parts, **b.parts}
                     if a.parts.get(path) != b.parts.get(path)]
            return Verdict("wrong", i, "\n".join(lines[:6])), fn
    return Verdict("same"), fn
