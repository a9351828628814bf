"""Operator record: shape rule, reference, gradient, lowering and traits of one operator.

Calling a record binds by the first argument that can answer: a tensor dispatches, a graph value appends a node, an array runs
the reference. So a gradient rule, written in records, runs eagerly, while tracing, and as the oracle of tests.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, wraps
from math import prod
from typing import Any

import numpy as np

from ..cached_property import cached_property
from ..dtype import ALL, FLOAT8, refuse_float8
from ..errors import DTypeError
from ..interrupts import raise_interrupt
from ..process_state import ignore_float_errors
from ..registry import Registry
from ..symbols.substitute import serve_operators
from ..symbols.symbolic import computed, hint, is_symbol

OPS: dict[str, "Op"] = Registry()


class NoGrad:
    """Marker of an operator without a derivative. It is never implied."""

    def __repr__(self):
        return "NO_GRAD"


NO_GRAD = NoGrad()
AUTOCAST = frozenset(("autocast_wide", "autocast_low", "wide_on_gpu", "low_on_gpu"))      # (`runtime/amp/autocast_mode.py`)


# The ways down: each record names exactly one.


@dataclass(frozen=True)
class Scalar:
    """Elementwise lowering to one scalar function of the code generator, by name (default: the operator's name)."""

    fn: str = ""


@dataclass(frozen=True)
class Reduce:
    """Reduction over dims with the named combiner."""

    kind: str


@dataclass(frozen=True)
class View:
    """New index map over the same memory.

    undo    (x, **params) -> the parameters with which the same operator leads back to the shape of `x`, or None if the view
            lacks elements of it. An operator without it always lacks some, or has some twice.
    """

    undo: Callable | None = None


@dataclass(frozen=True)
class Composite:
    """Stays whole until the decompose pass, then becomes the operators that `body(*args, **params)` calls."""

    body: Callable


@dataclass(frozen=True)
class Template:
    """Hand-written kernel family (contractions, sorts, scans, gathers)."""

    family: str


@dataclass(frozen=True)
class Host:
    """Runs on the host between compiled segments (data-dependent shapes, rare operators)."""


@dataclass(frozen=True, eq=False)
class Op:
    """One operator.

    infer(*avals, **params) -> Aval or tuple of Avals. The schema and the only shape and dtype rule.
    ref(*arrays, **params)  -> NumPy result(s). The meaning, and the oracle of every test.
    vjp                     -> NO_GRAD; or one function per argument, (g, out, *args, **params) -> gradient, with None for
                               arguments without one; or one function that returns all gradients and takes `needs` (bools).
    lower                   -> exactly one lowering.
    traits                  -> properties that passes and dispatch query instead of operator names:
        "rescued"           the result is copied for the gradient rule if it is about to be overwritten
        "ref_first"         composite whose reference needs less memory than its body, or less time on few numbers
        "float8"            accepts 8-bit floats, because nothing is computed in them (views always do, all others refuse)
        "from_nothing"      the first argument only lends its device and may be None
        "packs"             the result has the order of a machine's kernel, which the reference does not know
        "pointwise"         composite of independent elements, gradient rules too, so that each is worth one kernel
        "whole_inside"      composite whose own kernel beats loops over its body, inside other bodies too
        "rule_as_one"       the gradient rule is many operators, which eager mode compiles as one graph
        "renamed"           composite that equals one other operator
        "foreach"           PyTorch has it as a function of lists (`runtime/foreach/foreach_functions.py`)
        "by_rows"           elementwise, but the result is row-major whatever the layout of the argument
        "keeps_order"       not elementwise, but the result has the layout of its arguments
        "one_by_one"        results are the arguments, each in its own layout and in memory of its own
        "one_triangle"      reads the lower triangle of Hermitian matrices; gradients are those of such matrices
        "triangular_factor" reads the lower triangle of its first argument L; the gradient is that of a function of L @ L^H
        "refuses"           raises for some values ("refuses_integers": for zeros among integers in the last argument)
        "updates"           the result is the first argument with some elements replaced, so kernels may write there
        "branches"          the reference branches on each element, which a kernel does in vectors
        "straight"          piecewise linear: derivatives of its gradient are zero (`runtime/autograd/piecewise_linear.py`)
        "reads_operands", "reads_matrices" (only matrices), "reads_weight" (not the first), "reads_turned_weight":
                            how PyTorch's gradient rule reads parameters (`renew` in `runtime/core/node.py`)
    numbers                 -> parameters that change neither shape, dtype nor kernel. In graphs they may be symbolic.
    by_operand              -> the same operator with `numbers` as operands, for one that stays whole: (*args, **params) ->
                               result(s). None if there is no such form (composites have bodies).
    bounds                  -> (*args, **params) -> (position, least, one more than the largest) of each operand of indices.
                               It reads shapes alone. Operators with the trait "updates" raise for an index beyond these
                               bounds, and for nothing else.
    batch                   -> rule of vmap, if it is not implied (`ir/opdef/batch_rules.py`).
    title                   -> its name in errors, that of the function which users call; `name` if there is none.
    flops                   -> (args, outs, params) -> flops of a contraction (`operations` counts the rest).
    """

    name: str
    infer: Callable
    ref: Callable
    vjp: Any
    lower: Any
    traits: frozenset = frozenset()
    doc: str = ""
    saves: tuple = ()  # for a joint vjp: the positions it reads by value (0 is the output, 1 the first argument); a tuple
    #                    among them names outputs, where it reads only some
    flops: Callable | None = None  # of a contraction
    numbers: frozenset = frozenset()
    by_operand: Callable | None = None
    batch: Any = None  # a way of `ir/opdef/batch_rules.py`, or a function
    bounds: Callable | None = None
    title: str = ""
    plans: dict = field(default_factory=dict)  # gradient plans by needs mask, filled by the tape

    def __post_init__(self):
        if not self.title:
            object.__setattr__(self, "title", self.name)

    def __call__(self, *args, **params):
        bind = BINDERS.get(type(args[0])) or find_binder(args)
        return bind(self, args, params)

    call = __call__     # the same, without the way that Python takes from an object to its `__call__`: for what is called most

    def __repr__(self):
        return f"<op {self.name}>"

    def __reduce__(self):
        return (OPS.__getitem__, (self.name,))

    def __deepcopy__(self, memo):
        return self

    @property
    def differentiable(self) -> bool:
        return self.vjp is not NO_GRAD

    @cached_property
    def is_view(self) -> bool:
        return type(self.lower) is View

    @cached_property
    def is_elementwise(self) -> bool:
        return type(self.lower) is Scalar

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether each element of the result, and of gradients, depends on one element of each argument."""
        return self.is_elementwise or "pointwise" in self.traits

    @cached_property
    def keeps_order(self) -> bool:
        """Whether the result has the layout of the arguments (`ir/dim_order.py`) instead of rows."""
        return (self.is_pointwise and "by_rows" not in self.traits) or "keeps_order" in self.traits

    @cached_property
    def has_composed_rules(self) -> bool:
        """Whether eager mode compiles the gradient rules as one graph."""
        return "pointwise" in self.traits or "rule_as_one" in self.traits

    @cached_property
    def is_autocast(self) -> bool:
        """Whether autocast casts its arguments on some device."""
        return not self.traits.isdisjoint(AUTOCAST)

    def may_refuse(self, args) -> bool:
        """Whether it raises for some values of such arguments."""
        if "refuses_integers" in self.traits:
            return hasattr(args[-1], "dtype") and not args[-1].dtype.is_floating_point
        return "refuses" in self.traits

    @cached_property
    def quick(self):
        """Ufunc behind the reference, which skips its checks for float operands; or None."""
        return getattr(self.ref, "ufunc", None)

    @cached_property
    def checked_by_kernel(self) -> bool:
        """Whether the kernel refuses all that `infer` refuses, so that eager mode need not call `infer` first."""
        return self.broadcasts or "self_checking" in self.traits

    @cached_property
    def broadcasts(self) -> bool:
        """Whether dispatch may pass arguments of different, broadcastable shapes."""
        return type(self.lower) is Scalar

    @cached_property
    def rule_is_blind(self) -> bool:
        """Whether a joint gradient rule reads neither result nor first argument, so that one may overwrite the other."""
        return self.differentiable and type(self.vjp) is not tuple and all(type(p) is int and p > 1 for p in self.saves)

    def plan(self, needs: tuple) -> tuple:
        """Return what the tape saves for the gradients in `needs`, for the output and each argument: "value", "meta" (shape and
        dtype) or None. For several outputs it may be a frozenset of those saved by value."""
        try:
            return self.plans[needs]
        except KeyError:
            plan = self.plans[needs] = self._make_plan(needs)
            return plan

    def _make_plan(self, needs):
        saved = [None] * (len(needs) + 1)
        if not isinstance(self.vjp, tuple):
            kinds = ["value" if p in self.saves else "meta" for p in range(len(saved))]
            outputs = next((frozenset(p) for p in self.saves if isinstance(p, tuple)), None)
            return (outputs or kinds[0], *kinds[1:])
        for rule, need in zip(self.vjp, needs):
            if need and rule is not None:
                for position, kind in reads_of(rule).items():
                    saved[position] = _both(saved[position], kind)
        return tuple(saved)


def _both(a, b):
    """Join what two rules read of one operand."""
    if "value" in (a, b):
        return "value"
    sets = [k for k in (a, b) if isinstance(k, frozenset)]
    return frozenset().union(*sets) if sets else a or b


def op(name: str, *, infer, ref, vjp, lower, traits=(), doc: str = "", saves=(), flops=None, numbers=(), by_operand=None,
       batch=None, bounds=None, title="") -> Op:
    """Make the record of one operator and enter it in `OPS`."""
    if name in OPS:
        raise ValueError(f"operator {name} is recorded twice")
    if "float8" not in traits and type(lower) is not View:
        infer = _without_float8(name, infer)
    record = Op(name, infer, ref, vjp, lower, frozenset(traits), doc, saves, flops, frozenset(numbers), by_operand, batch,
                bounds, title)
    OPS[name] = record
    return record


def _without_float8(name, infer):
    """Return a shape rule that refuses 8-bit floats."""

    @wraps(infer)
    def checked(*args, **params):
        out = infer(*args, **params)
        for x in (*args, *(out if type(out) is tuple else (out,))):
            if getattr(x, "dtype", None) in FLOAT8:
                refuse_float8(name, x.dtype)
        return out

    return checked


def operations(record: Op, args, outs, params) -> int:
    """Return the floating point operations of one call. Contractions count multiplications and additions, elementwise operators
    and reductions one per element, data movement nothing. Arguments without a shape are skipped."""
    if record.flops is not None:
        return record.flops(args, outs, params)
    if not outs or not outs[0].dtype.is_inexact or type(record.lower) not in (Scalar, Reduce, Composite):
        return 0
    return max((prod(a.shape) for a in args if hasattr(a, "shape")), default=0)


# Binding: who runs a record, by the type of its first argument that knows.


def run_reference(record: Op, arrays, params):
    """Bind NumPy arrays: run the reference."""
    return record.ref(*arrays, **params)


def run_numbers(record: Op, args, params):
    """Bind Python numbers: compute in double precision and return a number; for symbolic numbers an expression."""
    symbol = next(filter(is_symbol, args), None)
    if symbol is not None and not params:
        return computed(record.name, args, symbol.scope, run_numbers(record, [*map(hint, args)], params))
    kind = np.complex128 if complex in map(type, args) else np.float64
    return np.asarray(record.ref(*[np.asarray(a, kind) for a in args], **params)).item()


_SCALARS = (*[d.np.type for d in ALL], np.generic)
BINDERS: dict[type, Callable] = {np.ndarray: run_reference, **dict.fromkeys(_SCALARS, run_reference)}


class Nothing:
    """Key in `BINDERS` of the binder for constants without an argument (trait "from_nothing")."""


def find_binder(args):
    """Return the binder of the first argument that has one; enter subclasses of bindable types as they appear."""
    for a in args:
        t = type(a)
        if t in BINDERS:
            return BINDERS[t]
        for base in t.__mro__[1:]:
            if base in BINDERS and base is not object:
                BINDERS[t] = BINDERS[base]
                return BINDERS[t]
    if args == (None,) and Nothing in BINDERS:
        return BINDERS[Nothing]
    if all(isinstance(a, (bool, int, float, complex)) for a in args):
        return run_numbers
    kinds = ", ".join(type(a).__name__ for a in args)
    raise DTypeError(f"no argument is a tensor, a graph value or an array: got ({kinds})")


META = frozenset(("shape", "dtype", "ndim"))


def reads_of(rule) -> dict:
    """Return what a gradient rule reads, from its bytecode, by position (0 is the output, 1 the first argument).

    A value is "value", "meta" if only shape or dtype is read, or the set of indices n if only out[n] is. Anything that is not
    plainly a metadata access counts as a read of the value, so the answer errs on the safe side.
    """
    import dis  # here, since a gradient rule is read long after the start

    code = rule.__code__
    position = {n: i - 1 for i, n in enumerate(code.co_varnames[: code.co_argcount])}
    found = {position[n]: "value" for n in code.co_cellvars if n in position}
    instructions = list(dis.get_instructions(code))
    for at, (ins, following) in enumerate(zip(instructions, [*instructions[1:], None])):
        if "LOAD_FAST" not in ins.opname:      # from Python 3.13 on also as a part of instructions that do two things
            continue
        loaded = ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)
        for n in loaded:
            last = n is loaded[-1]
            meta = last and following is not None and following.opname == "LOAD_ATTR" and following.argval in META
            if n in position:
                item = _item_read(instructions[at + 1: at + 3]) if last and position[n] == 0 else None
                kind = "meta" if meta else "value" if item is None else frozenset((item,))
                found[position[n]] = _both(found.get(position[n]), kind)
    found.pop(-1, None)
    return found


def _item_read(following):
    """Return n if the loaded value goes straight into x[n], else None."""
    if len(following) < 2:
        return None
    constant, taken = following
    is_number = constant.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and type(constant.argval) is int
    is_taken = taken.opname == "BINARY_SUBSCR" or (taken.opname == "BINARY_OP" and taken.argrepr == "[]")
    return constant.argval if is_number and is_taken else None


ANY = 1 << 30


@cache
def operand_bounds(op: Op) -> tuple:
    """Return the fewest and the most operands of an operator, from the signatures of its rules."""
    bounds = [_positional(op.infer), _positional(getattr(op.ref, "plain", op.ref))]     # (an elementwise one wraps another)
    ufunc = getattr(op.ref, "ufunc", None)
    if ufunc is not None:
        bounds.append((ufunc.nin, ufunc.nin))
    if isinstance(op.vjp, tuple):
        bounds.append((0, len(op.vjp)))
    return max(b[0] for b in bounds), min(b[1] for b in bounds)


def _positional(fn) -> tuple:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError) as error:
        raise_interrupt(error, inspect.signature, fn)
        return 0, ANY
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 0, ANY
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in named), len(named)


def count_words(fewest: int, most: int) -> str:
    """Return bounds in words, for messages."""
    if most >= ANY:
        return f"at least {fewest} operands" if fewest else "any number of operands"
    if fewest == most:
        return f"{fewest} operand{'s' * (fewest != 1)}"
    return f"{fewest} to {most} operands"


def _function_of_numbers(name: str) -> Callable | None:
    """Return the function that computes an operator on numbers, or None."""
    record = OPS.get(name)
    if record is None:
        return None

    @ignore_float_errors
    def compute(*args):
        return run_numbers(record, args, {})

    return compute


serve_operators(_function_of_numbers)
