"""Decorator `api`: makes a function `ingot.name`, `Tensor.name`, and `name_` in place.

Functions have PyTorch's argument names. Those with a `dim` or `keepdim` also take NumPy's spellings.
"""

import re
from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from ....ir.doors import Leaving, door
from ....ir.dtype import FLOAT_CHARS, can_cast
from ....ir.error_texts.call_errors import explain_call, explain_constructors
from ....ir.error_texts.refused_calls import METHODS_OF, name_in_program, unknown_keyword
from ....ir.errors import (
    ArgumentError,
    DimError,
    DTypeError,
    IngotError,
    NoTensorError,
    OutOfMemoryError,
    ShapeError,
    kind_of,
)
from ....ir.opdef.op import OPS, Composite
from ....ir.tracebacks import ARGUMENT_ERRORS, is_own_module
from ...core.inplace import computed_into, is_small, overwrite
from ...core.node import rescue_operands_between
from ...core.tensor import NotOneError, Tensor, shape_of
from ...core.writes import is_quiet, write, wrote, wrote_plainly
from ...memo.call_memo import kind_of_call, new_table, past_tracker
from ...memo.call_recorder import first_call
from ...memo.view_memo import viewing
from ...state.mode import tls
from .lazy_methods import put_method

F = TypeVar("F", bound=Callable)


class Functions(dict[str, Any]):
    """Every `ingot.*` function by name. A missing name calls the loaders in `late`, one after the other."""

    late: tuple[Callable[[], Any], ...] = ()

    def __missing__(self, name):
        for load in self.late:
            load()
            if name in self:
                return self[name]
        raise KeyError(name)


FUNCTIONS = Functions()
_FACE = __name__.partition(".")[0]


def api(*, method=True, function=True, inplace=False, names=(), name=None, keywords=None, checked=None,
        memoised=False, sees=None):
    """Publish a function.

    method    also a method of Tensor, with the tensor as first argument
    function  `ingot.name`; False for methods only
    inplace   also `name_`, which writes the result into its first argument. If this is a record or several, the function calls
              one of them once, and that record may write there itself: the argument is not read again.
    names     other public names
    name      public name, if it is not the function's own
    keywords  other names of its parameters, as {other: own}
    checked   explain wrong arguments. That costs a call, so the quickest functions say False: `x.clone()`, products of small
              matrices. By default functions of several parameters are checked
    memoised  memoise calls: the operators depend only on arguments, shapes and dtypes (`call_memo.py`)
    sees      the view operator of the function; its parameters follow from a shape and ints (`view_memo.py`)
    """

    def mark(fn):
        is_generated = "<locals>" in fn.__code__.co_qualname
        if name is not None and ("<locals>" in fn.__qualname__ or not function):
            fn.__name__ = fn.__qualname__ = name
        wants_check = _has_several_parameters(fn.__code__) if checked is None else checked
        general = renamed(fn, keywords or {}, wants_check or memoised or sees is not None)
        public_function = memoise(general) if memoised else general if sees is None else viewing(sees, general)
        door(public_function, naming(fn, name))
        if function and (is_generated or public_function is not fn):
            _public_under(public_function, name or fn.__name__)
        for public in (name or fn.__name__, *names):
            if function:
                FUNCTIONS[public] = public_function
            if method:
                put_method(public, public_function)
            if inplace:
                ops = () if inplace is True else inplace if type(inplace) is tuple else (inplace,)
                writing = make_inplace(general, public, ops, public_function if memoised else general)
                door(writing, naming(writing))
                put_method(writing.__name__, writing)
                if function:
                    FUNCTIONS[writing.__name__] = writing
                    _public_under(writing, writing.__name__)
        return fn

    return mark


def _has_several_parameters(code) -> bool:
    return code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & _TAKES_ANY) > 1


_TAKES_LIST = 4
_TAKES_ANY = 4 | 8      # flags of code with *args or **kwargs


def _public_under(fn, public: str):
    """Set module and name of a function so that pickle finds it under `ingot`."""
    fn.__module__, fn.__name__, fn.__qualname__ = _FACE, public, public
    if fn.__code__.co_name == "fn":         # one of a table of functions: errors of its arguments name it by its code
        fn.__code__ = fn.__code__.replace(co_name=public)


NUMPY_NAMES = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "dim0": "axis0", "dim1": "axis1"}


def renamed(fn, keywords, checked=False):
    """Return `fn` with other names accepted for its parameters, or `fn` itself if there are none.

    The names are NumPy's for `dim`, `keepdim` and the like, and those of `keywords`. Errors name the argument that should be a
    tensor; `checked` asks for that alone.
    """
    code = fn.__code__
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    rename = {numpys: torchs for torchs, numpys in NUMPY_NAMES.items() if torchs in taken and numpys not in taken}
    rename.update(keywords)
    if not rename and not checked:
        return fn

    @wraps(fn)
    def with_own_names(*args, **kwargs):
        try:
            if not kwargs:
                return fn(*args)
            if not rename.keys().isdisjoint(kwargs):
                kwargs = {rename.get(k, k): v for k, v in kwargs.items()}
            return fn(*args, **kwargs)
        except _EXPLAINED as error:
            explain(error, fn, args, kwargs, with_own_names.__name__, rename)
            raise

    return with_own_names


def memoise(fn):
    """Return a function whose calls are memoised (`call_memo.py`)."""
    @wraps(fn)
    def memoised(*args, **kwargs):
        m = tls.m
        if not m.special:
            kind = kind_of_call(args, kwargs, m.grad)
            if kind is not None:
                known = table.get(kind)
                return known(m, args, kwargs) if known is not None else first_call(table, fn, kind, args, kwargs)
        return fn(*args, **kwargs) if m.own_code is None else past_tracker(m, fn, args, kwargs)

    table = new_table(memoised)
    return memoised


def checked(fn: F) -> F:
    """Return a function whose errors name the argument that should be a tensor."""
    return renamed(fn, {}, True)


def memoised(fn: F) -> F:
    """Return a checked function whose calls are memoised."""
    return memoise(checked(fn))


_EXPLAINED = AttributeError, TypeError


def explain(error: AttributeError | TypeError, fn, args, kwargs, name: str, also=()) -> None:
    """Put the signature into the error of a call that does not fit it. Raise a clearer error if a non-tensor was passed where a
    tensor belongs: it names the argument and what came."""
    if not isinstance(error, AttributeError):       # (`NoNumberError` is both)
        explain_call(error, fn, args, kwargs, name, also)
        return
    told = _of_argument(error, name, {**dict(zip(signature(fn).parameters, args)), **kwargs})
    if told is not None:
        raise told from None


def _of_argument(error: Exception, name: str, given: dict) -> Exception | None:
    """Return the error that names an argument without an attribute that a tensor has; None if there is no such argument."""
    if isinstance(error, AttributeError) and error.name is not None:
        for argument, value in given.items():
            items = enumerate(value) if isinstance(value, (list, tuple, str, dict)) else ()
            for text, x in ((argument, value), *[(f"{argument}[{i}]", v) for i, v in items]):
                if x is error.obj and not isinstance(x, Tensor):
                    return no_tensor(name, text, x) if hasattr(Tensor, error.name) else _not_taken(name, text, x, error)
    array = next(((argument, x) for argument, x in given.items() if isinstance(x, np.ndarray)), None)
    return None if array is None else no_tensor(name, *array)


def _not_taken(name, argument, x, error) -> Exception:
    return DTypeError(f"{name} does not take {kind_of(x)} as {argument}: {error}")


def argument_error(error: Exception, code, values: dict) -> Exception | None:
    """Return the error that names a wrong argument, for one that arose inside a public function with these variables; None if
    its arguments do not show why."""
    name, given, defaults = _call_of(code, values)
    if isinstance(error, MemoryError):
        return OutOfMemoryError(f"{name}: {error}; make the tensors smaller, or free some with del")
    first, value = next(iter(given.items()), (None, None))
    if first in _OF_TENSORS and not isinstance(value, Tensor):
        return no_tensor(name, first, value)
    named = [(argument, x) for argument, x in given.items() if repr(type(x).__name__) in str(error)
             and not isinstance(x, Tensor) and type(x) is not defaults.get(argument)]
    if isinstance(error, TypeError) and named:          # "'int' object is not iterable"; optional arguments come behind
        # "'<=' not supported between instances of 'str' and 'int'": numbers are right where something else is.
        return _not_taken(name, *min(named, key=lambda item: isinstance(item[1], (int, float))), error)
    return _of_argument(error, name, given)


def _call_of(code, values: dict) -> tuple[str, dict, dict]:
    """Return (name of a public function that runs, its arguments by name, types of the defaults where they are known)."""
    fn = next((values[name] for name in _WRAPPED if type(values.get(name)) is FunctionType), None)
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    name, given = code.co_name, {name: values[name] for name in names if name in values}
    defaults: dict = {}
    if fn is None and code.co_flags & _TAKES_LIST:
        several = code.co_varnames[len(names)]
        given.update({f"{several}[{i}]": x for i, x in enumerate(values.get(several, ()))})
    if fn is not None and "args" in values:         # a wrapper, as `no_grad` and `make_inplace` write them
        parameters = signature(fn).parameters
        name, given = fn.__name__, {**dict(zip(parameters, (*given.values(), *values["args"]))), **values.get("kwargs", {})}
        defaults = {argument: type(p.default) for argument, p in parameters.items()}
    kind = type(given.get("self"))
    is_constructor = name == "__init__"
    if is_constructor:
        name = kind.__name__ if is_own_module(kind.__module__) or "cls" not in values else values["cls"].__name__
    if is_constructor or is_own_module(kind.__module__):        # the object of a method is right; `ingot.detach(3)` has none
        given.pop("self", None)
    return name, given, defaults


# Variables of wrappers with the function: here and in `ir/blocks.py`, in `contextlib`, in `torch_function`, in
# `ir/error_texts/call_errors.py`.
_WRAPPED = "fn", "func", "plain", "init"
_OF_TENSORS = "input", "tensor", "self", "x", "A"         # first parameters that take a tensor alone
ARGUMENT_ERRORS.append(argument_error)
METHODS_OF.append(Tensor)


def naming(fn, name: str | None = None) -> Leaving:
    """Return the call in the door of a public function that puts its name into errors of what it calls."""
    name = name or fn.__name__
    _NAMES.add(name)
    return Leaving(_name_function, name)


def give_named_doors(functions: dict) -> None:
    """Give doors to public functions, by name, that put their names into errors of what they call."""
    for public, fn in functions.items():
        if type(fn) is FunctionType:
            door(fn, naming(fn))
            if public != fn.__name__:
                _ALIASED.add(fn.__name__)


def name_constructors(*spaces: dict) -> None:
    """Explain calls that do not fit the constructors of public classes, and start messages of what they call with the class."""
    explain_constructors(*spaces)
    for cls in {base for space in spaces for value in space.values() if isinstance(value, type) for base in value.__mro__}:
        init = vars(cls).get("__init__")
        if type(init) is FunctionType and is_own_module(cls.__module__):
            door(init, Leaving(_name_class, cls.__name__))
    _NAMES.update({name for space in spaces for name, value in space.items() if isinstance(value, type)})


def _name_class(error: BaseException | None, name: str) -> None:
    """Start the message of an error that leaves a constructor with the name of the public class."""
    trace = None if error is None else error.__traceback__
    made = None if trace is None else trace.tb_frame.f_locals.get("self")
    name = next((c.__name__ for c in type(made).__mro__ if is_own_module(c.__module__)), name)
    if isinstance(error, NotOneError) and hasattr(made, "forward"):         # `nn.MSELoss(output, target)`
        error.args = tensor_as_option(name).args
    else:
        _name_function(error, name)


def tensor_as_option(name: str) -> DTypeError:
    """Return the error for a module that is made with the tensors of a call."""
    return DTypeError(f"{name}: an option is a tensor; make the module first, then call it with tensors: {name}()(...)")


_NAMES: set[str] = set()        # of public functions that name themselves
_ALIASED: set[str] = set()      # names of functions that have further ones: `sub` is `subtract`, too


def _name_function(error: BaseException | None, name: str) -> None:
    """Start a message with the name of a public function, in place of that of an operator or function that this one calls.

    Errors that passed through code of users, or that a device found later, speak of another call. Those of values keep the
    name, as in replays.
    """
    if not isinstance(error, IngotError) or error.is_of_earlier_call or error.is_of_values:
        return
    text = str(error)
    operator = _OF_OPERATOR.match(text)
    name = name_in_program(error, name) if name in _ALIASED else name
    called = None if operator is None else operator[1]
    if called == name or not error.args or (called is not None and called not in OPS and called not in _NAMES):
        return
    if called is None and (name in text or not isinstance(error, _OF_ARGUMENTS)):
        return
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] != _FACE:
            return
        trace = trace.tb_next
    text = f": {text}" if operator is None else text[operator.end(1):]
    if _WITH_DTYPE in text and "dtype" not in signature(dict.get(FUNCTIONS, name, naming)).parameters:
        text = text.replace(_WITH_DTYPE, "")        # `mse_loss` calls `mean`, which takes one
    error.args = (name + text, *error.args[1:])


_OF_OPERATOR = re.compile(r"(\w+)(?=: | of | takes | does not take | needs | with | along |\()")
_OF_ARGUMENTS = ArgumentError, DimError, DTypeError, OutOfMemoryError, ShapeError
_WITH_DTYPE = " or pass dtype="


def no_tensor(name, argument, x):
    """Return the error for an argument that must be a tensor."""
    return NoTensorError(f"{name} takes a tensor as {argument}, got {kind_of(x)}; make it one with ingot.tensor()")


def rename_all(module: dict[str, Any]):
    """Give the functions in a module's `__all__` NumPy's parameter names and checked errors."""
    module.update({name: renamed(fn, {}, True) for name in module["__all__"] if type(fn := module[name]) is FunctionType})


def make_inplace(fn, name: str, ops=(), general=None):
    """Return `name_`, which writes the result of `name` into its first argument, or lets one of `ops` write there. `general` is
    the same function for results in new memory."""
    general = general or fn

    def method(self, *args, **kwargs):
        try:
            if kwargs:
                refuse_out(kwargs)
            return store_over(self, general(operand_to_overwrite(self), *args, **kwargs), (*args, *kwargs.values()), name + "_")
        except _EXPLAINED as error:
            explain(error, fn, (self, *args), kwargs, name + "_")
            raise

    def into(self, *args, **kwargs):
        try:
            if kwargs:
                refuse_out(kwargs)
            if not tls.m.special and not (copies_small and is_small(self._a)):
                return store_over(self, computed_into(self, ops, fn, args, kwargs), (*args, *kwargs.values()), name + "_")
        except _EXPLAINED as error:
            explain(error, fn, (self, *args), kwargs, name + "_")
            raise
        return method(self, *args, **kwargs)

    def alone(self, *args, **kwargs):
        try:
            if not args and not kwargs and self._a.dtype.char in FLOAT_CHARS and overwrite(ops[0], self, name + "_"):
                return self
        except _EXPLAINED as error:
            explain(error, fn, (self,), {}, name + "_")
            raise
        return into(self, *args, **kwargs)

    def refuse_out(kwargs):     # the other form has `out`
        if "out" in kwargs:
            raise unknown_keyword(name + "_", [p for p in signature(fn).parameters.values() if p.name != "out"], kwargs)

    copies_small = any("updates" in op.traits or type(op.lower) is Composite for op in ops)
    is_unary = len(ops) == 1 and ops[0].is_elementwise and type(ops[0].vjp) is tuple and len(ops[0].vjp) == 1
    made = method if not ops else alone if is_unary else into
    wraps(fn)(made)
    made.__name__ = made.__qualname__ = name + "_"
    made.__doc__ = f"In-place version of {name}()."
    return made


def operand_to_overwrite(t: Tensor) -> Tensor:
    """Return the operand of an operation in place: a copy if saved-tensor hooks keep its memory, else the tensor itself."""
    m = tls.m
    return t if m.saved_hooks is None or not m.grad or t._node is None else t.clone()


def store(dst: Tensor, result: Tensor, name: str) -> Tensor:
    """Write a result into `dst` if dtypes allow it."""
    if result._a.dtype is not dst._a.dtype and not can_cast(result.dtype, dst.dtype):
        raise DTypeError(f"{name}: the result is {result.dtype.name} and cannot be written into a tensor of {dst.dtype.name}; "
                         f"use the out-of-place form")
    if result._a is dst._a and result is not dst and is_quiet(dst, tls.m):      # written in place already
        if result._node is None:
            wrote_plainly(dst, name)
        else:
            wrote(dst, result, name)
        return dst
    return write(dst, result, name)


def store_over(dst: Tensor, result: Tensor, others, name: str) -> Tensor:
    """Write a result into `dst` after copying old values that gradient rules of its history still read."""
    if result._node is not None and tls.m.grad:
        given = [x._node for x in (dst, *others) if isinstance(x, Tensor)]
        rescue_operands_between(result._node, given, (dst if dst._base is None else dst._base)._a, dst._storage)
    return store(dst, result, name)


def deliver(result: Tensor, out: Tensor | None, name: str) -> Tensor:
    """Return a result, written into `out` if that is given."""
    if out is None:
        return result
    if out._a.shape != result._a.shape:
        out._resize_over(shape_of(result))
    return store(out, result, name)
