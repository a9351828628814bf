"""Writers of products with weights of int8: what `ir/ops/int8.py` says, with MatMulInteger for the sums."""

from ...ir import dtype as dt
from ...ir.ops import int8
from .writer import emits


@emits(int8.linear_int8, when=lambda node, opset: all(0 not in v.shape for v in node.inputs if v is not None))
def _linear_int8(w, item, x, weight, scale, bias):
    zero, one, least = (w.scalar(n, dt.float32) for n in (0, 1, int8.LEAST_STEP))
    share, top = (w.scalar(n, dt.float32) for n in (1 / int8.STEPS, int8.STEPS))
    name = w.name(x) if x.ndim > 1 else w.unsqueeze(w.name(x), [0])

    def past_nan(name):
        return w.node("Where", w.node("IsNaN", name), zero, name)

    def within(name):
        return w.node("Clip", name, zero, top)

    known = past_nan(name)
    low = w.node("Min", w.reduce("ReduceMin", known, [-1], True), zero)
    high = w.node("Max", w.reduce("ReduceMax", known, [-1], True), zero)
    step = w.node("Sub", w.node("Mul", high, share), w.node("Mul", low, share))
    step = w.node("Where", w.node("Greater", step, least), step, one)
    inverse = w.node("Div", one, step)
    nought = within(w.node("Round", w.node("Mul", w.node("Neg", low), inverse)))
    moved = w.node("Add", w.node("Round", w.node("Mul", name, inverse)), nought)
    numbers = w.cast(within(past_nan(moved)), dt.uint8)
    sums = w.node("MatMulInteger", numbers, w.transpose(w.name(weight), (1, 0)))
    of_weights = w.reduce("ReduceSum", w.cast(w.name(weight), dt.int32), [1], False)
    exact = w.node("Sub", sums, w.node("Mul", w.cast(nought, dt.int32), of_weights))
    odd = w.reduce("ReduceSum", w.node("Sub", name, name), [-1], True)          # 0, or nan where an element is not finite
    found = w.node("Mul", w.cast(exact, dt.float32), w.node("Mul", w.node("Add", step, odd), w.name(scale)))
    if bias is not None:
        found = w.node("Add", found, w.name(bias))
    return found if x.ndim > 1 else w.squeeze(found, [0])
