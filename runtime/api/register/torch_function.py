"""Dispatch of public functions to `__torch_function__` of classes and modes (`overrides.TorchFunctionMode`).

It costs nothing until `start` is called. `start` replaces the `__code__` of public functions and methods of Tensor: the new
code inspects the arguments, then calls the old code, kept in a second function. The functions stay the same objects, because
handler tables use them as keys.

Dispatch starts when ingot meets such a class: a subclass of Tensor is defined (`subclasses.py`), an operator has an operand of
one, `has_torch_function` finds one, or a mode is entered. A function that meets such an object before does not know it;
`asks_for` (`ingot.overrides.asks`) announces the class.
"""

import functools
import importlib
import inspect
import threading
import types
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import Any

from ....ir.blocks import block
from ....ir.doors import leaving_of, with_door
from ....ir.errors import DTypeError
from ....ir.locks import new_rlock
from ...core.tensor import Tensor
from ...state.mode import tls
from .register import FUNCTIONS

_FACE = __name__.partition(".")[0]
NAMESPACES = ("nn.functional", "linalg", "special", "fft")         # beside the top level
MAKERS = frozenset({"as_tensor", "asarray", "from_dlpack", "from_numpy", "tensor"})     # functions that only modes override
PLAIN = frozenset({"as_subclass", "cond", "get_device", "is_tensor", "save", "typename", "while_loop"}) | MAKERS
_API = __package__.rpartition(".")[0]
# Modules that define dunder methods.
_OPERATORS = tuple(f"{_API}.{name}" for name in ("views.indexing", "math.matrix_products", "math.python_operators"))
_OTHERS = frozenset({"batch1", "batch2", "end", "exponent", "input2", "mat", "mat1", "mat2", "other", "source", "src", "target",
                     "tensor", "tensor1", "tensor2", "vec", "vec1", "vec2", "weight"})      # parameters that are tensors
_PROPERTIES = ("H", "T", "data", "grad", "imag", "mH", "mT", "real")
# Functions under which classes override a dunder method, as in PyTorch.
_METHODS = {"add": "add", "radd": "add", "iadd": "add_", "sub": "sub", "isub": "sub_", "mul": "mul", "rmul": "mul",
            "imul": "mul_", "truediv": "div", "itruediv": "div_", "mod": "remainder", "imod": "remainder_", "pow": "pow",
            "ipow": "pow_", "matmul": "matmul", "neg": "neg", "pos": "positive", "abs": "abs", "eq": "eq", "ne": "ne",
            "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_IN_PLACE = frozenset([f"__i{name}__" for name in _ARITHMETIC])
_BINARY = _IN_PLACE | frozenset([f"__{side}{name}__" for name in _ARITHMETIC for side in ("", "r")] +
                                [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")])


class _Here(threading.local):
    """State of a thread: depth of `unasked`, the active modes, and whether the next `has_torch_function` returns False."""

    off = 0
    skips = False

    def __init__(self):
        self.modes: list = []


class _Kinds(dict[type, Any]):
    """Whether instances of a class override functions; for a container class, a function that tells it of one container.
    `modes` counts the active modes of all threads. Missing classes are inspected."""

    modes = 0
    __hash__ = object.__hash__          # type: ignore[assignment]   # it is a constant of code objects

    def __missing__(self, kind):
        found = _holds_override if issubclass(kind, (list, tuple)) else _answers(kind)
        if "<locals>" not in kind.__qualname__:         # local classes come and go
            self[kind] = found
        return found


def _answers(kind) -> bool:
    """Return whether a class overrides functions though ingot did not see its definition. Tensors of PyTorch are arrays."""
    answer = getattr(kind, "__torch_function__", disabled_torch_function)
    if getattr(answer, "__func__", answer) is disabled_torch_function or issubclass(kind, (Tensor, type)):
        return False
    return all(base.__module__.partition(".")[0] != "torch" for base in kind.__mro__)


def _holds_override(values) -> bool:
    """Return whether something in a list or tuple overrides functions."""
    for x in values:
        answer = KINDS[x.__class__]
        if answer and (answer is True or answer(x)):
            return True
    return False


KINDS = _Kinds()
KINDS[list] = KINDS[tuple] = _holds_override
_here = _Here()
_lock = new_rlock()
_started: list[bool] = []
_modal: list[tuple] = []            # see `_everything`


def asks(x) -> bool:
    """Return whether an object's class overrides functions now."""
    return KINDS[type(x)] is True and not _here.off


@block
def unasked():
    """Disable the overrides of classes in this thread."""
    before = _here.off
    return partial(setattr, _here, "off", before + 1), partial(setattr, _here, "off", before)


def disabled_torch_function(function, types, args=(), kwargs=None):
    """Call the function without overrides: the `__torch_function__` of classes that override nothing."""
    with unasked():
        return function(*args, **(kwargs or {}))


def asks_for(cls):
    """Announce a class with `__torch_function__`, and start dispatch. Return the class, so this is a decorator. Only the first
    such class that does not derive from Tensor needs it."""
    if not (isinstance(cls, type) and hasattr(cls, "__torch_function__")):
        raise DTypeError(f"asks takes a class with a __torch_function__, got {cls!r}")
    start()
    return cls


# Modes.


def enter_mode(mode):
    """Make a mode the first that functions of this thread call."""
    start()
    _count_modes(1)
    _here.modes.append(mode)


def leave_mode():
    """Remove the innermost mode of this thread, and return it."""
    _count_modes(-1)
    return _here.modes.pop()


def _count_modes(more: int):
    """Count the modes of all threads, and of this one. Methods of plain tensors dispatch only while there are some."""
    with _lock:
        if not KINDS.modes:
            for fn, code, _ in _everything():
                fn.__code__ = code
        KINDS.modes += more
        if not KINDS.modes:
            for fn, _, code in _everything():
                fn.__code__ = code
    tls.m.function_modes += more
    tls.m.refresh()


def attribute_of(getter) -> str:
    """Return the name of the Tensor attribute behind a getter."""
    return next(name for name in _PROPERTIES if vars(Tensor)[name] == getter.__self__)


def modes() -> list:
    """Return the modes of this thread, innermost last."""
    return _here.modes


# Dispatch.


@contextmanager
def skipping():
    """Make the first `has_torch_function` inside return False."""
    _here.skips = True
    try:
        yield
    finally:
        _here.skips = False


def skipped() -> bool:
    """Return whether `has_torch_function` must return False, and reset that."""
    found, _here.skips = _here.skips, False
    return found


def _flat(values):
    for x in values:
        answer = KINDS[x.__class__]
        if answer is True:
            yield x
        elif answer:
            yield from _flat(x)


def overriding_objects(values) -> list:
    """Return one object of each class that overrides functions, in order; subclasses before their bases."""
    found: list = []
    for x in _flat(values):
        kind = type(x)
        if all(type(y) is not kind for y in found):
            found.insert(next((i for i, y in enumerate(found) if issubclass(kind, type(y))), len(found)), x)
    return found


def answer(function, overriding, args, kwargs) -> Any:
    """Return the first result of the mode and the classes for a function, or NotImplemented if none has one."""
    types = tuple([type(x) for x in overriding])
    if _here.modes:
        mode = _here.modes.pop()
        try:
            found = mode.__torch_function__(function, types, args, kwargs)
        finally:
            _here.modes.append(mode)
        if found is not NotImplemented:
            return found
    for x in overriding if not _here.off else ():
        found = x.__torch_function__(function, types, args, kwargs)
        if found is not NotImplemented:
            return found
    return NotImplemented


def _ask(function, plain, args, kwargs):
    """Dispatch a function to modes and classes, or call its plain form."""
    overriding = [] if _here.off else overriding_objects((*args, *kwargs.values()))
    if (not overriding and not _here.modes) or (plain.__name__ in _BINARY and not is_operand(args[1])):
        return plain(*args, **kwargs)
    found = answer(function, overriding, args, kwargs)
    if found is not NotImplemented:
        return found
    if plain.__name__ in _BINARY:       # Python tries the other operand
        return NotImplemented
    raise refusal(function, overriding or _here.modes)


def refusal(function, overriding) -> DTypeError:
    """Return the error for a function that every override answered with NotImplemented."""
    return DTypeError(f"no class among {', '.join(type(x).__name__ for x in overriding) or 'the arguments'} knows "
                      f"{getattr(function, '__qualname__', function)}: every __torch_function__ gave NotImplemented")


def is_operand(x) -> bool:
    """Return whether operators of tensors accept an object as other operand."""
    return isinstance(x, (Tensor, bool, int, float, complex)) or hasattr(x, "__array__") or asks(x)


def ask_operand(name: str, x, other):
    """Return `x <name> other` for an operand of a class that is no tensor; NotImplemented makes Python try the other side."""
    start()
    overriding = overriding_objects((x, other))
    found = answer(_overridden_function(name), overriding, (x, other), {})
    if found is NotImplemented and name not in _BINARY:
        raise refusal(_overridden_function(name), overriding)
    return found


def _overridden_function(name: str):
    """Return the function under which classes override an operator: x + y is Tensor.add, as in PyTorch."""
    return getattr(Tensor, _METHODS.get(name.strip("_"), name))


# Functions that dispatch.

_LOOKING = '''
def outer({free}):
    def looking(*args, **kwargs):
        kinds = "kinds"
        plain = "plain"
        if not kinds.modes:
            for x in (*args, *kwargs.values()) if kwargs else args:
                asked = kinds[x.__class__]
                if asked and (asked is True or asked(x)):
                    break
            else:
                return plain(*args, **kwargs)
        ask = "ask"
        return ask("function", plain, args, kwargs)
        ({free})
    return looking
'''
_ONLY_MODES = '''
def outer({free}):
    def looking(*args, **kwargs):
        kinds = "kinds"
        plain = "plain"
        if not kinds.modes:
            return plain(*args, **kwargs)
        ask = "ask"
        return ask("function", plain, args, kwargs)
        ({free})
    return looking
'''


@functools.cache
def _looking_code(text: str, free: int) -> types.CodeType:
    """Return dispatching code with a number of free cells: a function takes only code with as many as it has."""
    names: dict[str, Any] = {}
    cells = ", ".join([f"c{i}" for i in range(free)])
    exec(compile(text.format(free=cells), "<a question of ingot>", "exec"), names)
    return names["outer"](*[None] * free).__code__


def _copy_of(fn) -> Callable:
    copy = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    copy.__kwdefaults__ = fn.__kwdefaults__
    functools.update_wrapper(copy, fn)
    if "__wrapped__" in fn.__dict__:
        copy.__wrapped__ = fn.__wrapped__       # type: ignore[attr-defined]
    else:
        del copy.__wrapped__                    # type: ignore[attr-defined]
    return copy


def _look(fn, function=None, text=_LOOKING) -> types.CodeType:
    """Return dispatching code for a function; overrides receive `function`, or the function itself. Objects that the code needs
    are its constants. It shares only the number of cells with the old code."""
    plain = _copy_of(fn)
    fn._asks_for = plain
    fn.__wrapped__ = getattr(fn, "__wrapped__", plain)          # parameters to show
    code = _looking_code(text, len(fn.__code__.co_freevars))
    means = {"kinds": KINDS, "plain": plain, "ask": _ask, "function": function or fn}
    return with_door(code.replace(co_consts=tuple([means.get(c, c) if type(c) is str else c for c in code.co_consts]),
                                  co_name=fn.__code__.co_name, co_qualname=fn.__code__.co_qualname), leaving_of(fn))


def start() -> None:
    """Start dispatch for public functions, and for the methods and operators of Tensor among them or with a second tensor."""
    with _lock:
        if _started:
            return
        _started.append(True)
        package = importlib.import_module(_API)
        package.load_rest()
        package.load_twins()
        spaces = [importlib.import_module(f"{_FACE}.{name}") for name in NAMESPACES]
        methods = {name: value for name, value in public_methods() if _takes_others(value)}
        for names in (FUNCTIONS, *[{name: getattr(space, name) for name in space.__all__} for space in spaces], methods):
            for name, fn in list(names.items()):
                if inspect.isfunction(fn) and name not in PLAIN and not hasattr(fn, "_asks_for"):
                    fn.__code__ = _look(fn)
        for name, operator in operators():
            if name in _IN_PLACE:           # x += y of a plain tensor x: Python does not consult the class of y
                operator.__code__ = _look(operator, _overridden_function(name))


def _everything() -> list[tuple]:
    """Return (function, dispatching code, plain code) of what dispatches only while some thread has a mode. These are the other
    methods of Tensor, its operators and tensor attributes, and functions that make tensors."""
    if not _modal:
        found = [(FUNCTIONS[name], None, _ONLY_MODES) for name in MAKERS]
        found += [(value, None, _LOOKING) for _, value in public_methods() if not hasattr(value, "_asks_for")]
        found += [(value, _overridden_function(name), _LOOKING) for name, value in operators() if name not in _IN_PLACE]
        found += [(value.fget, value.__get__, _LOOKING) for value in [vars(Tensor)[name] for name in _PROPERTIES]]
        _modal.extend([(fn, _look(fn, function, text), fn.__code__) for fn, function, text in found])
    return _modal


# Members of the class between Tensor and users' subclasses (`subclasses.py`).


def public_methods() -> list:
    """Return the public methods of Tensor, by name."""
    return [(name, value) for name, value in vars(Tensor).items()
            if inspect.isfunction(value) and name[0] != "_" and name not in PLAIN]


def operators() -> list:
    """Return the operators of Tensor, by name."""
    return [(name, value) for name, value in vars(Tensor).items()
            if name[:2] == "__" and inspect.isfunction(value) and value.__module__ in _OPERATORS and name != "__iter__"]


def _takes_others(method) -> bool:
    """Return whether a method may get another tensor by position."""
    code = inspect.unwrap(method).__code__
    return not _OTHERS.isdisjoint(code.co_varnames[1:code.co_argcount])


def _in_front(plain, function) -> Callable:
    """Return a callable that dispatches, in front of a plain one."""

    @functools.wraps(plain, updated=())
    def front(*args, **kwargs):
        if KINDS.modes or _holds_override(args) or _holds_override(kwargs.values()):
            return _ask(function, plain, args, kwargs)
        return plain(*args, **kwargs)

    front._asks_for = plain             # type: ignore[attr-defined]
    return front


def all_that_looks() -> dict[str, Any]:
    """Return what a subclass needs in place of members of Tensor that do not dispatch: methods, operators, attributes."""
    made: dict[str, Any] = {name: _in_front(fn, fn) for name, fn in public_methods()
                            if not hasattr(fn, "_asks_for") or any(fn is row[0] for row in _modal)}
    made.update({name: _in_front(value, _overridden_function(name)) for name, value in operators() if name not in _IN_PLACE})
    for name in _PROPERTIES:
        value = vars(Tensor)[name]
        made[name] = property(_in_front(value.__get__, value.__get__), value.fset, value.fdel, value.__doc__)
    return made


def asks_classes(function) -> bool:
    """Return whether a function dispatches to the classes of its arguments."""
    return hasattr(function, "_asks_for") and function.__name__ not in PLAIN


def without_asking(function):
    """Return the plain form of a function, or None if it does not dispatch."""
    return getattr(function, "_asks_for", None)
