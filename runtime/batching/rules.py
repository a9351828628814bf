"""How operators treat a whole batch: for each a rule (size, op, args, held, params) -> results with the batch in front.

`args` are tensors with the batch in front where `held` says so; the others are one for all samples. NotImplemented leaves a
call to `one_by_one`. Rules run one level further out than the function, on tensors, so that they are differentiable there.
"""

import math

from ...ir.op import OPS
from ...ir.ops.elementwise import add, mul, where
from ...ir.ops.linalg import matmul
from ...ir.ops.shape import cat, expand, iota, permute, reshape, select
from ..dispatch import call
from ..tensor import Tensor, shape_of

RULES: dict = {}


def rule(*names):
    """Marks the rule of some operators."""

    def mark(fn):
        for name in names:
            RULES[name] = fn
        return fn

    return mark


# Shapes.


def plainly(op, args, params):
    """The operator as it is."""
    return op(*args, **params)


def repeated(t, size):
    """A tensor that is one for all samples, with the batch in front."""
    shape = shape_of(t)
    return expand(reshape(t, shape=(1, *shape)), shape=(size, *shape))


def all_repeated(size, args, held):
    """The operands, all with the batch in front."""
    return [a if has or not isinstance(a, Tensor) else repeated(a, size) for a, has in zip(args, held)]


def lifted(full, ndim):
    """A batch of samples that have `ndim` dimensions, for what broadcasts."""
    size, *shape = shape_of(full)
    missing = ndim - len(shape)
    return reshape(full, shape=(size, *(1,) * missing, *shape)) if missing > 0 else full


def one_by_one(size, op, args, held, params):
    """The results of every sample by itself, put together."""
    each = [op(*[select(a, dim=0, index=i) if has else a for a, has in zip(args, held)], **params) for i in range(size)]
    if type(each[0]) is tuple:
        return tuple([_stacked(column) for column in zip(*each)])
    return _stacked(each)


def _stacked(tensors):
    return cat(*[reshape(t, shape=(1, *shape_of(t))) for t in tensors], dim=0)


def _moved(dim):
    """A dimension (or several) of a sample, counted in the batch."""
    return tuple([d + 1 for d in dim]) if isinstance(dim, (tuple, list)) else dim + 1


def _numbers(size, ndim, dtype):
    """The number of each sample, with `ndim` dimensions of size 1 behind."""
    return call(iota, (None,), {"shape": (size, *(1,) * ndim), "dim": 0, "dtype": dtype})


# Views.


def view(size, op, x, params):
    """A view operator on all samples."""
    for name, moved in view_links(size, op.name, x, params):
        x = OPS[name](x, **moved)
    return x


def view_links(size, name, x, params):
    """The view operators (name, parameters) that do to a batch `x` what one does to each sample."""
    inner = shape_of(x)[1:]
    p = dict(params)
    if name == "expand":
        missing = len(p["shape"]) - len(inner)
        if missing:
            yield "reshape", {"shape": (size, *(1,) * missing, *inner)}
        yield "expand", {"shape": (size, *p["shape"])}
        return
    if name == "reshape":
        p["shape"] = (size, *p["shape"])
    elif name == "as_strided":
        p.update(shape=(size, *p["shape"]), strides=(math.prod(inner), *p["strides"]))
    elif name == "permute":
        p["dims"] = (0, *_moved(p["dims"]))
    elif name == "diagonal":
        p.update(dim1=p["dim1"] + 1, dim2=p["dim2"] + 1)
    elif "dim" in p:
        p["dim"] += 1
    yield name, p


@rule("assign_view")
def _assign_view(size, op, args, held, params):
    base, value = all_repeated(size, args, held)
    seen, chain = base, []
    for name, items in params["chain"]:
        for link, moved in view_links(size, name, seen, dict(items)):
            chain.append((link, tuple(sorted(moved.items()))))
            seen = OPS[link](seen, **moved)
    return op(base, value, chain=tuple(chain))


# Elementwise work, and what goes along dimensions.


def _elementwise(size, op, args, held, params):
    ndim = max(len(shape_of(a)) - has for a, has in zip(args, held) if isinstance(a, Tensor))
    return op(*[lifted(a, ndim) if has else a for a, has in zip(args, held)], **params)


def rule_of(op):
    """The rule of an operator, or None."""
    return _elementwise if op.is_elementwise else RULES.get(op.name)


@rule("leaky_relu", "elu", "hardtanh", "clamp", "hardsigmoid", "hardswish", "hardshrink", "softshrink", "threshold", "conj",
      "real", "imag", "modulus")
def _alone(size, op, args, held, params):
    return _elementwise(size, op, args, held, params)


@rule("group", "complex", "gammainc", "gamma_slope")
def _alike_all(size, op, args, held, params):
    return op(*all_repeated(size, args, held), **params)


@rule("sum", "int_sum", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "mean", "var", "std", "logsumexp",
      "vector_norm",
      "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "softmax", "log_softmax", "argsort", "arg_topk", "fft", "rfft",
      "irfft")
def _along(size, op, args, held, params):
    return op(args[0], **{**params, "dim": _moved(params["dim"])})


@rule("cat", "linear_scan", "gather", "scatter", "scatter_reduce")
def _joined_along(size, op, args, held, params):
    return op(*all_repeated(size, args, held), **{**params, "dim": params["dim"] + 1})


@rule("flip", "roll")
def _along_several(size, op, args, held, params):
    return op(args[0], **{**params, "dims": _moved(params["dims"])})


@rule("pad")
def _pad(size, op, args, held, params):
    if held[0] is False:
        return NotImplemented
    grown = {k: (0, *params[k]) for k in ("low", "high", "interior")}
    return op(*args, **{**params, **grown})


@rule("full", "iota", "fold_windows", "diagonal_embed")
def _made(size, op, args, held, params):
    p = {**params, "shape": (size, *params["shape"])}
    for name in ("dim", "dim1", "dim2"):
        if name in p:
            p[name] += 1
    return op(*args, **p)


@rule("constant", "triangle")
def _one_for_all(size, op, args, held, params):
    return repeated(op(select(args[0], dim=0, index=0), **params), size)


# Products.


@rule("matmul")
def _matmul(size, op, args, held, params):
    x, y = args
    if held[0] and not held[1] and len(shape_of(y)) == 2:
        rows, inner = shape_of(x)[:-1], shape_of(x)[-1]
        found = op(reshape(x, shape=(math.prod(rows), inner)), y)
        return reshape(found, shape=(*rows, shape_of(y)[1]))
    return op(*all_repeated(size, args, held))


@rule("dot")
def _dot(size, op, args, held, params):
    x, y = args
    if not held[1]:
        return _column(matmul(x, reshape(y, shape=(*shape_of(y), 1))))
    if not held[0]:
        return _column(matmul(y, reshape(x, shape=(*shape_of(x), 1))))
    rows, columns = (size, 1, shape_of(x)[1]), (size, shape_of(x)[1], 1)
    return reshape(matmul(reshape(x, shape=rows), reshape(y, shape=columns)), shape=(size,))


def _column(x):
    return reshape(x, shape=shape_of(x)[:-1])


@rule("linear")
def _linear(size, op, args, held, params):
    x, w, b = args
    inner = shape_of(x)[1:] if held[0] else shape_of(x)
    if not held[1]:
        if not held[2]:
            return op(x, w, b)
        found = op(x, w, None)
    else:
        lead = (size,) if held[0] else ()
        flat = reshape(x, shape=(*lead, math.prod(inner[:-1]), inner[-1]))
        turned = permute(w, dims=(0, 2, 1))
        found = reshape(matmul(flat, turned), shape=(size, *inner[:-1], shape_of(w)[1]))
    return found if b is None else add(found, lifted(b, len(inner)) if held[2] else b)


@rule("solve")
def _solve(size, op, args, held, params):
    a, b = all_repeated(size, args, held)
    return op(a, b) if len(shape_of(a)) == len(shape_of(b)) else NotImplemented


@rule("inv", "pinv", "cofactor", "det", "slogdet", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh")
def _matrices(size, op, args, held, params):
    return op(*args, **params)


# Lookups.


def _offset(size, index, rows, held):
    """Indices of each sample's rows in a table of all samples' rows, one after the other."""
    index = index if held else repeated(index, size)
    ndim = len(shape_of(index))
    start = _numbers(size, ndim - 1, index.dtype)
    inside = where(index < 0, add(index, rows), index)
    return add(inside, mul(start, rows))


@rule("embedding")
def _embedding(size, op, args, held, params):
    weight, index = args
    if not held[0]:
        return op(weight, index, **params)
    rows, width = shape_of(weight)[1:]
    if params["padding_idx"] is not None or params["by_frequency"]:
        return NotImplemented
    return op(reshape(weight, shape=(size * rows, width)), _offset(size, index, rows, held[1]), **params)


@rule("row_sums")
def _row_sums(size, op, args, held, params):
    values, index = all_repeated(size, args, held)
    rows = params["rows"]
    inner = shape_of(index)[1:]
    width = shape_of(values)[1 + len(inner):]
    flat = reshape(values, shape=(size * math.prod(inner), *width))
    found = op(flat, reshape(_offset(size, index, rows, True), shape=(size * math.prod(inner),)), rows=size * rows)
    return reshape(found, shape=(size, rows, *width))


@rule("index")
def _index(size, op, args, held, params):
    x, *indices = args
    if not held[0]:
        return NotImplemented if None in indices else op(x, *_alike(indices, held[1:]))
    if not any(held[1:]):
        given = [d for d, i in enumerate(indices) if i is not None]
        return op(x, None, *indices) if given[-1] - given[0] + 1 == len(given) else NotImplemented
    if None in indices:
        return NotImplemented
    indices = _alike(indices, held[1:])
    ndim = max(len(shape_of(i)) for i in indices)
    return op(x, _numbers(size, ndim - 1, indices[0].dtype), *indices)


def _alike(indices, held):
    """Index tensors with as many dimensions each (and the batch in front where they have it)."""
    ndim = max(len(shape_of(i)) - has for i, has in zip(indices, held))
    return [lifted(i, ndim) if has else i for i, has in zip(indices, held)]


@rule("index_put")
def _index_put(size, op, args, held, params):
    x, value, *indices = args
    if None in indices:
        return NotImplemented
    x = x if held[0] else repeated(x, size)
    indices = _alike(indices, held[2:])
    ndim = max(len(shape_of(i)) - has for i, has in zip(indices, held[2:]))
    value = value if held[1] else repeated(value, size)
    return op(x, value, _numbers(size, ndim, indices[0].dtype), *indices, **params)


@rule("take_class", "put_class")
def _classes(size, op, args, held, params):
    x, target = all_repeated(size, args, held)
    shape, inner = shape_of(x), shape_of(target)[1:]
    if not inner:
        return op(x, target, **params)
    found = op(_joined(x), _joined(target), **params)
    return reshape(found, shape=(size, shape[1], *shape_of(found)[1:]))


# Work on the images of a batch: the batch of samples and each sample's own become one.


def _joined(x):
    shape = shape_of(x)
    return reshape(x, shape=(shape[0] * shape[1], *shape[2:]))


def _parted(found, size):
    if type(found) is tuple:
        return tuple([_parted(f, size) for f in found])
    shape = shape_of(found)
    return reshape(found, shape=(size, shape[0] // size, *shape[1:]))


@rule("im2col", "col2im", "max_pool", "adaptive_max_pool", "avg_pool", "avg_pool_grad", "resample", "resample_grad",
      "border_pad",
      "border_pad_grad", "plane_take", "plane_put", "grid_sample", "fractional_max_pool",
      "batch_norm", "group_norm")
def _side_by_side(size, op, args, held, params):
    """Operators that treat each image by itself, if what is no image is one for all samples."""
    images = IMAGES.get(op.name) or tuple(range(len(args)))
    if any(has and i not in images for i, has in enumerate(held)):
        return _by_channels(size, op, args, held, params)
    full = [_joined(a if has else repeated(a, size)) if i in images and isinstance(a, Tensor) else a
            for i, (a, has) in enumerate(zip(args, held))]
    return _parted(op(*full, **params), size)


IMAGES = {"batch_norm": (0,), "group_norm": (0,)}   # which operands are images, where not all are


# Samples side by side in the channels of an image: (size, N, C, ...) as (N, size * C, ...).


def _into_channels(x, size, has):
    x = x if has else repeated(x, size)
    _, n, c, *rest = shape_of(x)
    order = (1, 0, *range(2, len(rest) + 3))
    return reshape(permute(x, dims=order), shape=(n, size * c, *rest))


def _from_channels(x, size):
    n, c, *rest = shape_of(x)
    apart = reshape(x, shape=(n, size, c // size, *rest))
    return permute(apart, dims=(1, 0, *range(2, len(rest) + 3)))


def _channel_values(x, size, has):
    """Values of channels (weights, biases) of all samples in a row."""
    return None if x is None else _joined(x if has else repeated(x, size))


def _by_channels(size, op, args, held, params):
    if op.name != "batch_norm":
        return NotImplemented
    x, *rest = args
    values = [_channel_values(v, size, has) for v, has in zip(rest, held[1:])]
    return _from_channels(op(_into_channels(x, size, held[0]), *values, **params), size)


@rule("batch_norm_train")
def _batch_norm_train(size, op, args, held, params):
    x, w, b = args
    found = op(_into_channels(x, size, held[0]), _channel_values(w, size, held[1]), _channel_values(b, size, held[2]), **params)
    y, *of_channels = found
    return (_from_channels(y, size), *[reshape(v, shape=(size, shape_of(v)[0] // size)) for v in of_channels])


@rule("batch_norm_grad")
def _batch_norm_grad(size, op, args, held, params):
    g, g_mean, g_var, x, *rest = args
    values = [_channel_values(v, size, has) for v, has in zip((g_mean, g_var, *rest), (*held[1:3], *held[4:]))]
    found = op(_into_channels(g, size, held[0]), *values[:2], _into_channels(x, size, held[3]), *values[2:], **params)
    dx, *of_channels = found
    return (_from_channels(dx, size), *[reshape(v, shape=(size, shape_of(v)[0] // size)) for v in of_channels])


@rule("conv", "conv_input_grad")
def _conv(size, op, args, held, params):
    x, w, *b = args
    if not held[1] and not any(held[2:]):
        return _parted(op(_joined(x), w, *b, **params), size)
    bias = [_channel_values(v, size, has) for v, has in zip(b, held[2:])]
    found = op(_into_channels(x, size, held[0]), _channel_values(w, size, held[1]), *bias,
               **{**params, "groups": params["groups"] * size})
    return _from_channels(found, size)


@rule("conv_weight_grad")
def _conv_weight_grad(size, op, args, held, params):
    x, g = args
    found = op(_into_channels(x, size, held[0]), _into_channels(g, size, held[1]),
               **{**params, "groups": params["groups"] * size})
    return _parted(found, size)


# Rows.


@rule("layer_norm", "rms_norm")
def _row_norm(size, op, args, held, params):
    if any(held[1:]):
        return NotImplemented
    return op(*args, **params)


@rule("attention", "attention_grad")
def _attention(size, op, args, held, params):
    at = 3 if op.name == "attention" else 4
    mask = args[at]
    if mask is not None and params.get("mask_grad"):
        return NotImplemented
    full = all_repeated(size, args, held)
    if mask is not None:
        full[at] = lifted(mask, len(shape_of(full[0])) - 1) if held[at] else mask
    found = op(*full, **params)
    if op.name == "attention":
        return found
    *grads, of_mask = found         # of a mask that wants no gradient, which has no elements
    return (*grads, reshape(of_mask, shape=(size, *shape_of(of_mask)[1:])))
