"""Images in blocked channels: (N, channel blocks, *spatial, lanes), as the convolution kernels of CPUs read and write them.

The layout pass makes these operators. Missing channels of the last block are padding: they hold anything (the references put
zeros there), no kernel lets them reach another channel, and `from_blocked` leaves them out.

A packed weight is a flat array in the order that its kernel reads, known to the kernel alone. `kernel` names the kernel for the
operators that pack and read; for the references a packed weight is the flat weight, filled up to its size. A kernel of a
transformed weight also takes its originals, for single elements that it computes without the transform. They are the next
`taps` operands: the plain flat weight and (the second one) a factor for each of its first channels. References ignore
them.
"""

from math import prod

import numpy as np

from ...errors import ShapeError
from ...opdef.op import NO_GRAD, OPS, Template, op
from ...opdef.param_checks import check_flag, check_int, check_ints, check_sizes
from ..nn import conv as plain_conv
from ..nn import pool as plain_pool
from ..nn.windows import check_windows

# Layouts.


def blocks_of(channels: int, lanes: int) -> int:
    """Return the number of blocks of this many channels."""
    return -(-channels // lanes)


def _infer_to(x, *, lanes):
    check_int(lanes, "lanes", 1)
    if x.ndim < 2:
        raise ShapeError(f"to_blocked takes [N, C, ...], got {x}")
    return x.with_shape((x.shape[0], blocks_of(x.shape[1], lanes), *x.shape[2:], lanes))


def _to(x, *, lanes):
    n, c = x.shape[:2]
    blocks = blocks_of(c, lanes)
    full = np.zeros((n, blocks * lanes, *x.shape[2:]), x.dtype)
    full[:, :c] = x
    return np.ascontiguousarray(np.moveaxis(full.reshape(n, blocks, lanes, *x.shape[2:]), 2, -1))


def _infer_from(x, *, channels):
    check_int(channels, "channels")
    if x.ndim < 3 or x.shape[1] != blocks_of(channels, x.shape[-1]):
        raise ShapeError(f"from_blocked takes (N, blocks, ..., lanes) with the blocks of {channels} channels, got {x}")
    return x.with_shape((x.shape[0], channels, *x.shape[2:-1]))


def _from(x, *, channels):
    lines = np.moveaxis(x, -1, 2)
    return np.ascontiguousarray(lines.reshape(x.shape[0], -1, *x.shape[2:-1])[:, :channels])


to_blocked = op("to_blocked", infer=_infer_to, ref=_to,
                vjp=(lambda g, out, x, *, lanes: from_blocked(g, channels=x.shape[1]),),
                lower=Template("layout"), traits=("exact",), doc="(N, C, ...) with its channels in blocks of so many lanes.")
from_blocked = op("from_blocked", infer=_infer_from, ref=_from,
                  vjp=(lambda g, out, x, *, channels: to_blocked(g, lanes=x.shape[-1]),),
                  lower=Template("layout"), traits=("exact",), doc="Blocked channels as (N, C, ...) again.")

# Convolutions.


def _infer_pack(w, *factors, kernel, size):
    check_sizes((size,), "size")
    if any(v.shape != w.shape[:1] or v.dtype is not w.dtype for v in factors) or len(factors) > 1:
        raise ShapeError(f"pack_filters: {factors} have no factor for each first channel of {w}")
    if size < w.size:
        raise ShapeError(f"pack_filters: {size} elements are too few for the weight {w}")
    return w.with_shape((size,))


def _pack(w, *factors, kernel, size):
    out = np.zeros(size, w.dtype)
    for v in factors:
        w = w * v.reshape(-1, *(1 for _ in w.shape[1:]))
    out[:w.size] = w.reshape(-1)
    return out


pack_filters = op("pack_filters", infer=_infer_pack, ref=_pack, vjp=NO_GRAD, lower=Template("layout"),
                  traits=("exact", "packs"),
                  doc="A convolution's weight in the order in which `kernel` reads it; one that will be transformed may come "
                      "with a factor for each of its first channels.")


def channel_shape(shape, lanes):
    """Return the shape of channel values beside images of a shape: in blocks, or plain (`lanes` is 1)."""
    return (1, shape[1], *(1 for _ in shape[2:])) if lanes == 1 else (1, shape[1], *(1 for _ in shape[2:-1]), shape[-1])


def _plain_aval(x, channels, in_blocks):
    return _infer_from(x, channels=channels) if in_blocks else x


def check_originals(name, operands, filters, taps):
    """Raise unless the first `taps` types given are a flat weight and a factor for each of its first channels."""
    check_sizes(filters, "filters")
    wanted = (prod(filters),), (filters[0],)
    if not 0 <= taps <= 2 or tuple([v.shape for v in operands[:taps]]) != wanted[:taps]:
        raise ShapeError(f"{name}: {operands[:taps]} are not the flat weight of {filters} and its factors "
                         f"(taps={taps})")


def _infer_conv(x, w, *operands, filters, stride, padding, dilation, groups, lanes, in_blocks, kernel, epilogue, taps=0):
    check_originals("conv_blocked", operands, filters, taps)
    check_ints((groups, lanes), "groups and lanes", least=1)
    check_flag(in_blocks, "in_blocks")
    plain = _plain_aval(x, filters[1] * groups, in_blocks)
    if plain.ndim != len(filters) or plain.shape[1] != filters[1] * groups or filters[0] % groups:
        raise ShapeError(f"conv_blocked: {x} does not go with filters {filters} in {groups} groups")
    counts = check_windows("conv_blocked", plain, filters[2:], stride, padding, dilation)
    out = x.with_shape((x.shape[0], filters[0], *counts) if lanes == 1 else
                       (x.shape[0], blocks_of(filters[0], lanes), *counts, lanes))
    channel = channel_shape(out.shape, lanes)
    for v in operands[taps:]:
        if v.dtype is not x.dtype or v.shape not in (channel, out.shape):
            raise ShapeError(f"conv_blocked: {v} beside a result {out} must be like it, or like {channel}")
    return out


def run_epilogue(lines, value, operands, call):
    """Return the value of an epilogue; `call(name, *arguments)` computes one line.

    `lines` are (operator, arguments...). An argument is a number, "a" for the accumulator, "o1" for operand 1, "v2" for the
    value of line 2.
    """
    values: list = []

    def resolve(x):
        if not isinstance(x, str):
            return x
        return value if x == "a" else (operands if x[0] == "o" else values)[int(x[1:])]

    for name, *arguments in lines:
        values.append(call(name, *map(resolve, arguments)))
    return values[-1] if values else value


def _conv(x, w, *operands, filters, stride, padding, dilation, groups, lanes, in_blocks, kernel, epilogue, taps=0):
    plain = _from(x, channels=filters[1] * groups) if in_blocks else x
    weight = w[:prod(filters)].reshape(filters)
    y = plain_conv.conv.ref(plain, weight, None, stride=stride, padding=padding, dilation=dilation, groups=groups)
    y = y if lanes == 1 else _to(y, lanes=lanes)
    spread = [np.broadcast_to(v, y.shape) for v in operands[taps:]]
    return run_epilogue(epilogue, y, spread, lambda name, *arguments: OPS[name].ref(*arguments))


def _flops(args, outs, params):
    out, filters = outs[0], params["filters"]
    return 2 * out.shape[0] * prod(out.shape[2:len(filters)]) * prod(filters)


conv_blocked = op(
    "conv_blocked", infer=_infer_conv, ref=_conv, vjp=NO_GRAD, lower=Template("conv"), flops=_flops,
    doc="A convolution with a packed weight whose result lies in blocks (plainly for one lane), and the work on each of its "
        "elements before it is stored (`epilogue`, as `run_epilogue` says). The arrays of the epilogue follow the `taps`; "
        "they are like the result or hold a number per channel.")

# Chains of convolutions.

LAYER = ("filters", "stride", "padding", "dilation", "groups", "lanes", "in_blocks", "kernel", "epilogue")


def chain_layers(x, operands, layers, beside):
    """Yield (parameters of `conv_blocked`, its other operands) for each convolution of a chain."""
    if len(layers) != len(beside) or len(operands) != len(layers) + sum(beside):
        raise ShapeError(f"conv_chain_blocked: {len(operands)} operands beside {x} for {len(layers)} layers, arrays {beside}")
    at = 0
    for layer, count in zip(layers, beside):
        yield dict(zip(LAYER, layer, strict=True)), operands[at:at + 1 + count]
        at += 1 + count


def chain_values(x, operands, layers, beside):
    """Yield (parameters, x, other operands, result) of each convolution, all but parameters as types."""
    for params, given in chain_layers(x, operands, layers, beside):
        out = _infer_conv(x, *given, **params)
        yield params, x, given, out
        x = out


def _infer_chain(x, *operands, layers, beside):
    return list(chain_values(x, operands, layers, beside))[-1][-1]


def _chain(x, *operands, layers, beside):
    for params, given in chain_layers(x, operands, layers, beside):
        x = _conv(x, *given, **params)
    return x


def _chain_flops(args, outs, params):
    x = getattr(args[0], "aval", args[0])
    return sum(_flops(None, (out,), layer) for layer, _, _, out in chain_values(x, args[1:], **params))


conv_chain_blocked = op(
    "conv_chain_blocked", infer=_infer_chain, ref=_chain, vjp=NO_GRAD, lower=Template("conv"), flops=_chain_flops,
    doc="Convolutions each of which reads the result of the one before: x, then for each its packed weight and the arrays "
        "beside it, as many as `beside` says. `layers` are the parameters of `conv_blocked`, in the order of `LAYER`.")

# Pools.


def lines_of(x):
    """Return blocked planes as planes for pools without channels in their windows: blocks as images, lanes as channels."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 2)).reshape(x.shape[0] * x.shape[1], x.shape[-1], *x.shape[2:-1])


def _blocked_pool(name, plain, doc):
    def infer(x, **params):
        found = plain.infer(x.with_shape((x.shape[0], x.shape[1], *x.shape[2:-1])), **params)
        found = found[0] if isinstance(found, tuple) else found
        return x.with_shape((*found.shape, x.shape[-1]))

    def ref(x, **params):
        found = plain.ref(lines_of(x), **params)
        found = found[0] if isinstance(found, tuple) else found
        return np.ascontiguousarray(np.moveaxis(found.reshape(*x.shape[:2], *found.shape[1:]), 2, -1))

    return op(name, infer=infer, ref=ref, vjp=NO_GRAD, lower=Template("pool"), doc=doc)


max_pool_blocked = _blocked_pool("max_pool_blocked", plain_pool.max_pool, "The largest of each window of blocked planes.")
avg_pool_blocked = _blocked_pool("avg_pool_blocked", plain_pool.avg_pool, "The mean of each window of blocked planes.")

# Made by the layout pass alone, for one kind of machine.
OPERATORS = frozenset((to_blocked, from_blocked, pack_filters, conv_blocked, conv_chain_blocked, max_pool_blocked,
                       avg_pool_blocked))
