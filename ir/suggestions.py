"""Suggestions for misspelt names in messages: "did you mean 'bias'?"."""

import sys
from collections.abc import Callable
from opcode import opmap

from .errors import ArgumentError
from .tracebacks import is_own

_CLOSE = 0.6        # ratio of equal letters from which a name is suggested


class UnknownName(AttributeError):
    """A module lacks a name. The suggestion is searched when the message is read, so `hasattr` stays quick."""

    def __init__(self, module, name: str, called: str, hint: str = ""):
        # Python adds a suggestion of its own to an error with a `name`.
        super().__init__(f"module '{called}' has no attribute '{name}'{hint}", obj=module)
        self._missing, self._searches = name, not hint

    def __str__(self):
        return f"{self.args[0]}{did_you_mean(self._missing, dir(self.obj)) if self._searches else ''}"

    def __reduce__(self):
        return AttributeError, (str(self),)


class UnknownImport(ImportError):
    """A module lacks a name that `from module import name` asks for."""

    def __init__(self, module, name: str, called: str, hint: str = ""):
        super().__init__(f"cannot import name {name!r} from {called!r}{hint}", name=called, path=module.__file__)
        self._module, self._missing, self._searches = module, name, not hint

    def __str__(self):
        return f"{self.msg}{did_you_mean(self._missing, dir(self._module)) if self._searches else ''}"

    def __reduce__(self):
        return ImportError, (str(self),)


class UnknownModule(ModuleNotFoundError):
    """There is no module of a name. `known()` returns the names of modules that it may mean."""

    def __init__(self, name: str, known: Callable):
        super().__init__(f"No module named {name!r}", name=name)
        self._known = known

    def __str__(self):
        return f"{self.msg}{did_you_mean(self.name, self._known())}"

    def __reduce__(self):
        return ModuleNotFoundError, (str(self),)


for _kind in (UnknownName, UnknownImport, UnknownModule):       # tracebacks show them by the names of their bases
    _kind.__module__, _kind.__name__ = "builtins", _kind.__mro__[1].__name__
    _kind.__qualname__ = _kind.__name__


def unknown_name(module, name: str, called: str, hint: str = "") -> Exception:
    """Return the error for a name that a module lacks, to raise in its `__getattr__`.

    `from module import name` replaces an AttributeError by an ImportError without a suggestion. Errors of other classes leave
    it. So it gets an ImportError from here, known by the instruction that the asking frame runs. `hasattr` and `getattr` run
    other instructions. After an AttributeError Python looks into `sys.modules`, which may have a file that is being imported.
    """
    asking = sys._getframe(2)
    while is_own(asking) and asking.f_back is not None:     # a module under two public paths has a `__getattr__` for each
        asking = asking.f_back
    if asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM and f"{module.__name__}.{name}" not in sys.modules:
        return UnknownImport(module, name, called, hint)
    return UnknownName(module, name, called, hint)


_IMPORT_FROM = opmap["IMPORT_FROM"]


def close_name(name: str, known) -> str | None:
    """Return the known name that a misspelt one means, or None. Equal letters count first, then the first letters."""
    import difflib  # here, since most programs make no such mistake

    best, meant = (_CLOSE, 0, 0), None
    lower = name.lower()
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(lower)
    for other in known:
        if not isinstance(other, str) or (other[:1] == "_" and name[:1] != "_"):
            continue
        if lower == other.lower() or _initials(lower) == other:
            return other
        matcher.set_seq1(other.lower())
        if matcher.real_quick_ratio() < best[0] or matcher.quick_ratio() < best[0]:
            continue
        rank = matcher.ratio(), _common_start(lower, other.lower()), -len(other)
        if rank > best:
            best, meant = rank, other
    return meant


def _initials(name: str) -> str:
    """Return the first letters of the words of a name: `lr` of `learning_rate`."""
    return "".join([word[:1] for word in name.split("_")]) if "_" in name else ""


def _common_start(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def did_you_mean(name, known) -> str:
    """Return "; did you mean 'x'?" for the end of a message, or nothing."""
    meant = close_name(name, known) if isinstance(name, str) else None
    return f"; did you mean {meant!r}?" if meant is not None else ""


def listed(names) -> str:
    """Return names for a message: the first few."""
    names = [*map(repr, names)]
    return ", ".join(names[:_LISTED] + ["..."] * (len(names) > _LISTED)) or "nothing"


_LISTED = 8         # names in a message: a network has hundreds of keys


def unknown_choice(what: str, value, choices) -> ArgumentError:
    """Return the error for a value that is none of the choices of an argument. `what` names the function and the argument."""
    choices = [*choices]
    return ArgumentError(f"{what} must be one of {', '.join(map(repr, choices))}, got {value!r}{did_you_mean(value, choices)}")
