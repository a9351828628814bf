"""Writers of int8 products and convolutions (`ir/ops/quantized`), with MatMulInteger and ConvInteger for the sums."""

from ....ir import dtype as dt
from ....ir.ops.quantized import int8_conv, int8_linear
from .graph_writer import emits


def _is_not_empty(node, opset):
    return all(0 not in v.shape for v in node.inputs if v is not None)


def _without_signs(w, name) -> tuple:
    """Return (weights as uint8, zero point of the other factor, their own): on AVX2 int8 weights overflow 16-bit sums."""
    shift = w.scalar(128, dt.int32)
    shifted = w.cast(w.node("Add", w.cast(name, dt.int32), shift), dt.uint8)
    return shifted, w.scalar(0, dt.uint8), w.scalar(128, dt.uint8)


@emits(int8_linear.linear_int8, when=_is_not_empty)
def _linear_int8(w, item, x, weight, scale, bias):
    zero, one, least = (w.scalar(n, dt.float32) for n in (0, 1, int8_linear.LEAST_STEP))
    share, top = (w.scalar(n, dt.float32) for n in (1 / int8_linear.STEPS, int8_linear.STEPS))
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
    shifted = w.node("Add", w.node("Round", w.node("Mul", name, inverse)), nought)
    numbers = w.cast(within(past_nan(shifted)), dt.uint8)
    sums = w.node("MatMulInteger", numbers, *_without_signs(w, w.transpose(w.name(weight), (1, 0))))
    of_weights = w.reduce("ReduceSum", w.cast(w.name(weight), dt.int32), [1], False)
    exact = w.node("Sub", sums, w.node("Mul", w.cast(nought, dt.int32), of_weights))
    odd = w.reduce("ReduceSum", w.node("Sub", name, name), [-1], True)          # 0, or nan where an element is not finite
    found = w.node("Mul", w.cast(exact, dt.float32), w.node("Mul", w.node("Add", step, odd), w.name(scale)))
    if bias is not None:
        found = w.node("Add", found, w.name(bias))
    return found if x.ndim > 1 else w.squeeze(found, [0])


@emits(int8_conv.conv_int8, when=_is_not_empty)
def _conv_int8(w, item, x, weight, start, factor, residual, *, outs, stride, dilation, groups, **finish):
    """Write a convolution; weights and channel numbers are laid out as in ONNX once, when the model is loaded."""
    blocks, high, wide, depth, block, group = weight.shape
    each, full = outs // groups, blocks // groups * block

    def channels(name, *others):
        found = w.reshape(name, (groups, full, *others))
        found = found if each == full else w.slice(found, [0], [each], [1])
        return w.reshape(found, (outs, *others))

    kernel = w.transpose(w.name(weight), (0, 4, 3, 5, 1, 2))
    kernel = channels(w.reshape(kernel, (blocks * block, depth * group, high, wide)), depth * group, high, wide)
    start, factor = (channels(w.name(t)) for t in (start, factor))
    return _summed(w, x, kernel, start, factor, residual, stride, dilation, groups, **finish)


@emits(int8_conv.depthwise_int8, when=_is_not_empty)
def _depthwise_int8(w, item, x, weight, start, factor, residual, *, stride, dilation, **finish):
    kernel = w.unsqueeze(w.transpose(w.name(weight), (2, 0, 1)), [1])
    return _summed(w, x, kernel, w.name(start), w.name(factor), residual, stride, dilation, weight.shape[2], **finish)


def _summed(w, x, kernel, start, factor, residual, stride, dilation, groups, *, dtype, zero, low, high, beside_zero,
            beside_scale):
    """Convolve bytes, and scale, shift and clip the sums."""
    images = w.transpose(w.name(x), (0, 3, 1, 2))
    sums = w.node("ConvInteger", images, *_without_signs(w, kernel), strides=list(stride), dilations=list(dilation),
                  group=groups)
    sums = w.node("Add", w.transpose(sums, (0, 2, 3, 1)), start)
    found = w.node("Mul", w.cast(sums, dt.float32), factor)
    if residual is not None:
        steps = w.node("Sub", w.cast(w.name(residual), dt.float32), w.scalar(beside_zero, dt.float32))
        found = w.node("Add", found, w.node("Mul", steps, w.scalar(beside_scale, dt.float32)))
    if dtype is not dt.uint8:
        return found
    shifted = w.node("Add", w.node("Round", found), w.scalar(zero, dt.float32))
    return w.cast(w.node("Clip", shifted, w.scalar(low, dt.float32), w.scalar(high, dt.float32)), dt.uint8)
