"""Type promotion of mixed arguments, by PyTorch's rule.

Tensors with dimensions outrank 0-d tensors, and those outrank Python numbers. A lower rank matters only if its category is
higher (bool < integer < float < complex).
"""

from functools import partial, reduce, wraps
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.blocks import block
from ....ir.errors import DTypeError, NoNumberError, kind_of
from ....ir.opdef.aval import Aval
from ....ir.ops.core.elementwise import cast
from ....ir.ops.core.elementwise_rules import NUMBERS
from ...core.creation import as_array_tensor
from ...core.tensor import Tensor
from ...state.mode import Defaults, tls
from .register import deliver


def number_dtype(x) -> dt.DType:
    """Return the dtype of a Python or NumPy number."""
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, bool):
        return dt.bool_
    if isinstance(x, int):
        return dt.int64
    if isinstance(x, float):
        return Defaults.dtype
    if x is None or isinstance(x, (str, bytes, list, tuple, dict, set)):
        raise NoNumberError.of(x)
    return dt.complex128 if Defaults.dtype is dt.float64 else dt.complex64


def result_type(*xs) -> dt.DType:
    """Return the common dtype of tensors and Python numbers."""
    if xs and alike(xs):
        return xs[0].dtype
    ranks: list[Any] = [None, None, None]
    for x in xs:
        if isinstance(x, (Tensor, Aval)):
            rank, d = (0 if x.ndim else 1), x.dtype
        else:
            rank, d = 2, number_dtype(x)
        ranks[rank] = d if ranks[rank] is None else dt.promote_types(ranks[rank], d)
    return dt.promote_ranks(dt.promote_ranks(ranks[0], ranks[1]), ranks[2])


def alike(xs) -> bool:
    """Return whether the arguments need no promotion: tensors of one dtype, and Python numbers of no higher category. The first
    one must be a tensor."""
    first = xs[0]
    if not isinstance(first, Tensor):
        return False
    d = first._a.dtype
    for x in xs[1:]:
        if isinstance(x, Tensor):
            if x._a.dtype is not d:
                return False
        elif x.__class__ is int:
            if d.kind not in "fiu":
                return False
        elif x.__class__ is not float or d.kind != "f":
            return False
    return True


def as_operand(x, name: str):
    """Return an argument as a tensor or a Python number."""
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, (Tensor, *NUMBERS)):
        return x if x.__class__ in _PLAIN or isinstance(x, Tensor) else _plain(x)
    if hasattr(x, "__array__") or hasattr(x, "dtype"):
        return as_array_tensor(x)
    raise DTypeError(f"{name} takes tensors and numbers, got {kind_of(x)}")


def check_factor(factor, d, name: str):
    """Raise if a complex number would scale part of a sum of real numbers."""
    if isinstance(factor, complex) and not d.is_complex:
        raise DTypeError(f"{name}: a factor of {d.name} tensors is real, got {factor}")


def need_tensors(name: str, *xs):
    """Raise unless all arguments are tensors."""
    for x in xs:
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name} takes tensors, got {kind_of(x)}; make it one with ingot.tensor()")


_PLAIN = frozenset((bool, int, float, complex))


def _plain(x):
    """Return a number of a subclass, such as a member of an IntEnum, as a plain one: NumPy takes it for an array."""
    kinds: tuple[Any, ...] = int, float, complex
    return next(kind(x) for kind in kinds if isinstance(x, kind))


def to_dtype(x, d: dt.DType):
    """Return `x` as a tensor of dtype `d`; numbers stay numbers and take the dtype of the other operand."""
    if isinstance(x, Tensor) and x.dtype is not d:
        return cast.call(x, dtype=d)
    return x.item() if isinstance(x, np.generic) else x


def promote(record, *xs):
    """Return the operands of an elementwise operator in their common dtype, at least one of them a tensor."""
    if alike(xs) and (xs[0]._a.dtype.kind == "f" or "takes_float" not in record.traits):
        return xs
    operands = [as_operand(x, record.name) for x in xs]
    d = result_type(*operands)
    if "takes_float" in record.traits and not d.is_inexact:
        d = Defaults.dtype
    if not any(isinstance(x, Tensor) for x in operands):
        operands[0] = as_array_tensor(operands[0], d)
    return [to_dtype(x, d) for x in operands]


_LOW = frozenset(d.np for d in dt.FLOATS if dt.accumulator(d) is not d)


def common_type(*xs) -> dt.DType:
    """Return the common dtype of tensors that are broadcast first, so that all have dimensions."""
    return reduce(dt.promote_types, [x.dtype for x in xs if isinstance(x, Tensor)])


def low_precision(*xs, meet=result_type) -> dt.DType | None:
    """Return the common dtype of the arguments if it is float16 or bfloat16, else None."""
    for x in xs:
        if isinstance(x, Tensor) and x._a.dtype in _LOW:
            break
    else:
        return None
    d = meet(*[x for x in xs if isinstance(x, (Tensor, *NUMBERS))])
    return d if dt.accumulator(d) is not d else None


def widened(x):
    """Return a low precision tensor in float32; everything else as it is."""
    return to_dtype(x, dt.accumulator(x.dtype)) if isinstance(x, Tensor) else x


def wide_on_cpus(x):
    """Return an argument of a function that autocast leaves in float32 on CPUs alone."""
    casting = tls.m.autocast
    is_cast = casting is not None and isinstance(x, Tensor) and x._a.dtype in _LOW and "cpu" in casting.dtypes
    return widened(x) if is_cast and x.device.type == "cpu" else x


def in_older_order(fn, xs: tuple, tensors: int, out, **factors):
    """Call a function whose factors stand among its operands, as in older programs: `x.add_(alpha, y)`, `addmm(beta, x, alpha,
    m, n)`. `factors` are those passed by name, 1 by default."""
    operands, numbers = [x for x in xs if isinstance(x, Tensor)], [x for x in xs if not isinstance(x, Tensor)]
    if len(operands) != tensors or len(numbers) > len(factors) or not isinstance(xs[-1], Tensor) or any(
            type(given) is not int or given != 1 for given in factors.values()):
        raise TypeError(f"{fn.__name__}() takes {tensors} positional arguments but {len(xs)} were given; factors go by name: "
                        f"{', '.join(f'{name}=' for name in factors)}")
    return fn(*operands, **dict(zip(factors, numbers)), out=out)


def rounds_once(fn, meet=result_type):
    """Make a composite function compute float16 and bfloat16 in float32, so that its result is rounded once."""

    @wraps(fn)
    def once(*xs, out=None, **params):
        d = low_precision(*xs, *params.values(), meet=meet)
        if d is None:
            return fn(*xs, out=out, **params) if out is not None else fn(*xs, **params)
        result = fn(*map(widened, xs), **{k: widened(v) for k, v in params.items()})
        return deliver(to_dtype(result, d), out, fn.__name__)

    return once


@block
def without_autocast():
    """Run operators in the dtypes of their arguments, without autocast."""
    m = tls.m
    before = m.autocast

    def put(casting):
        m.autocast = casting
        m.refresh()

    return partial(put, None), partial(put, before)


def single_in_autocast(fn):
    """Make a function compute low precision in float32 under autocast, in all its steps."""

    @wraps(fn)
    def in_single(*args, **params):
        if tls.m.autocast is None:
            return fn(*args, **params)
        with without_autocast():
            return fn(*map(widened, args), **{k: widened(v) for k, v in params.items()})

    return in_single


def unpromoted_in_autocast(fn):
    """Make a function ignore autocast in all its steps."""

    @wraps(fn)
    def unpromoted(*args, **params):
        if tls.m.autocast is None:
            return fn(*args, **params)
        with without_autocast():
            return fn(*args, **params)

    return unpromoted
