"""Writers of elementwise operators on truth values and bits, of choices and conversions."""

from ....ir import dtype as dt
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import contiguous
from .graph_writer import emits
from .math import kind_of, operands
from .recorded_ops import Ref


def truth(w, name, dtype):
    """Return whether elements are not 0."""
    return name if dtype is dt.bool_ else w.cast(name, dt.bool_)


def _logical(kind):
    def write(w, item, *inputs):
        dtype = kind_of(item)
        return w.node(kind, *[truth(w, n, dtype) for n in operands(w, item)])

    return write


for _op, _name in {ew.logical_not: "Not", ew.logical_and: "And", ew.logical_or: "Or", ew.logical_xor: "Xor"}.items():
    emits(_op)(_logical(_name))


def _bitwise(kind, for_bools):
    def write(w, item, *inputs):
        return w.node(for_bools if kind_of(item) is dt.bool_ else kind, *operands(w, item))

    return write


def _bits(node, opset):
    return opset >= 18 or node.outputs[0].dtype is dt.bool_


for _op, _name, _bools in ((ew.bitwise_not, "BitwiseNot", "Not"), (ew.bitwise_and, "BitwiseAnd", "And"),
                           (ew.bitwise_or, "BitwiseOr", "Or"), (ew.bitwise_xor, "BitwiseXor", "Xor")):
    emits(_op, when=_bits)(_bitwise(_name, _bools))


@emits(ew.bitwise_left_shift)
def _left_shift(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    if not kind.is_signed:
        return w.node("BitShift", a, b, direction="LEFT")
    return w.node("Mul", a, w.node("Pow", w.scalar(2, kind), b))


@emits(ew.bitwise_right_shift)
def _right_shift(w, item, x, y):
    (a, b), kind = operands(w, item), kind_of(item)
    if not kind.is_signed:
        return w.node("BitShift", a, b, direction="RIGHT")
    by = w.node("Pow", w.scalar(2, kind), b)
    return w.node("Div", w.node("Sub", a, w.node("Mod", a, by)), by)


# Choosing, converting.


@emits(ew.where)
def _where(w, item, cond, x, y):
    kind = item.outputs[0].dtype
    small = [w.small(v) if type(v) is Ref else w.scalar(v, kind) for v in (cond, x, y)]
    whole = any(type(v) is Ref and s is None and v.shape == item.outputs[0].shape for v, s in zip((cond, x, y), small))
    names = [s if s is not None and (whole or type(v) is not Ref) else w.name(v, kind) for v, s in zip((cond, x, y), small)]
    return w.node("Where", truth(w, names[0], cond.dtype), *names[1:])


@emits(ew.cast)
def _cast(w, item, x, *, dtype):
    return w.name(x) if x.dtype is dtype else w.cast(w.name(x), dtype)


emits(ew.copy, contiguous)(lambda w, item, x: w.name(x))
