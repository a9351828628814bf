"""Unpickler that runs nothing: opcodes build plain data, and names resolve in a table.

PyTorch's files hold a pickle. This machine knows the opcodes that data needs, resolves globals in a table instead of importing
them, and calls only what the table, or the user by `add_safe_globals`, declares safe.
"""

import datetime
import io
import pathlib
import pickletools
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np

from ...ir.blocks import Block
from ...ir.errors import DTypeError, FileError
from ..state.switches import Switch
from .read_budget import ReadBudget, shown

_safe = Switch("the globals that files may name", {})       # allowed by the user: {full name: object}


def _named(entry):
    if isinstance(entry, tuple):
        obj, name = entry
        return name, obj
    if not hasattr(entry, "__qualname__"):
        raise DTypeError(f"add_safe_globals takes classes, functions and (object, full name) pairs, got {entry!r}")
    return f"{entry.__module__}.{entry.__qualname__}", entry


def add_safe_globals(safe_globals: list):
    """Allow files to refer to these classes and functions, or pairs with the name in the file. Loading a file may call them
    with any arguments, so allow only what is harmless however it is called."""
    _safe.set({**_safe.peek(), **dict(map(_named, safe_globals))})


def clear_safe_globals():
    """Remove all that add_safe_globals allowed."""
    _safe.set({})


def get_safe_globals() -> list:
    """Return the classes and functions that add_safe_globals allowed."""
    return list(_safe.get().values())


def get_safe_names() -> list:
    """Return the full names of what add_safe_globals allowed."""
    return list(_safe.get())


class safe_globals(Block):
    """Context manager that allows classes and functions."""

    def __init__(self, safe_globals: list):
        super().__init__()
        self.safe_globals = safe_globals

    def around(self):
        return _safe.around({**_safe.peek(), **dict(map(_named, self.safe_globals))})


class Callable_:
    """Table entry that a pickle may call with arguments that `accepts(*args)`; `with_data` says that it reads the elements of
    tensors."""

    __slots__ = ("accepts", "fn", "with_data")

    def __init__(self, fn, accepts=None, with_data=False):
        self.fn, self.accepts, self.with_data = fn, accepts, with_data


class _Mark:
    pass


_MARK = _Mark()


def _encode(text, encoding):
    """Return the bytes of protocol 2's spelling _codecs.encode(text, "latin1")."""
    if encoding not in ("latin1", "latin-1"):
        raise FileError(f"bytes in encoding {encoding!r}")
    return text.encode("latin1")


def _bytearray(data=b"", encoding=None):
    if isinstance(data, int):
        raise FileError("a bytearray of a number of zeros")      # which no pickle of a bytearray is
    return bytearray(_encode(data, encoding) if isinstance(data, str) else bytes(data))


def _defaultdict(factory=None, items=()):
    allowed = (None, list, dict, set, int, float, str, OrderedDict)
    if factory not in allowed:
        raise FileError("a defaultdict whose factory is not a plain container or number")
    return defaultdict(factory, items)


_ATOMS = (type(None), bool, int, float, complex, str, bytes, bytearray, np.generic)


def are_atoms(*args) -> bool:
    """Return whether arguments are numbers and texts."""
    return all(isinstance(a, _ATOMS) for a in args)


def are_plain(*args) -> bool:
    """Return whether arguments are numbers, texts and containers: iterating over a tensor may have no end."""
    return all(isinstance(a, (*_ATOMS, list, tuple, dict, set, frozenset, type)) for a in args)


def _are_pairs(*args) -> bool:
    return are_plain(*args) and all(type(pair) in (list, tuple) for a in args if type(a) in (list, tuple) for pair in a)


def _are_dates(*args) -> bool:
    return all(isinstance(a, (*_ATOMS, datetime.timedelta, datetime.timezone)) for a in args)


def _are_texts(*args) -> bool:
    return all(type(a) is str for a in args)


PLAIN_GLOBALS = {
    "collections.OrderedDict": Callable_(OrderedDict, _are_pairs), "collections.Counter": Callable_(Counter, are_plain),
    "collections.defaultdict": Callable_(_defaultdict, _are_pairs), "_codecs.encode": Callable_(_encode, are_atoms),
}
for _module in ("builtins", "__builtin__"):
    PLAIN_GLOBALS |= {f"{_module}.{t.__name__}": Callable_(t, are_plain) for t in (set, frozenset, list, tuple)}
    PLAIN_GLOBALS |= {f"{_module}.{t.__name__}": Callable_(t, are_atoms) for t in (complex, slice, int, float, bool, str)}
    PLAIN_GLOBALS |= {f"{_module}.dict": Callable_(dict, _are_pairs), f"{_module}.bytearray": Callable_(_bytearray, are_plain),
                      f"{_module}.bytes": Callable_(lambda: b"")}
# Values of the standard library, which compute nothing. A `range` that is read element by element is none of `are_plain`.
PLAIN_GLOBALS |= {f"datetime.{t.__name__}": Callable_(t, _are_dates) for t in (
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone)}
PLAIN_GLOBALS |= {"builtins.range": Callable_(range, are_atoms), "__builtin__.xrange": Callable_(range, are_atoms),
                  "collections.deque": Callable_(deque, are_plain)}
# Paths of another system are pure ones.
_PATHS = {"PosixPath": pathlib.PurePosixPath, "WindowsPath": pathlib.PureWindowsPath, "PurePosixPath": pathlib.PurePosixPath,
          "PureWindowsPath": pathlib.PureWindowsPath, type(pathlib.Path()).__name__: pathlib.Path}
for _module in ("pathlib", "pathlib._local"):
    PLAIN_GLOBALS |= {f"{_module}.{name}": Callable_(fn, _are_texts) for name, fn in _PATHS.items()}
_PLAIN_TYPES = (list, dict, set, int, float, str, OrderedDict)
_HASHING = (set, frozenset, dict, OrderedDict, Counter, _defaultdict)


class _Bounded:
    """The rest of a file, for `pickletools.genops`."""

    def __init__(self, file, size):
        self._file, self._size = file, size
        self.tell, self.readline = file.tell, file.readline

    def read(self, count):
        """Return that many bytes, or those that there are."""
        return self._file.read(min(count, max(0, self._size - self.tell())))


def bounded(file, budget: ReadBudget):
    """Return a file whose reads allocate no more than it has."""
    return file if type(file) is io.BytesIO else _Bounded(file, budget.size)


class PickleMachine:
    """Reader of one pickle.

    `globals_` is the table of names, and `persistent` resolves persistent ids. Objects of the classes `own` may be made and
    given their state, but nothing of them is called. The function `restore(object, state)` gives their state to objects of the
    classes `restored`.
    """

    def __init__(self, globals_: dict, persistent, budget: ReadBudget, own=frozenset(), restored=(), restore=None):
        self.globals = globals_
        self.restored, self.restore = restored, restore
        self.own = own
        self.persistent = persistent
        self.name, self.budget = budget.name, budget
        self.stack: list = []
        self.memo: dict = {}

    def run(self, file):
        """Return the object of the pickle at the file's position, which moves behind it."""
        for opcode, arg, _ in pickletools.genops(bounded(file, self.budget)):
            kind = opcode.name
            if kind == "STOP":
                return self._pop()
            if kind in _VALUES:
                self.stack.append(arg)
            else:
                step = _STEPS.get(kind)
                if step is None:
                    raise FileError(f"{self.name}: the pickle uses {kind}, which plain data does not need")
                step(self, arg)
        raise FileError(f"{self.name}: the pickle has no end")

    def _pop(self):
        if not self.stack or self.stack[-1] is _MARK:
            raise FileError(f"{self.name}: the pickle takes from an empty stack")
        return self.stack.pop()

    def _top(self):
        if not self.stack or self.stack[-1] is _MARK:
            raise FileError(f"{self.name}: the pickle looks at an empty stack")
        return self.stack[-1]

    def _since_mark(self) -> list:
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] is _MARK:
                found = self.stack[i + 1:]
                del self.stack[i:]
                return found
        raise FileError(f"{self.name}: the pickle misses a mark")

    def _pairs(self, values):
        if len(values) % 2:
            raise FileError(f"{self.name}: a dict with a key that has no value")
        return zip(values[::2], values[1::2])

    def _set(self, values, made):
        self.budget.take_keys(values, made)
        made.update(values)
        return made

    def _dict(self, values, made):
        pairs = self._pairs(values)
        self.budget.take_keys(values[::2], made)
        for k, v in pairs:
            made[k] = v
        return made

    # Data.

    def _tuple(self, n):
        values = [self._pop() for _ in range(n)]
        self.stack.append(tuple(reversed(values)))

    def _extend(self, values):
        target = self._top()
        if type(target) not in (list, deque):
            raise FileError(f"{self.name}: appends to a {type(target).__name__}")
        target.extend(values)

    def _set_items(self, values):
        target = self._top()
        if not isinstance(target, dict):
            raise FileError(f"{self.name}: sets items of a {type(target).__name__}")
        self._dict(values, target)

    def _add_items(self, values):
        target = self._top()
        if type(target) is not set:
            raise FileError(f"{self.name}: adds to a {type(target).__name__}")
        self._set(values, target)

    def _append(self):
        value = self._pop()
        self._extend([value])

    def _set_item(self):
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _get(self, index):
        if index not in self.memo:
            raise FileError(f"{self.name}: the pickle recalls what it never kept")
        self.stack.append(self.memo[index])

    # Names and calls.

    def _global(self, module, name):
        full = f"{module}.{name}"
        if full in _safe.peek():
            self.stack.append(_safe.peek()[full])
        elif full in self.globals:
            self.stack.append(self.globals[full])
        else:
            raise FileError(f"{self.name} holds an object of {full}, which is not data that ingot loads. If you trust it, "
                            f"allow the class with ingot.serialization.add_safe_globals([({name}, {full!r})]); "
                            "or save a state_dict()")

    def _stack_global(self):
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise FileError(f"{self.name}: a global that is not named by strings")
        self._global(module, name)

    def _call(self, fn, args):
        """Call an entry of the table, once its work is known to be in proportion to the file."""
        if not args:
            return fn.fn()
        args = tuple([a.fn if type(a) is Callable_ and a.fn in _PLAIN_TYPES else a for a in args])
        if fn.accepts is not None and not fn.accepts(*args):
            given = ", ".join(map(shown, args[:4]))
            raise FileError(f"{self.name}: calls {fn.fn.__name__} with {given}, which no file of data does")
        self.budget.take_tree(args, fn.fn.__name__, fn.with_data)
        for x in args if fn.fn in _HASHING else ():
            if isinstance(x, (list, tuple)):
                self.budget.take_keys(x if fn.fn in (set, frozenset, Counter) else [pair[0] for pair in x if pair])
        return fn.fn(*args)

    def _reduce(self):
        args, fn = self._pop(), self._pop()
        if type(args) is not tuple:
            raise FileError(f"{self.name}: calls with arguments that are no tuple")
        if type(fn) is Callable_:
            self.stack.append(self._call(fn, args))
        elif _is_allowed(fn):
            self.stack.append(fn(*args))
        else:
            raise FileError(f"{self.name}: calls {_called(fn)}, which is not allowed")

    def _new_object(self, args, kwargs):
        cls = self._pop()
        if type(cls) is Callable_ and not kwargs and type(args) is tuple:
            self.stack.append(self._call(cls, args))
        elif isinstance(cls, type) and (cls in self.own or _is_allowed(cls)):
            self.budget.take_tree(args, "making an object")
            self.stack.append(cls.__new__(cls, *args, **kwargs))
        else:
            raise FileError(f"{self.name}: makes an object of {_called(cls)}, which is not allowed")

    def _build(self):
        state, target = self._pop(), self._top()
        self.budget.take_tree(state, "the state of an object")
        if type(target) is OrderedDict and isinstance(state, dict):
            target.__dict__.update({k: v for k, v in state.items() if isinstance(k, str)})
        elif isinstance(target, self.restored):
            self.restore(target, state)
        elif type(target) in self.own or _is_allowed(type(target)):
            _restore(target, state)
        else:
            raise FileError(f"{self.name}: sets the state of a {type(target).__name__}, which is not allowed")


def _called(fn) -> str:
    """Return the name of what a pickle must not call."""
    return getattr(fn, "__qualname__", None) or shown(fn)


def _is_allowed(fn) -> bool:
    return any(fn is g for g in _safe.peek().values())


def _restore(target, state):
    """Apply pickle's BUILD to an object of a class that the user allows."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for k, v in (slots or {}).items():
        setattr(target, k, v)


_VALUES = frozenset(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING",
                     "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES",
                     "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"))


def _constant(make):
    return lambda m, arg: m.stack.append(make())


def _dict(m, arg):
    values = m._since_mark()
    m.stack.append(m._dict(values, {}))


def _new(m, arg):
    args = m._pop()
    m._new_object(args, {})


def _new_ex(m, arg):
    kwargs, args = m._pop(), m._pop()
    m._new_object(args, kwargs)


def _keep(m, index):
    m.memo[index] = m._top()


_STEPS = {
    "PROTO": lambda m, arg: None, "FRAME": lambda m, arg: None,
    "MARK": _constant(lambda: _MARK), "NONE": _constant(lambda: None), "NEWTRUE": _constant(lambda: True),
    "NEWFALSE": _constant(lambda: False), "EMPTY_DICT": _constant(dict), "EMPTY_LIST": _constant(list),
    "EMPTY_TUPLE": _constant(tuple), "EMPTY_SET": _constant(set),
    "TUPLE": lambda m, arg: m.stack.append(tuple(m._since_mark())), "TUPLE1": lambda m, arg: m._tuple(1),
    "TUPLE2": lambda m, arg: m._tuple(2), "TUPLE3": lambda m, arg: m._tuple(3),
    "LIST": lambda m, arg: m.stack.append(m._since_mark()), "DICT": _dict,
    "FROZENSET": lambda m, arg: m.stack.append(frozenset(m._set(m._since_mark(), set()))),
    "APPEND": lambda m, arg: m._append(), "APPENDS": lambda m, arg: m._extend(m._since_mark()),
    "SETITEM": lambda m, arg: m._set_item(), "SETITEMS": lambda m, arg: m._set_items(m._since_mark()),
    "ADDITEMS": lambda m, arg: m._add_items(m._since_mark()),
    "POP": lambda m, arg: m._pop(), "POP_MARK": lambda m, arg: m._since_mark(), "DUP": lambda m, arg: m.stack.append(m._top()),
    "PUT": _keep, "BINPUT": _keep, "LONG_BINPUT": _keep, "MEMOIZE": lambda m, arg: _keep(m, len(m.memo)),
    "GET": lambda m, arg: m._get(arg), "BINGET": lambda m, arg: m._get(arg), "LONG_BINGET": lambda m, arg: m._get(arg),
    "GLOBAL": lambda m, arg: m._global(*arg.split(" ", 1)), "STACK_GLOBAL": lambda m, arg: m._stack_global(),
    "REDUCE": lambda m, arg: m._reduce(), "NEWOBJ": _new, "NEWOBJ_EX": _new_ex, "BUILD": lambda m, arg: m._build(),
    "BINPERSID": lambda m, arg: m.stack.append(m.persistent(m._pop())),
    "PERSID": lambda m, arg: m.stack.append(m.persistent(arg)),
}
