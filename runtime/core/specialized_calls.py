"""Specialised calls: a generated `__call__` for each signature of an operator.

A record takes any arguments, and dispatches by the first of them (`ir/opdef/op.py`). A record that is called often gets a class
whose `__call__` has the operator's own parameters, as a dataclass gets its `__init__`. For tensors it does the work of
`dispatch.call`, for plain arrays that of `dispatch.run_arrays`, without packing arguments and asking what is the same at every
call. Special modes and other types of arguments fall back to these two.
"""

import inspect
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...ir.opdef.op import NO_GRAD, Op

# Names in generated code, with an underscore; the dispatcher enters its own.
NAMES: dict = {"__name__": __name__, "_PLAIN": frozenset((bool, int, float, complex))}
_THRESHOLD = 8                          # calls from which an operator is specialised
_calls: dict = {}                       # counts of calls of other operators
_expects: list = []                     # not empty inside of `expecting_more`


class Form(NamedTuple):
    """The signature that a `__call__` is generated for."""

    operands: tuple         # names of positional arguments; none if their number is open
    options: tuple          # names of keyword arguments
    number_first: bool      # a number may come before the first tensor
    from_nothing: bool      # there may be no tensor at all
    checked: bool           # the shape rule must be asked
    taped: bool             # there are gradients
    is_view: bool
    by_rows: bool           # results are row-major, whatever operands are
    special: str            # flag of `Mode` under which `dispatch.call` takes over; autocast leaves some operators alone


def count_call(op: Op) -> None:
    """Count a call of an operator, and specialise the operator at the eighth, or at once if this is `expecting_more`."""
    n = _calls[op] = _calls.get(op, 0) + 1
    if n == _THRESHOLD or (_expects and n < _THRESHOLD):
        specialize(op)


@contextmanager
def expecting_more():
    """Specialise operators at their first call inside, since as many calls follow as make that pay."""
    _expects.append(True)
    try:
        yield
    finally:
        _expects.pop()


def specialize(op: Op) -> Any:
    """Return an operator with a specialised `__call__`; generate it if there is none."""
    if type(op) is Op:
        object.__setattr__(op, "__class__", _class_of(form_of(op)))     # records are frozen
    return op


def form_of(op: Op) -> Form | None:
    """Return the form of an operator's calls; None if some arguments are optional."""
    parameters = list(inspect.signature(op.infer).parameters.values())
    operands = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if op.is_elementwise and len(operands) + len(options) < len(parameters):
        operands = [f"x{i}" for i in range(_count_of(op))]
    elif any(p.kind is p.VAR_POSITIONAL for p in parameters):
        operands = []
    if any(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return Form(tuple(operands), tuple(options), op.is_elementwise and len(operands) > 1,
                "from_nothing" in op.traits, not op.checked_by_kernel, op.vjp is not NO_GRAD, op.is_view,
                has_row_major_results(op), "special" if op.is_autocast else "noticed")


def has_row_major_results(op: Op) -> bool:
    """Return whether results of an operator are row-major, whatever its kernel returns."""
    return not op.keeps_order and not op.is_view


def _count_of(op) -> int:
    """Return the number of operands of an elementwise operator; 0 if unknown."""
    if isinstance(op.vjp, tuple):
        return len(op.vjp)
    plain = getattr(op.ref, "plain", None)
    if isinstance(plain, np.ufunc):
        return plain.nin
    return 0 if plain is None else len(inspect.signature(plain).parameters)


@lru_cache(None)
def _class_of(form: Form | None) -> type:
    found: dict = {}
    exec(compile(text_of(form) if form else _ANY, "<a call of ingot>", "exec"), NAMES, found)
    call = found["__call__"]
    return type("Op", (Op,), {"__call__": call, "call": call, "__doc__": Op.__doc__, "__module__": Op.__module__})


_ANY = """
def __call__(self, *args, **params):
    return (_call if isinstance(args[0], _Tensor) else _binder_of(args))(self, args, params)
"""

_OPEN = """
def __call__(self, {parameters}):
    if not isinstance(args[0], _Tensor):
        if args[0].__class__ is _ndarray:
            return (_KERNELS.get(self) or _kernel_of(self))(*args, {given})
        return _binder_of(args)(self, args, {options})
    _m = _tls.m
    if _m.{special}:
        return _call(self, args, {options})
    _arrays, _kinds, _recorded = [], [self, {kind}], False
    for _x in args:
        if isinstance(_x, _Tensor):
            _recorded = _recorded or _x._node is not None
            _x = _x._a
            _kinds.append(_x.shape)
            _kinds.append(_x.dtype)
        else:
            _kinds.append(_x)
        _arrays.append(_x)
    {read}
    _kernel = _KERNELS.get(self) or _kernel_of(self)
    try:{check}
        _result = _m.run(_kernel, *_arrays, {given})
    except Exception as _error:
        _result = _after_failure(self, _kernel, _arrays, {options}, _error)
"""

_FRAME = """
def __call__(self, {parameters}):
    if not ({is_tensor}):
        if {is_array}:
            return (_KERNELS.get(self) or _kernel_of(self))({given})
        _args = {operands}
        return _binder_of(_args)(self, _args, {options})
    _m = _tls.m
    if _m.{special}:
        return _call(self, {operands}, {options})
"""

_VIEW = """
    return _call_view(_m, self, {operands}, {options})
"""

_RUN = """
    {read}
    _kernel = _KERNELS.get(self) or _kernel_of(self)
    try:{check}
        _result = _m.run(_kernel, {given_arrays})
    except Exception as _error:
        _result = _after_failure(self, _kernel, {arrays}, {options}, _error)
"""

_BY_ROWS = """
    if _result.__class__ is not _ndarray or not _result.flags.c_contiguous:
        _result = _by_rows(_result)
"""

_WRAP = """
    if _result.__class__ is _ndarray:
        _out = _new(_Tensor)
        _out._a = _result
        _out._node = _out._shared = None
    else:
        _out = tuple([_wrap(r) for r in _result]) if type(_result) is tuple else _wrap(_result)
"""

_CHECK = """
        if {kind} not in _accepted:
            _accept({kind}, self, {arrays}, {options})"""

_RECORD = """
    if _m.grad and ({wanted}):
        _record(self, {operands}, {options}, _out)
"""

_RECORD_KNOWN = """
    if _m.grad and ({wanted}):
        _kinds = (self, {histories}) if _out.__class__ is not tuple else (self, {histories}, -len(_out))
        (_taped.get(_kinds) or _write(_kinds))(self, {operands}, {options}, _out)
"""


def text_of(form: Form) -> str:
    """Return the source of a form's `__call__`."""
    if not form.operands:
        return _open_text(form)
    names, arrays = form.operands, [f"a_{x}" for x in form.operands]
    sure = set() if form.number_first or form.from_nothing else {names[0]}       # to be a tensor, after the first check
    are_tensors = {x: "True" if x in sure else f"isinstance({x}, _Tensor)" for x in names}     # Python leaves out "True"
    options = [f"{o}={o}" for o in form.options]
    kinds = [f"{a}.shape, {a}.dtype" if x in sure else f"({a}.shape, {a}.dtype) if {are_tensors[x]} else {x}"
             for x, a in zip(names, arrays)]
    words = {
        "special": form.special,
        "is_array": " or ".join([f"{names[0]}.__class__ is _ndarray", *[      # behind anything else it may be a graph's
            f"({names[0]}.__class__ in _PLAIN and {x}.__class__ is _ndarray)" for x in names[1:] if form.number_first]]),
        "parameters": ", ".join([*names, *(["*", *form.options] if options else [])]),
        "operands": f"({', '.join(names)},)",
        "options": f"{{{', '.join([f'{o!r}: {o}' for o in form.options])}}}",
        "is_tensor": " or ".join([*[f"isinstance({x}, _Tensor)" for x in (names if form.number_first else names[:1])],
                                  *([f"{names[0]} is None"] if form.from_nothing else [])]),
        "arrays": f"({', '.join(arrays)},)",
        "read": "\n    ".join([f"{a} = {x}._a if {are_tensors[x]} else {x}" for x, a in zip(names, arrays)]),
        "given": ", ".join([*names, *options]),
        "given_arrays": ", ".join([*arrays, *options]),
        "kind": f"({', '.join(['self', *kinds, *form.options])})",
        "wanted": " or ".join([f"({are_tensors[x]} and {x}._node is not None)" for x in names]),
        "histories": ", ".join([f"({x}._node is not None and {a}.dtype.kind in _INEXACT) if {are_tensors[x]} else {x}.__class__"
                                for x, a in zip(names, arrays)]),
    }
    words["check"] = _CHECK.format(**words) if form.checked else ""
    body = _VIEW if form.is_view else _RUN + _after(form, _RECORD_KNOWN)
    return (_FRAME + body).format(**words)


def _after(form: Form, record: str) -> str:
    """Return the source that wraps, tapes and returns a result."""
    return (_BY_ROWS if form.by_rows else "") + _WRAP + (record if form.taped else "") + "    return _out\n"


def _open_text(form: Form) -> str:
    """Return the source for operators that take any number of tensors."""
    words = {
        "special": form.special,
        "parameters": ", ".join(["*args", *form.options]),
        "operands": "args",
        "options": f"{{{', '.join([f'{o!r}: {o}' for o in form.options])}}}",
        "arrays": "_arrays",
        "read": "_kinds = tuple(_kinds)" if form.checked else "",
        "given": ", ".join([f"{o}={o}" for o in form.options]),
        "kind": "_kinds" if form.checked else "",
        "wanted": "_recorded",
    }
    words["check"] = _CHECK.format(**words) if form.checked else ""
    words["kind"] = ", ".join(form.options)
    return (_OPEN + _after(form, _RECORD)).format(**words)
