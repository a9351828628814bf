"""Images in blocked channels, (N, channel blocks, *spatial, lanes): what kernels of convolutions read and write.

Missing channels of the last block hold anything; rows fill them with numbers, and `invariants.py` leaves them out of results.
"""

import torch

from ..families import distinct, rounded
from ..row import Leaf
from . import FORMULAS, case, cases, formula
from .networks import batch_norm_grad, batch_norm_relu_grad, batch_norm_relu_train, batch_norm_train
from .windows import conv, conv_input_grad, conv_weight_grad, counts_of

F = torch.nn.functional


def blocks(x, lanes):
    """Return images in blocks, missing channels as zeros."""
    n, c = x.shape[:2]
    full = F.pad(x, [0, 0] * (x.ndim - 2) + [0, -c % lanes])
    return full.reshape(n, -1, lanes, *x.shape[2:]).movedim(2, -1)


def planes(x, channels):
    """Return blocked images as plain ones."""
    return x.movedim(-1, 2).flatten(1, 2)[:, :channels]


formula("to_blocked")(lambda x, *, lanes: blocks(x, lanes))
formula("from_blocked")(lambda x, *, channels: planes(x, channels))


@cases("to_blocked", "from_blocked")
def layouts(name, rng):
    for i, (shape, lanes) in enumerate((((2, 8, 3, 4), 8), ((2, 5, 3, 4), 4), ((1, 11, 6), 8), ((3, 4, 2, 2, 3), 2))):
        if name == "to_blocked":
            yield case(f"shape {i + 1}", Leaf(rounded(rng, *shape)), lanes=lanes)
        else:
            yield case(f"shape {i + 1}", Leaf(rounded(rng, shape[0], -(-shape[1] // lanes), *shape[2:], lanes)),
                       channels=shape[1])
    yield case("float32", rounded(rng, 2, 16, 3, dtype="float32")
               if name == "to_blocked" else rounded(rng, 2, 1, 3, 16, dtype="float32"),
               **({"lanes": 16} if name == "to_blocked" else {"channels": 13}))


# Convolutions. Each line of an epilogue is an operator with arguments: "a" is what was accumulated, "o1" an array beside it,
# "v0" the value of a line.


def after(lines, value, operands):
    """Return what an epilogue makes of a value."""
    values = []
    for name, *arguments in lines:
        read = [value if x == "a" else (operands if x[0] == "o" else values)[int(x[1:])] if isinstance(x, str) else
                 torch.tensor(x, dtype=value.dtype) for x in arguments]
        values.append(FORMULAS[name](*read))
    return values[-1] if values else value


@formula("conv_blocked", "pack_filters")
def conv_blocked(x, w, *operands, filters, stride, padding, dilation, groups, lanes, in_blocks, kernel, epilogue, taps=0):
    """A convolution and its epilogue; with `taps` of 2 filters are multiplied by factors."""
    if taps == 2:
        w, operands = w * operands[0].reshape(-1, *(1,) * (w.ndim - 1)), operands[1:]
    plain = planes(x, filters[1] * groups) if in_blocks else x
    return after(epilogue, blocks(conv(plain, w, None, stride=stride, padding=padding, dilation=dilation, groups=groups),
                                  lanes), operands)


@formula("conv_chain_blocked")
def conv_chain_blocked(x, *operands, layers, beside):
    """One convolution after the other."""
    names, at = ("filters", "stride", "padding", "dilation", "groups", "lanes", "in_blocks", "kernel", "epilogue"), 0
    for layer, count in zip(layers, beside):
        x = conv_blocked(x, *operands[at:at + 1 + count], **dict(zip(names, layer)))
        at += 1 + count
    return x


@formula("conv_input_grad_blocked", "pack_turned")
def conv_input_grad_blocked(g, w, *operands, filters, size, lanes, kernel, epilogue, taps=0, **window):
    """Autograd's gradient for the input, in blocks, and its epilogue."""
    return after(epilogue, blocks(conv_input_grad(planes(g, filters[0]), w, size=size, **window), lanes), operands)


@formula("conv_weight_grad_blocked")
def conv_weight_grad_blocked(x, g, *, filters, lanes, in_blocks, kernel, **window):
    """Autograd's gradient for the weight."""
    plain = planes(x, filters[1] * window["groups"]) if in_blocks else x
    return conv_weight_grad(plain, planes(g, filters[0]), size=filters[2:], **window)


KINDS = ((8, "float64"), (4, "float64"), (16, "float32"))
LINES = (("add", "a", "o0"), ("mul", "v0", "o1"), ("maximum", "v1", 0.0))


def in_blocks(rng, n, channels, sizes, lanes, dtype):
    """Return blocked images; also missing channels have numbers."""
    return rounded(rng, n, -(-channels // lanes), *sizes, lanes, dtype=dtype)


@cases("conv_blocked", "pack_filters")
def convolutions(name, rng):
    plain = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}
    for lanes, dtype in KINDS if name == "conv_blocked" else KINDS[::2]:
        outs, label = lanes + 3, f"{lanes} lanes of {dtype}"
        x, w = in_blocks(rng, 2, 5, (5, 4), lanes, dtype), rounded(rng, outs, 5, 3, 3, dtype=dtype)
        direct = {"lanes": lanes, "in_blocks": True, "kernel": ("direct", 1, True, lanes), "filters": (outs, 5, 3, 3)}
        added = rounded(rng, 1, -(-outs // lanes), 1, 1, lanes, dtype=dtype), in_blocks(rng, 2, outs, (5, 4), lanes, dtype)
        yield case(f"{label}, from blocks", x, w, **plain, **direct, epilogue=())
        if name == "conv_blocked" and lanes == 4:
            yield case(f"{label}, epilogue", x, w, *added, **plain, **direct, epilogue=LINES)
        elif name == "conv_blocked":
            yield case(f"{label}, epilogue", x, w, *added, **plain, **direct, epilogue=LINES)
            yield case(f"{label}, from planes", rounded(rng, 1, 3, 7, 6, dtype=dtype), rounded(rng, outs, 3, 3, 2, dtype=dtype),
                       lanes=lanes,
                       in_blocks=False, kernel=("direct", 1, False, lanes), filters=(outs, 3, 3, 2), stride=(2, 1),
                       padding=((1, 0), (0, 2)),
                       dilation=(1, 2), groups=1, epilogue=())
            yield case(f"{label}, each channel", in_blocks(rng, 2, outs, (4, 5), lanes, dtype),
                       rounded(rng, outs, 1, 3, 3, dtype=dtype), **plain
                       | {"groups": outs, "stride": (1, 2)}, lanes=lanes, in_blocks=True, kernel=("direct", outs, True, lanes),
                       filters=(outs, 1, 3, 3), epilogue=())
            yield case(f"{label}, groups", in_blocks(rng, 1, 2 * lanes, (4, 3), lanes, dtype),
                       rounded(rng, 2 * lanes, lanes, 1, 2, dtype=dtype), **plain
                       | {"groups": 2, "padding": ((0, 0), (0, 1))}, lanes=lanes, in_blocks=True,
                       kernel=("direct", 2, True, lanes),
                       filters=(2 * lanes, lanes, 1, 2), epilogue=())
            yield case(f"{label}, a line", in_blocks(rng, 2, 3, (6,), lanes, dtype), rounded(rng, outs, 3, 3, dtype=dtype),
                       lanes=lanes, in_blocks=True,
                       kernel=("direct", 1, True, lanes), filters=(outs, 3, 3), stride=(1,), padding=((2, 1),), dilation=(2,),
                       groups=1, epilogue=())
        if dtype != "float32":
            continue
        transformed = direct | {"kernel": ("winograd2", 1, True, lanes)}
        yield case(f"{label}, transformed", x, w, **plain, **transformed, epilogue=(), taps=1)
        yield case(f"{label}, transformed with factors", x, w, rounded(rng, outs, dtype=dtype), added[0], **plain,
                   **transformed,
                   epilogue=(("mul", "a", "o0"),), taps=2)


@cases("conv_chain_blocked")
def chains(name, rng):
    pad = ((1, 1), (1, 1))
    for lanes, dtype in KINDS:
        kernel, blocked = ("direct", 1, True, lanes), -(-6 // lanes)
        first = ((lanes, 3, 3, 3), (2, 1), pad, (1, 1), 1, lanes, False, ("direct", 1, False, lanes),
                 (("add", "a", "o0"), ("relu", "v0")))
        second = ((lanes, 1, 3, 3), (1, 2), pad, (1, 1), lanes, lanes, True, ("direct", lanes, True, lanes), ())
        third = ((6, lanes, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, lanes, True, kernel,
                 (("add", "a", "o1"), ("mul", "v0", "o0")))
        arrays = [rounded(rng, *shape, dtype=dtype) for shape in ((2, 3, 7, 6), (lanes, 3, 3, 3), (1, 1, 1, 1, lanes),
                                                                  (lanes, 1, 3, 3), (6, lanes, 1, 1),
                                                                 (1, blocked, 1, 1, lanes), (2, blocked, 4, 3, lanes))]
        yield case(f"three, {lanes} lanes of {dtype}", *arrays, layers=(first, second, third), beside=(1, 0, 2))
        yield case(f"two, {lanes} lanes of {dtype}", *[a.copy() for a in arrays[:4]], layers=(first, second), beside=(1, 0))


WINDOW = {"stride": (2, 1), "padding": ((1, 0), (1, 1)), "dilation": (1, 1), "groups": 1}


@cases("conv_input_grad_blocked", "pack_turned")
def input_gradients(name, rng):
    for lanes, dtype in KINDS if name == "conv_input_grad_blocked" else KINDS[::2]:
        outs, label = lanes + 2, f"{lanes} lanes of {dtype}"
        direct = {**WINDOW, "kernel": ("direct", 1, True, lanes), "filters": (outs, 5, 3, 3), "size": (6, 5), "lanes": lanes}
        counts = counts_of((6, 5), (3, 3), *[WINDOW[k] for k in ("stride", "padding", "dilation")])
        g, w = in_blocks(rng, 2, outs, counts, lanes, dtype), rounded(rng, outs, 5, 3, 3, dtype=dtype)
        yield case(f"{label}, strided", g, w, **direct, epilogue=())
        if name == "conv_input_grad_blocked":
            yield case(f"{label}, epilogue", g.copy(), w.copy(), rounded(rng, 1, -(-5 // lanes), 1, 1, lanes, dtype=dtype),
                       **direct,
                       epilogue=(("add", "a", "o0"), ("relu", "v0")))
            yield case(f"{label}, groups", in_blocks(rng, 1, 2 * lanes, (4, 4), lanes, dtype),
                       rounded(rng, 2 * lanes, lanes, 2, 2, dtype=dtype),
                       stride=(1, 1), padding=((1, 1), (0, 1)), dilation=(2, 1), groups=2, kernel=("direct", 2, True, lanes),
                       filters=(2 * lanes, lanes, 2, 2), size=(4, 4), lanes=lanes, epilogue=())
        if dtype != "float32":
            continue
        plain = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1, "size": (5, 4)}
        yield case(f"{label}, transformed", in_blocks(rng, 2, outs, (5, 4), lanes, dtype),
                   rounded(rng, outs, 5, 3, 3, dtype=dtype), **plain,
                   kernel=("winograd2", 1, True, lanes), filters=(outs, 5, 3, 3), lanes=lanes, epilogue=(), taps=1)


@cases("conv_weight_grad_blocked")
def weight_gradients(name, rng):
    for lanes, dtype in KINDS:
        outs, label = lanes + 2, f"{lanes} lanes of {dtype}"
        params = {**WINDOW, "filters": (outs, 5, 3, 3), "lanes": lanes, "kernel": ("direct", 1, True, lanes)}
        counts = counts_of((6, 5), (3, 3), *[WINDOW[k] for k in ("stride", "padding", "dilation")])
        g = in_blocks(rng, 2, outs, counts, lanes, dtype)
        yield case(f"{label}, from blocks", in_blocks(rng, 2, 5, (6, 5), lanes, dtype), g, **params, in_blocks=True)
        yield case(f"{label}, from planes", rounded(rng, 2, 5, 6, 5, dtype=dtype), g.copy(), **params, in_blocks=False)
        other = {"stride": (1, 2), "padding": ((0, 1), (1, 0)), "dilation": (2, 1), "groups": 2,
                 "filters": (2 * lanes, lanes, 2, 2), "lanes": lanes,
                 "kernel": ("direct", 2, True, lanes)}
        counts = counts_of((5, 4), (2, 2), *[other[k] for k in ("stride", "padding", "dilation")])
        yield case(f"{label}, groups", in_blocks(rng, 1, 2 * lanes, (5, 4), lanes, dtype),
                   in_blocks(rng, 1, 2 * lanes, counts, lanes, dtype), **other,
                   in_blocks=True)


# Batch normalisation.


@formula("batch_norm_train_blocked")
def batch_norm_train_blocked(x, w, b, *, eps, channels, relu):
    """That of plain images."""
    y, mean, var = (batch_norm_relu_train if relu else batch_norm_train)(planes(x, channels), w, b, eps=eps)
    return blocks(y, x.shape[-1]), mean, var


@formula("batch_norm_grad_blocked")
def batch_norm_grad_blocked(g, out, g_mean, g_var, x, w, mean, var, *, eps, channels, relu):
    """That of plain images."""
    images = [planes(v, channels) for v in ((g, out) if relu else (g,))]
    dx, scale, shift = (batch_norm_relu_grad if relu else batch_norm_grad)(*images, g_mean, g_var, planes(x, channels), w, mean,
                                                                           var, eps=eps)
    return blocks(dx, x.shape[-1]), scale, shift


@cases("batch_norm_train_blocked", "batch_norm_grad_blocked")
def norms(name, rng):
    for i, (lanes, dtype) in enumerate(KINDS):
        for relu in (False, True):
            channels, eps, sizes = lanes + 3 if relu else lanes, (1e-5, 0.01)[relu], ((3, 4), (5,), (2, 3))[i]
            shape = (2, -(-channels // lanes), *sizes, lanes)
            x = distinct(rng, *shape, dtype=dtype)
            w, b, g_mean, g_var = (rounded(rng, channels, dtype=dtype) for _ in range(4))
            label = f"{lanes} lanes of {dtype}{' with relu' if relu else ''}"
            affine = (w, b) if relu or i else (None, None)
            if name == "batch_norm_train_blocked":
                yield case(label, x, *affine, eps=eps, channels=channels, relu=relu)
                continue
            as_torch = [None if v is None else torch.from_numpy(v) for v in affine]
            out, mean, var = batch_norm_train_blocked(torch.from_numpy(x), *as_torch, eps=eps, channels=channels, relu=relu)
            yield case(label, rounded(rng, *shape, dtype=dtype), out.contiguous().numpy() if relu else None, g_mean, g_var, x,
                       affine[0], mean.numpy(),
                       var.numpy(), eps=eps, channels=channels, relu=relu)


# Pools: blocks are images, lanes are channels.


def by_planes(name):
    """Return a pool of blocked planes."""
    def function(x, *more, **params):
        n, count, lanes = x.shape[0], x.shape[1], x.shape[-1]
        found = FORMULAS[name](*[t.movedim(-1, 2).reshape(n * count, lanes, *t.shape[2:-1]) for t in (x, *more)], **params)

        def back(t):
            return t.reshape(n, count, lanes, *t.shape[2:]).movedim(2, -1)

        return tuple([back(t) for t in found]) if isinstance(found, tuple) else back(found)

    return function


formula("max_pool_blocked")(lambda x, **params: by_planes("max_pool")(x, **params)[0])
formula("avg_pool_blocked")(by_planes("avg_pool"))
formula("avg_pool_grad_blocked")(by_planes("avg_pool_grad"))


@formula("max_pool_places_blocked")
def max_pool_places_blocked(x, **params):
    """Maxima, and their places in 32 bits."""
    best, indices = by_planes("max_pool")(x, **params)
    return best, indices.int()


@formula("max_pool_grad_blocked")
def max_pool_grad_blocked(g, indices, **params):
    """Values at their places."""
    return by_planes("max_pool_grad")(g, indices.long(), **params)


POOLS = (((7, 6), {"kernel": (3, 2), "stride": (2, 2), "padding": ((1, 1), (0, 1))}),
         ((8,), {"kernel": (2,), "stride": (1,), "padding": ((0, 0),)}),
         ((5, 6), {"kernel": (2, 2), "stride": (1, 2), "padding": ((0, 0), (1, 0))}))


@cases("max_pool_blocked", "avg_pool_blocked", "max_pool_places_blocked", "max_pool_grad_blocked", "avg_pool_grad_blocked")
def pools(name, rng):
    for i, ((lanes, dtype), (sizes, window)) in enumerate(zip((*KINDS, KINDS[0]), (*POOLS, POOLS[0]))):
        rank, average = len(sizes), name.startswith("avg")
        dilation = (1,) * rank if average or i else (2, 1)
        params = window | ({"counted": (window["padding"], ((0, 0),) * rank)[i % 2], "divisor": 5 if i == 2 else None}
                           if average else {"dilation": dilation})
        counts = counts_of(sizes, window["kernel"], window["stride"], window["padding"], dilation)
        shape = (1 + i % 2, 2, *(counts if "grad" in name else sizes), lanes)
        x, label = distinct(rng, *shape, dtype=dtype), f"{lanes} lanes of {dtype} {i}"
        if name == "max_pool_grad_blocked":
            planes_of = distinct(rng, shape[0] * 2, lanes, *sizes)
            indices = FORMULAS["max_pool"](torch.from_numpy(planes_of), **params)[1]
            indices = indices.reshape(shape[0], 2, lanes, *counts).movedim(2, -1).contiguous().int().numpy()
            yield case(label, x, indices, **params, size=sizes)
        else:
            yield case(label, x, **params, **({"size": sizes} if "grad" in name else {}))
