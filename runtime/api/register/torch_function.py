"""Who is asked before a public function runs: classes with a `__torch_function__`, and modes (`overrides.TorchFunctionMode`).

Nobody pays for this before somebody is to be asked. What starts it (`start`) gives public functions and methods of Tensor other
code, which looks at what it is given and runs the code from before, kept in a function beside, where nobody is to be asked. The
functions stay the objects that they are, wherever they were imported to, so tables that are keyed by them go on to hold.

Asking starts when ingot meets such a class: one that derives from Tensor is made (`subclasses.py`), an operator has an operand
of one, `has_torch_function` finds one, or a mode is entered. A function that is given such an object before knows nothing of
it: `asks_for` (`ingot.overrides.asks`) is the word for that.
"""

import functools
import importlib
import inspect
import threading
import types
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from ....ir.errors import DTypeError
from ...core.state import tls
from ...core.tensor import Tensor
from .register import FUNCTIONS

_FACE = __name__.partition(".")[0]
NAMESPACES = ("nn.functional", "linalg", "special", "fft")         # beside the face
MAKERS = frozenset({"as_tensor", "asarray", "from_dlpack", "from_numpy", "tensor"})     # functions that ask modes alone
PLAIN = frozenset({"as_subclass", "cond", "get_device", "is_tensor", "save", "typename", "while_loop"}) | MAKERS
_API = __package__.rpartition(".")[0]
# Where dunder methods are.
_OPERATORS = tuple(f"{_API}.{name}" for name in ("views.indexing", "math.matrix_products", "math.python_operators"))
_OTHERS = frozenset({"batch1", "batch2", "end", "exponent", "input2", "mat", "mat1", "mat2", "other", "source", "src", "target",
                     "tensor", "tensor1", "tensor2", "vec", "vec1", "vec2", "weight"})      # parameters that are tensors
_PROPERTIES = ("H", "T", "data", "grad", "imag", "mH", "mT", "real")
# Operators as which classes are asked about a method of another name, as PyTorch does it, and those beside another operand.
_METHODS = {"add": "add", "radd": "add", "iadd": "add_", "sub": "sub", "isub": "sub_", "mul": "mul", "rmul": "mul",
            "imul": "mul_", "truediv": "div", "itruediv": "div_", "mod": "remainder", "imod": "remainder_", "pow": "pow",
            "ipow": "pow_", "matmul": "matmul", "neg": "neg", "pos": "positive", "abs": "abs", "eq": "eq", "ne": "ne",
            "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_IN_PLACE = frozenset([f"__i{name}__" for name in _ARITHMETIC])
_BINARY = _IN_PLACE | frozenset([f"__{side}{name}__" for name in _ARITHMETIC for side in ("", "r")] +
                                [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")])


class _Here(threading.local):
    """What holds for a thread: how many times it has said that no class is asked, the modes that it is in, and whether the next
    function of the user's that wants to know whether it is to hand over is told no."""

    off = 0
    skips = False

    def __init__(self):
        self.modes: list = []


class _Kinds(dict[type, Any]):
    """By class: whether its instances are asked; for containers, a function that says so of one. `modes` counts those that all
    threads are in. What is not there yet is found out."""

    modes = 0
    __hash__ = object.__hash__          # type: ignore[assignment]   # it stands among the constants of code

    def __missing__(self, kind):
        found = _holds_asked if issubclass(kind, (list, tuple)) else _answers(kind)
        if "<locals>" not in kind.__qualname__:         # others may go as they came
            self[kind] = found
        return found


def _answers(kind) -> bool:
    """Whether a class answers that ingot did not see being made: tensors of PyTorch's are arrays, like others."""
    answer = getattr(kind, "__torch_function__", disabled_torch_function)
    if getattr(answer, "__func__", answer) is disabled_torch_function or issubclass(kind, (Tensor, type)):
        return False
    return all(base.__module__.partition(".")[0] != "torch" for base in kind.__mro__)


def _holds_asked(values) -> bool:
    """Whether something in a list or a tuple is asked."""
    for x in values:
        asked = KINDS[x.__class__]
        if asked and (asked is True or asked(x)):
            return True
    return False


KINDS = _Kinds()
KINDS[list] = KINDS[tuple] = _holds_asked
_here = _Here()
_lock = threading.RLock()
_started: list[bool] = []
_modal: list[tuple] = []            # `_everything`


def asks(x) -> bool:
    """Whether an object is of a class that is asked, now."""
    return KINDS[type(x)] is True and not _here.off


@contextmanager
def unasked():
    """Inside, functions of this thread ask no class."""
    _here.off += 1
    try:
        yield
    finally:
        _here.off -= 1


def disabled_torch_function(function, types, args=(), kwargs=None):
    """The `__torch_function__` of classes that are not asked: operators give plain tensors."""
    with unasked():
        return function(*args, **(kwargs or {}))


def asks_for(cls):
    """From now on instances of the class that functions are given are asked, and so are those of every class with a
    `__torch_function__`: a decorator of the first such class that does not derive from Tensor. Gives the class."""
    if not (isinstance(cls, type) and hasattr(cls, "__torch_function__")):
        raise DTypeError(f"asks takes a class with a __torch_function__, got {cls!r}")
    start()
    return cls


# Modes.


def enter_mode(mode):
    """From now on functions of this thread ask the mode first."""
    start()
    _count_modes(1)
    _here.modes.append(mode)


def leave_mode():
    """The last mode that was entered is not asked any more."""
    _count_modes(-1)
    return _here.modes.pop()


def _count_modes(more: int):
    """Counts the modes of all threads, and this one's. Methods and operators of plain tensors look while there are some."""
    with _lock:
        if not KINDS.modes:
            for fn, code, _ in _everything():
                fn.__code__ = code
        KINDS.modes += more
        if not KINDS.modes:
            for fn, _, code in _everything():
                fn.__code__ = code
    tls.m.asked += more
    tls.m.refresh()


def attribute_of(getter) -> str:
    """The name of the attribute of tensors that a getter gives, as which classes are asked for it."""
    return next(name for name in _PROPERTIES if vars(Tensor)[name] == getter.__self__)


def modes() -> list:
    """The modes that this thread is in, the last one last."""
    return _here.modes


# Asking.


@contextmanager
def skipping():
    """The first function of the user's that asks inside whether it is to hand over is told no."""
    _here.skips = True
    try:
        yield
    finally:
        _here.skips = False


def skipped() -> bool:
    """Whether to tell no; once."""
    found, _here.skips = _here.skips, False
    return found


def _flat(values):
    for x in values:
        asked = KINDS[x.__class__]
        if asked is True:
            yield x
        elif asked:
            yield from _flat(x)


def those_asked(values) -> list:
    """One object of each class that is asked, in order; those of classes that derive from others come before them."""
    found: list = []
    for x in _flat(values):
        kind = type(x)
        if all(type(y) is not kind for y in found):
            found.insert(next((i for i, y in enumerate(found) if issubclass(kind, type(y))), len(found)), x)
    return found


def answer(function, asked, args, kwargs) -> Any:
    """What the mode, or the first class that answers, gives for a function; NotImplemented if none does."""
    types = tuple([type(x) for x in asked])
    if _here.modes:
        mode = _here.modes.pop()
        try:
            found = mode.__torch_function__(function, types, args, kwargs)
        finally:
            _here.modes.append(mode)
        if found is not NotImplemented:
            return found
    for x in asked if not _here.off else ():
        found = x.__torch_function__(function, types, args, kwargs)
        if found is not NotImplemented:
            return found
    return NotImplemented


def _ask(function, plain, args, kwargs):
    """Called by functions that look at what they are given, where that, or a mode, may want to be asked."""
    asked = [] if _here.off else those_asked((*args, *kwargs.values()))
    if (not asked and not _here.modes) or (plain.__name__ in _BINARY and not is_operand(args[1])):
        return plain(*args, **kwargs)
    found = answer(function, asked, args, kwargs)
    if found is not NotImplemented:
        return found
    if plain.__name__ in _BINARY:       # Python asks the other side
        return NotImplemented
    raise refusal(function, asked or _here.modes)


def refusal(function, asked) -> DTypeError:
    """The error where everybody who was asked gave NotImplemented."""
    return DTypeError(f"no class among {', '.join(type(x).__name__ for x in asked) or 'the arguments'} knows "
                      f"{getattr(function, '__qualname__', function)}: every __torch_function__ gave NotImplemented")


def is_operand(x) -> bool:
    """Whether operators of tensors know what to do beside an object."""
    return isinstance(x, (Tensor, bool, int, float, complex)) or hasattr(x, "__array__") or asks(x)


def ask_operand(name: str, x, other):
    """`x <name> other`, where other is of a class that is asked and no tensor: NotImplemented has Python ask the other side."""
    start()
    asked = those_asked((x, other))
    found = answer(_said(name), asked, (x, other), {})
    if found is NotImplemented and name not in _BINARY:
        raise refusal(_said(name), asked)
    return found


def _said(name: str):
    """The function as which classes are asked about an operator: x + y is Tensor.add, as in PyTorch."""
    return getattr(Tensor, _METHODS.get(name.strip("_"), name))


# Functions that look.

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
    """Code that looks, for a function with so many cells: a function takes no code with another number of them."""
    names: dict[str, Any] = {}
    cells = ", ".join([f"c{i}" for i in range(free)])
    exec(compile(text.format(free=cells), "<a question of ingot>", "exec"), names)
    return names["outer"](*[None] * free).__code__


def _copy_of(fn) -> Callable:
    """Another function that does the same."""
    copy = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    copy.__kwdefaults__ = fn.__kwdefaults__
    functools.update_wrapper(copy, fn)
    if "__wrapped__" in fn.__dict__:
        copy.__wrapped__ = fn.__wrapped__       # type: ignore[attr-defined]
    else:
        del copy.__wrapped__                    # type: ignore[attr-defined]
    return copy


def _look(fn, function=None, text=_LOOKING) -> types.CodeType:
    """Code for a function that looks at its arguments. Who is asked is asked about `function`, or the function itself. Objects
    that the code needs are its constants: all that it shares with the code from before is a number of cells."""
    plain = _copy_of(fn)
    fn._asks_for = plain
    fn.__wrapped__ = getattr(fn, "__wrapped__", plain)          # whose parameters are shown
    code = _looking_code(text, len(fn.__code__.co_freevars))
    means = {"kinds": KINDS, "plain": plain, "ask": _ask, "function": function or fn}
    return code.replace(co_consts=tuple([means.get(c, c) if type(c) is str else c for c in code.co_consts]),
                        co_name=fn.__code__.co_name, co_qualname=fn.__code__.co_qualname)


def start() -> None:
    """Public functions look from now on, and methods and operators of Tensor that are among them or may meet other tensors that
    are not asked otherwise."""
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
            if name in _IN_PLACE:           # x += y of a plain tensor x, which Python does not ask the class of y about
                operator.__code__ = _look(operator, _said(name))


def _everything() -> list[tuple]:
    """(function, code that looks, code from before) of what looks while some thread is in a mode: the other methods of Tensor,
    its operators and attributes that are tensors, and functions that make tensors, which ask modes alone."""
    if not _modal:
        found = [(FUNCTIONS[name], None, _ONLY_MODES) for name in MAKERS]
        found += [(value, None, _LOOKING) for _, value in public_methods() if not hasattr(value, "_asks_for")]
        found += [(value, _said(name), _LOOKING) for name, value in operators() if name not in _IN_PLACE]
        found += [(value.fget, value.__get__, _LOOKING) for value in [vars(Tensor)[name] for name in _PROPERTIES]]
        _modal.extend([(fn, _look(fn, function, text), fn.__code__) for fn, function, text in found])
    return _modal


# What is in the class between Tensor and those of the user's (`subclasses.py`).


def public_methods() -> list:
    """The methods of Tensor that have names, by name."""
    return [(name, value) for name, value in vars(Tensor).items()
            if inspect.isfunction(value) and name[0] != "_" and name not in PLAIN]


def operators() -> list:
    """The operators of Tensor, by name."""
    return [(name, value) for name, value in vars(Tensor).items()
            if name[:2] == "__" and inspect.isfunction(value) and value.__module__ in _OPERATORS and name != "__iter__"]


def _takes_others(method) -> bool:
    """Whether a method may get another tensor by position."""
    code = inspect.unwrap(method).__code__
    return not _OTHERS.isdisjoint(code.co_varnames[1:code.co_argcount])


def _in_front(plain, function) -> Callable:
    """A function that looks, in front of a callable."""

    @functools.wraps(plain, updated=())
    def front(*args, **kwargs):
        if KINDS.modes or _holds_asked(args) or _holds_asked(kwargs.values()):
            return _ask(function, plain, args, kwargs)
        return plain(*args, **kwargs)

    front._asks_for = plain             # type: ignore[attr-defined]
    return front


def all_that_looks() -> dict[str, Any]:
    """What a class has in place of what Tensor has and does not look: methods, operators, attributes."""
    made: dict[str, Any] = {name: _in_front(value, value) for name, value in public_methods() if not _looks_always(value)}
    made.update({name: _in_front(value, _said(name)) for name, value in operators() if name not in _IN_PLACE})
    for name in _PROPERTIES:
        value = vars(Tensor)[name]
        made[name] = property(_in_front(value.__get__, value.__get__), value.fset, value.fdel, value.__doc__)
    return made


def _looks_always(fn) -> bool:
    return hasattr(fn, "_asks_for") and all(fn is not row[0] for row in _modal)


def asks_classes(function) -> bool:
    """Whether a function looks at the classes of its arguments."""
    return hasattr(function, "_asks_for") and function.__name__ not in PLAIN


def without_asking(function):
    """What a function does where nobody is asked; None if it is not one that looks."""
    return getattr(function, "_asks_for", None)
