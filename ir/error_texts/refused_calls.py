"""Texts of errors of calls that do not fit a signature: the signature, and the parameter that a misspelt keyword means.

Python raises a bare TypeError before a frame of the called function exists. A wrapper around each public function could explain
it, but costs 4 to 11 % of a call of `relu`. Parameters for all other arguments (`*args`, `**kwargs`) cost 2 to 3 % of it, and
60 % of `x.dim()`. So `explain_refusal` runs when such an error leaves ingot by a door, or is shown. It reads from the
instructions of the calling frame which function refused the call. Calls that succeed cost nothing.
"""

import builtins
import dis
import inspect
import re
import sys
import types
from typing import Any

from ..interrupts import result_or
from ..suggestions import did_you_mean
from ..tracebacks import TEXTS, entries_of, is_own, is_own_module, is_user, outer_frame

_PACKAGE = __name__.partition(".")[0]
_WIDTH = 120        # characters of a signature before its last parameters are left out
_REFUSAL = re.compile(r"([\w.<>]+)\(\) (?:got|takes|missing) ")
_KEYWORD = re.compile(r"unexpected keyword argument '(.*?)'")
_ATTRIBUTES = "LOAD_ATTR", "LOAD_METHOD"
_NAMES = "LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT"
_OF_CALLS = frozenset(("KW_NAMES", "LOAD_CONST", "PUSH_NULL"))      # names of keywords, and room for an object
METHODS_OF: list[type] = []                 # classes that hold public functions as methods


def call_error(name: str, parameters, args, kwargs, also=()) -> TypeError | None:
    """Return the error for arguments that do not fit parameters; None if they do."""
    problem = _problem(parameters, args, kwargs, also)
    return TypeError(f"{name}() {problem}\n{signature_text(name, parameters)}") if problem else None


def unknown_keyword(name: str, parameters, kwargs) -> TypeError:
    """Return the error for the first keyword that is none of the parameters, for a function that itself takes any keyword."""
    parameters = [p for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
    known = _keywords(parameters)
    keyword = next(k for k in kwargs if k not in known)
    return TypeError(f"{name}() {_unexpected(keyword, known)}\n{signature_text(name, parameters)}")


def _problem(parameters, args, kwargs, also) -> str:
    """Return why arguments do not fit parameters, in Python's words; empty if they do."""
    kinds = {p.kind for p in parameters}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = _keywords(parameters)
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for keyword in kwargs:
            if keyword not in named and keyword not in also:
                return _unexpected(keyword, [*named, *also])
    if len(args) > len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        most = len(positional)
        return (f"takes {'no' if not most else f'at most {most}'} positional argument{'s' * (most != 1)} but {len(args)} "
                f"{'was' if len(args) == 1 else 'were'} given")
    for p in positional[:len(args)]:
        if p.name in kwargs:
            return f"got multiple values for argument {p.name!r}"
    missing = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
               and p.name not in kwargs and p not in positional[:len(args)]]
    if not missing:
        return ""
    kind = "positional" if all(p.kind is not p.KEYWORD_ONLY for p in parameters if p.name in missing) else "keyword-only"
    return f"missing {len(missing)} required {kind} argument{'s' * (len(missing) != 1)}: {', '.join(map(repr, missing))}"


def _keywords(parameters) -> list[str]:
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _unexpected(keyword: str, known: list[str]) -> str:
    return f"got an unexpected keyword argument {keyword!r}{did_you_mean(keyword, known)}"


def signature_text(name: str, parameters) -> str:
    """Return a signature on one line, without annotations; of a long one the first parameters."""
    shown = _parameter_texts(parameters)
    text = f"{name}({', '.join(shown)})"
    while len(shown) > 1 and len(text) > _WIDTH:
        shown.pop()
        text = f"{name}({', '.join(shown)}, ...)"
    return text


def _parameter_texts(parameters) -> list:
    shown, is_open, is_unnamed = [], False, False
    for p in parameters:
        if is_unnamed and p.kind is not p.POSITIONAL_ONLY:
            shown.append("/")
        is_unnamed = p.kind is p.POSITIONAL_ONLY
        if p.kind is p.KEYWORD_ONLY and not is_open:
            shown.append("*")
        is_open = is_open or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        default = f"={p.default!r}" if p.default is not p.empty and _is_short(p.default) else ""
        shown.append(f"{star}{p.name}{default}")
    return [*shown, "/"] if is_unnamed else shown


def _is_short(value) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, tuple))


# Calls that no frame of ingot saw.


def explain_refusal(error: BaseException | None) -> None:
    """Rewrite the text of a TypeError with which Python refused a call of a public function. Other errors stay.

    An error that a wrapper has explained gets the name that the user called: `x.clamp_(mim=0)` passes through `clamp`.
    """
    if type(error) is not TypeError or error.__traceback__ is None or len(error.args) != 1:
        return
    text = error.args[0]
    refusal = _REFUSAL.match(text) if type(text) is str else None
    if refusal is None:
        return
    result_or(None, _rewrite_refusal, error, text, refusal)     # (objects of users may have odd attributes)


def _rewrite_refusal(error, text, refusal) -> None:
    told = refusal[1]
    refusing, users = _calls(error.__traceback__)
    if f"\n{told}(" in text:
        outer = _called(users, None)
        first = re.search(r"\n[\w.]+\((\w+)", text)
        if (outer is not None and outer[1] != told and outer[1][:2] != "__"
                and _begins_with(outer[0], None if first is None else first[1])):
            error.args = _explained(text.partition("\n")[0][refusal.end(1) + 3:], *outer),
    elif "\n" not in text:
        callee = _called(refusing, told)
        outer = callee if refusing == users else _called(users, None)
        if callee is not None:
            names = [p.name for p in _parameters(callee[0])]
            fn, name = outer or callee
            if told[0] != "_" and not _begins_with(fn, names[0] if names else None):
                fn, name = callee[0], told
            if any(p.kind is p.VAR_KEYWORD for p in _parameters(fn)):       # it passes them on to a function that does not
                fn = callee[0]
            error.args = _explained(text[refusal.end(1) + 3:], fn, name),


TEXTS.append(explain_refusal)


def _begins_with(fn, first: str | None) -> bool:
    """Return whether a function passes its arguments on to one whose first parameter has this name. `checkpoint(f, x)` begins
    with a function of the user, and the refused call is that of `f`."""
    return next((p.kind is p.VAR_POSITIONAL or p.name == first for p in _parameters(fn)), True)


def name_in_program(error: BaseException, name: str) -> str:
    """Return the name by which the program called the function that an error is leaving, whose name is `name`."""
    return result_or(name, _name_at_call, error, name)


def _name_at_call(error, name: str) -> str:
    frame = outer_frame(error.__traceback__.tb_frame.f_back)
    callee = None if frame is None or is_own(frame) else _called((frame, frame.f_lasti), None)
    return name if callee is None or callee[0].__name__ != name else callee[1]


def _explained(problem: str, fn, name: str) -> str:
    """Return the text for Python's words on a call of `fn`, which the user called by `name`."""
    parameters = _parameters(fn)
    keyword = _KEYWORD.search(problem)
    if keyword is not None:
        problem = _unexpected(keyword[1], _keywords(parameters))
    return f"{name}() {problem}\n{signature_text(name, parameters)}"


def _parameters(fn) -> list[inspect.Parameter]:
    """Return the parameters that a caller may give. A method in place has the signature of the other form, with `out`."""
    is_in_place = fn.__name__[-1] == "_" and fn.__name__[-2:] != "__"
    left_out = {"self", "cls", "out"} if is_in_place else {"self", "cls"}
    return [p for i, p in enumerate(inspect.signature(fn).parameters.values())
            if p.name not in left_out or (i and p.name in ("self", "cls"))]


_Site = tuple[types.FrameType, int]       # a call: its frame, and the offset of the instruction


def _calls(trace) -> tuple[_Site | None, _Site | None]:
    """Return the call that was refused, and the user's call that led to it.

    None for calls with arguments that ingot chose. Functions that pass on the user's take any keyword, or a dict `kwargs`.
    """
    frame: Any
    entries = entries_of(trace)
    refusing = entries[-1].tb_frame, entries[-1].tb_lasti
    for entry in reversed(entries):
        frame = entry.tb_frame
        if is_user(entry):
            return refusing, (frame, entry.tb_lasti)
        if not frame.f_code.co_flags & inspect.CO_VARKEYWORDS and "kwargs" not in frame.f_code.co_varnames:
            return None, None
    frame = outer_frame(entries[0].tb_frame.f_back)         # the error has not left ingot yet
    return refusing, None if frame is None or is_own(frame) else (frame, frame.f_lasti)


def _called(site: _Site | None, qualname: str | None) -> tuple[Any, str] | None:
    """Return the function of ingot that is called there, and its public name. `qualname` is the name of the function that
    Python told; with None, any will do."""
    if site is None:
        return None
    frame, lasti = site
    *before, call = [i for i in dis.get_instructions(frame.f_code) if i.offset <= lasti]
    start, end = _range(call)
    if not call.opname.startswith("CALL") or start[1] is None:       # without columns: `python -X no_debug_ranges`
        return None
    names: list[str] = []       # of `a.b.c`: c, b, a
    is_whole = False            # the first name is no attribute
    for instruction in reversed(before):
        first, last = _range(instruction)
        if first != start or last == end or instruction.opname in _OF_CALLS:       # an argument, or a part of the call
            continue
        if type(instruction.argval) is str and instruction.opname.startswith(_ATTRIBUTES):
            names.append(instruction.argval)
        elif type(instruction.argval) is str and instruction.opname.startswith(_NAMES):
            names.append(instruction.argval)
            is_whole = True
            break
        else:                   # an attribute of a result: `f(x).relu()`
            break
    return _looked_up(frame, names, is_whole, qualname) if names else None


def _range(instruction) -> tuple:
    """Return (line, column) of the start and of the end of the expression of an instruction. A call and its function start
    together, and the function ends first."""
    lineno, end_lineno, column, end_column = instruction.positions
    return (lineno, column), (end_lineno, end_column)


def _looked_up(frame: types.FrameType, names: list[str], is_whole: bool, qualname) -> tuple[Any, str] | None:
    """Return the function of ingot that a name, or an attribute of a name, refers to, and its public name."""
    last, *path = names
    if not is_whole:            # the object is gone
        owners: list = METHODS_OF
    elif path:
        owner = _variable(frame, path[-1])
        for name in reversed(path[:-1]):
            owner = _attribute(owner, name)
        owners = [owner]
    else:
        fn = _function(_variable(frame, last), qualname)
        is_public = fn is not None and getattr(sys.modules.get(_PACKAGE), last, None) is fn
        return None if fn is None else (fn, last if is_public else fn.__name__)
    for owner in owners:
        fn = _function(_attribute(owner, last), qualname)
        if fn is not None:
            return fn, last if _is_public_owner(owner, last) else fn.__name__
    return None


def _variable(frame: types.FrameType, name: str):
    """Return the value of a name in a frame. Reading `f_locals` leaves a copy in the frame, so globals come first."""
    if name not in frame.f_code.co_varnames + frame.f_code.co_freevars + frame.f_code.co_cellvars and name in frame.f_globals:
        return frame.f_globals[name]
    return frame.f_locals.get(name, getattr(builtins, name, None))


def _attribute(owner, name: str):
    """Return an attribute without running code of users."""
    if isinstance(owner, types.ModuleType):
        return getattr(owner, name, None) if is_own_module(owner.__name__) else vars(owner).get(name)
    return inspect.getattr_static(owner, name, None)


def _is_public_owner(owner, name: str) -> bool:
    """Return whether ingot gives an attribute its name. `self.act = F.relu` of a user does not."""
    if isinstance(owner, types.ModuleType):
        return is_own_module(owner.__name__)
    holder = next((c for c in (owner if isinstance(owner, type) else type(owner)).__mro__ if name in vars(c)), None)
    return holder is not None and is_own_module(holder.__module__)


def _function(value, qualname: str | None):
    """Return the function, or the class, of ingot that a value is, if Python tells of it by this name."""
    value = getattr(value, "__func__", value)
    if isinstance(value, type):
        fits = qualname is None or qualname in (f"{value.__qualname__}.__new__", f"{value.__qualname__}.__init__")
    else:
        fits = isinstance(value, types.FunctionType) and qualname in (None, value.__qualname__)
    return value if fits and is_own_module(value.__module__ or "") else None
