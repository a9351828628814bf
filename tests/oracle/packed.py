"""Calls of ingot's operators that read packed weights, from plain weights.

The order of a packed weight concerns the operator that packs and the kernel that reads alone, and differs between machines. So
rows hold plain weights, and both operators run: as kernels where the machine has the lanes of a row, else as references.
"""

from ingot.ir.opdef.op import OPS
from ingot.passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.conv import blocked, conv_fused, conv_gradients
from ingot.runtime.cpu.nn import recurrent

CALLS: dict = {}


def call(*names):
    """Mark what stands for operators."""
    def mark(function):
        CALLS.update(dict.fromkeys(names, function))
        return function
    return mark


def packed_filters(w, factors, groups, lanes, in_blocks, kernel):
    """Return a convolution's weight as its kernel reads it."""
    size, item = w.numel(), w.element_size()
    if blocked.fits(lanes, item):
        algorithm = blocked.ALGORITHMS[kernel[0]]
        _, taken = conv_fused.weight_plan(tuple(w.shape), item, groups, in_blocks, algorithm, pool.get_num_threads(),
                                          bool(factors))
        size = -(-taken // item)
    return OPS["pack_filters"](w, *factors, kernel=kernel, size=size)


@call("conv_blocked", "pack_filters")
def conv_blocked(x, w, *operands, **params):
    """Pack the filters and convolve. With `taps` of 2 a factor for each filter comes first."""
    taps = params.get("taps", 0)
    factors, operands = operands[:taps - 1] if taps else (), operands[max(taps - 1, 0):]
    made = packed_filters(w, factors, params["groups"], params["lanes"], params["in_blocks"], params["kernel"])
    plain = (w.flatten(),) if taps else ()
    return OPS["conv_blocked"](x, made, *plain, *factors, *operands, **params)


@call("conv_chain_blocked")
def conv_chain_blocked(x, *operands, layers, beside):
    """Pack the filters of all layers and convolve."""
    packed, at = [], 0
    for layer, count in zip(layers, beside):
        _, _, _, _, groups, lanes, in_blocks, kernel, _ = layer
        w, *others = operands[at:at + 1 + count]
        packed += [packed_filters(w, (), groups, lanes, in_blocks, kernel), *others]
        at += 1 + count
    return OPS["conv_chain_blocked"](x, *packed, layers=layers, beside=beside)


@call("conv_input_grad_blocked", "pack_turned")
def conv_input_grad_blocked(g, w, *operands, **params):
    """Pack the filters, turned, and take the gradient."""
    window = {k: params[k] for k in ("size", "stride", "padding", "dilation", "groups", "kernel")}
    size, item = w.numel(), w.element_size()
    if blocked.fits(params["lanes"], item):
        class Like:
            shape, dtype = tuple(w.shape), type("Kind", (), {"itemsize": item})

        convolution, algorithm = blocked.flipped_plan(Like, window)
        size = -(-conv_gradients.flipped_weight(convolution, 1, algorithm).size // item)
    made = OPS["pack_turned"](w, **window, elements=size)
    plain = (w.flatten(),) if params.get("taps") else ()
    return OPS["conv_input_grad_blocked"](g, made, *plain, *operands, **params)


@call("recurrent_packed", "pack_recurrent")
def recurrent_packed(z, mask, h, c, w, bias, *, kernel, reverse):
    """Pack the recurrent weights and run the layer."""
    size, hidden = w.numel(), w.shape[1]
    if recurrent.fits(kernel, w.element_size()):
        made = recurrent.PackKernel(recurrent.host(), FLOATS_BY_NP[w.dtype.np], recurrent.CELLS[kernel[0]], False)
        size = -(-hidden // made.units) * made.columns * hidden
    return OPS["recurrent_packed"](z, mask, h, c, OPS["pack_recurrent"](w, kernel=kernel, size=size), bias, kernel=kernel,
                                   reverse=reverse)
