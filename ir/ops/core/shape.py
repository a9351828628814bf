"""Operators that only move data: views over the same memory, copies that join, pad, mirror and shift, and literals."""

import math

import numpy as np

from ... import dtype as dt
from ...dim_order import inverse
from ...errors import DTypeError, ShapeError
from ...interrupts import is_of_call
from ...opdef.aval import Aval, broadcast_shapes, hinted, same_shape, shape_text
from ...opdef.batch_rules import ALONG, LEADING, SAME, Chain, Leading
from ...opdef.op import NO_GRAD, OPS, Composite, Host, Scalar, Template, View, op
from ...opdef.param_checks import (
    MOST,
    check_dim,
    check_dims,
    check_dtype,
    check_element,
    check_index,
    check_int,
    check_ints,
    check_shape,
    check_sizes,
)
from ...symbols.substitute import at_hint
from ...symbols.symbolic import hint
from .elementwise_rules import wide

# Views.


def _infer_reshape(x, *, shape):
    check_sizes(shape)
    out = Aval(shape, x.dtype)
    if out.size != x.size:
        raise ShapeError(f"{x} has {hinted(x.size)} elements, but the shape {shape_text(shape)} has {hinted(out.size)}")
    return out


reshape = op("reshape", infer=_infer_reshape, ref=lambda x, *, shape: x.reshape(shape),
             vjp=(lambda g, out, x, *, shape: reshape(g, shape=x.shape),),
             lower=View(undo=lambda x, *, shape: {"shape": x.shape}), batch=LEADING, traits=("exact",),
             doc="The same elements in row-major order under another shape; a view where strides allow, else a copy.")


def _permute_links(size, op, shape, params):
    return [(op, {"dims": (0, *[d + 1 for d in params["dims"]])})]


def _infer_permute(x, *, dims):
    if len(check_dims(dims, x.ndim, "dims")) != x.ndim:
        raise ShapeError(f"permute of {x} takes each dimension once, got dims={dims}")
    return x.with_shape(tuple(x.shape[d] for d in dims))


permute = op("permute", infer=_infer_permute, ref=lambda x, *, dims: x.transpose(dims),
             vjp=(lambda g, out, x, *, dims: permute(g, dims=inverse(dims)),),
             lower=View(undo=lambda x, *, dims: {"dims": inverse(dims)}), batch=Chain(_permute_links), traits=("exact",))


def _infer_expand(x, *, shape):
    check_sizes(shape)
    if broadcast_shapes(x.shape, shape) != shape:
        raise ShapeError(f"cannot expand {x} to {list(shape)}: a size may only grow from 1")
    return x.with_shape(shape)


def window(x, shape, strides, offset=0):
    """Return the elements of x's memory at strides and an offset (in bytes), as writable as x."""
    owner = x if x.flags.forc else x.base
    try:
        before = 0 if owner is x else x.ctypes.data - owner.ctypes.data
        out = np.ndarray(shape, x.dtype, owner, before + offset, strides)
    except (TypeError, ValueError, AttributeError) as error:    # memory of foreign owners, or not in one piece
        if not is_of_call(error):
            raise
        further = offset // x.itemsize
        start = np.lib.stride_tricks.as_strided(x, (further + 1,), (x.itemsize,))[further:]
        return np.lib.stride_tricks.as_strided(start, shape, strides)
    if not x.flags.writeable:
        out.setflags(write=False)
    return out


def _expand(x, *, shape):
    lead = len(shape) - x.ndim
    strides = [0] * lead
    for s, n, m in zip(x.strides, x.shape, shape[lead:]):
        if (n != m and n != 1) or lead < 0:
            raise ShapeError(f"cannot expand shape {list(x.shape)} to {list(shape)}: a size may only grow from 1")
        strides.append(s if n == m else 0)
    return window(x, shape, strides)


def _expand_links(size, op, shape, params):
    """A sample with fewer dims than the shape gets the missing ones behind the batch."""
    missing = len(params["shape"]) - len(shape)
    links = [(reshape, {"shape": (size, *(1,) * missing, *shape)})] if missing else []
    return [*links, (op, {"shape": (size, *params["shape"])})]


expand = op("expand", infer=_infer_expand, ref=_expand,
            vjp=(lambda g, out, x, *, shape: sum_to(g, shape=x.shape),), lower=View(),
            batch=Chain(_expand_links), traits=("exact",),
            doc="Repeats dimensions of size 1 (and new leading ones) without copying.")


def summed_dims(shape, to) -> tuple:
    """Return the dims of `shape` that a gradient is summed over to get the shape `to`."""
    lead = len(shape) - len(to)
    return tuple(range(lead)) + tuple(i + lead for i, d in enumerate(to)
                                     if d is not shape[i + lead] and d == 1 and shape[i + lead] != 1)


def _sum_to_body(x, *, shape):
    dims = summed_dims(x.shape, shape)
    return reshape(OPS["sum"](x, dim=dims, keepdim=True) if dims else x, shape=shape)


def sum_to(x, *, shape):
    """Sum over what broadcasting repeated: the transpose of expand."""
    return x if same_shape(tuple(x.shape), tuple(shape)) else _sum_to_body(x, shape=shape)


def _infer_select(x, *, dim, index):
    check_index(index, x.shape[check_dim(dim, x.ndim)])
    return x.with_shape(x.shape[:dim] + x.shape[dim + 1:])


_WHOLE = slice(None)


def _at(ndim, dim, what):
    return (_WHOLE,) * dim + (what,)


def _select_vjp(g, out, x, *, dim, index):
    n = x.shape[dim]
    lead, rest = g.shape[:dim], g.shape[dim:]
    return pad(reshape(g, shape=(*lead, 1, *rest)), low=_one_hot_tuple(x.ndim, dim, index),
               high=_one_hot_tuple(x.ndim, dim, n - 1 - index), interior=(0,) * x.ndim)


def _one_hot_tuple(n, i, value):
    return (0,) * i + (value,) + (0,) * (n - 1 - i)


select = op("select", infer=_infer_select, ref=lambda x, *, dim, index: x[(*(_WHOLE,) * dim, index, ...)],
            vjp=(_select_vjp,), lower=View(),
            batch=ALONG, traits=("exact",), doc="One index along a dimension, which disappears.")


def _slice_size(n, start, stop, step):
    size = -(-((stop if stop <= n else n) - start) // step)
    return size if size >= 0 else 0


def _infer_slice(x, *, dim, start, stop, step):
    check_dim(dim, x.ndim)
    check_int(start, "start")
    check_int(stop, "stop")
    check_int(step, "step", 1)
    return x.with_shape(x.shape[:dim] + (_slice_size(x.shape[dim], start, stop, step),) + x.shape[dim + 1:])


def _slice_vjp(g, out, x, *, dim, start, stop, step):
    n, m = x.shape[dim], out.shape[dim]
    if m == 0:
        return expand(reshape(OPS["sum"](g, dim=tuple(range(g.ndim)), keepdim=False), shape=(1,) * x.ndim), shape=x.shape)
    last = start + (m - 1) * step
    return pad(g, low=_one_hot_tuple(x.ndim, dim, start), high=_one_hot_tuple(x.ndim, dim, n - 1 - last),
               interior=_one_hot_tuple(x.ndim, dim, step - 1))


def _undo_slice(x, **params):
    return params if (params["start"], params["step"], params["stop"]) == (0, 1, x.shape[params["dim"]]) else None


slice_ = op("slice", infer=_infer_slice,
            ref=lambda x, *, dim, start, stop, step: x[_at(x.ndim, dim, slice(start, stop, step))],
            vjp=(_slice_vjp,), lower=View(undo=_undo_slice),
            batch=ALONG, traits=("exact",), doc="Every step-th index of [start, stop) along a dimension.")


def _infer_diagonal(x, *, offset, dim1, dim2):
    check_dims((dim1, dim2), x.ndim, "dims of a diagonal")
    check_int(offset, "offset", -MOST)
    rows, cols = x.shape[dim1], x.shape[dim2]
    n = max(0, min(rows, cols - offset) if offset >= 0 else min(rows + offset, cols))
    return x.with_shape(tuple(s for i, s in enumerate(x.shape) if i not in (dim1, dim2)) + (n,))


def _diagonal(x, *, offset, dim1, dim2):
    out = x.diagonal(offset, dim1, dim2)
    if x.flags.writeable:
        out.setflags(write=True)
    return out


def _diagonal_vjp(g, out, x, *, offset, dim1, dim2):
    return diagonal_scatter(g, shape=x.shape, offset=offset, dim1=dim1, dim2=dim2)


diagonal = op("diagonal", infer=_infer_diagonal,
              ref=_diagonal, vjp=(_diagonal_vjp,), lower=View(), batch=Leading(("dim1", "dim2")),
              traits=("exact",), doc="The diagonal of two dimensions, as a new last dimension.")


def _diagonal_scatter(g, *, shape, offset, dim1, dim2):
    out = np.zeros(shape, g.dtype)
    target = np.diagonal(out, offset, dim1, dim2)
    target.setflags(write=True)
    target[...] = g
    return out


def _infer_diagonal_scatter(g, *, shape, offset, dim1, dim2):
    check_sizes(shape)
    now = Aval(at_hint(shape), g.dtype)
    check_shape(g.shape, _infer_diagonal(now, offset=hint(offset), dim1=dim1, dim2=dim2).shape, "the diagonal")
    return g.with_shape(shape)


diagonal_scatter = op("diagonal_embed", infer=_infer_diagonal_scatter,
                      ref=_diagonal_scatter,
                      vjp=(lambda g, out, x, *, shape, offset, dim1, dim2: diagonal(g, offset=offset, dim1=dim1, dim2=dim2),),
                      lower=Template("scatter"),
                      batch=Leading(("dim1", "dim2")), traits=("exact", "float8"), doc="Zeros of `shape` with x on a diagonal.")


def _infer_unfold(x, *, dim, size, step):
    n = x.shape[check_dim(dim, x.ndim)]
    check_int(size, "size", -MOST)
    check_int(step, "step", -MOST)
    if not 0 <= size <= n or step <= 0:
        raise ShapeError(f"unfold of {x} at dim {dim}: size {size} must be within 0..{n} and step {step} positive")
    return x.with_shape(x.shape[:dim] + ((n - size) // step + 1,) + x.shape[dim + 1:] + (size,))


def _unfold(x, *, dim, size, step):
    shape = _infer_unfold(Aval(x.shape, dt.of(x)), dim=dim, size=size, step=step).shape
    s = x.strides
    step = min(step, x.shape[dim])      # a longer one is taken by no window
    return window(x, shape, (*s[:dim], s[dim] * step, *s[dim + 1:], s[dim]))


unfold = op("unfold", infer=_infer_unfold, ref=_unfold,
            vjp=(lambda g, out, x, *, dim, size, step: fold_windows(g, shape=x.shape, dim=dim, step=step),), lower=View(),
            batch=ALONG,
            traits=("exact",), doc="Windows of `size` every `step` along a dimension, as a new last dimension.")


def _fold_windows(g, *, shape, dim, step):
    out = np.zeros(shape, wide(g[:0]).dtype)
    count = g.shape[dim]
    for k in range(g.shape[-1] if count else 0):
        out[_at(len(shape), dim, slice(k, k + (count - 1) * step + 1, step))] += g[..., k]
    return out.astype(g.dtype, copy=False)


def _infer_fold_windows(g, *, shape, dim, step):
    check_sizes(shape)
    check_dim(dim, min(len(shape), g.ndim - 1))
    check_int(step, "step", 1)
    count, *_, size = at_hint(g.shape[dim:])
    if count and (count - 1) * hint(step) + size > hint(shape[dim]):
        raise ShapeError(f"fold_windows of {g}, {hint(step)} apart, reaches outside of {list(shape)} in dim {dim}")
    check_shape(g.shape, (*shape[:dim], count, *shape[dim + 1:], size), "the windows")
    return g.with_shape(shape)


fold_windows = op("fold_windows", infer=_infer_fold_windows, ref=_fold_windows,
                  vjp=(lambda g, out, x, *, shape, dim, step: unfold(g, dim=dim, size=x.shape[-1], step=step),),
                  lower=Template("scatter"), batch=ALONG, doc="Adds windows back to where unfold took them.")


def _infer_as_strided(x, *, shape, strides, offset):
    check_sizes(shape)
    check_ints(strides, "strides", len(shape), -MOST)
    check_int(offset, "offset", -MOST)
    reach = offset + sum((n - 1) * s for n, s in zip(shape, strides)) + 1 if 0 not in shape else 0
    if reach > x.size or offset < 0 or min(strides, default=0) < 0:
        raise ShapeError(f"as_strided(size={list(shape)}, stride={tuple(strides)}, storage_offset={offset}) reaches element "
                         f"{reach - 1} of a storage of {x.size} elements")
    return x.with_shape(shape)


def _as_strided(x, *, shape, strides, offset):
    _infer_as_strided(Aval(x.shape, dt.of(x)), shape=shape, strides=strides, offset=offset)
    n = x.itemsize
    return window(x if x.flags.c_contiguous else np.ascontiguousarray(x), shape, tuple([s * n for s in strides]), offset * n)


def _as_strided_vjp(g, out, x, *, shape, strides, offset):
    return strided_scatter(g, size=x.shape, strides=strides, offset=offset)


def _strided_links(size, op, shape, params):
    return [(op, {**params, "shape": (size, *params["shape"]), "strides": (math.prod(shape), *params["strides"])})]


as_strided = op("as_strided", infer=_infer_as_strided, ref=_as_strided, vjp=(_as_strided_vjp,), lower=View(),
                batch=Chain(_strided_links),
                traits=("exact",), doc="Any strided window over a contiguous value's elements.")


def _strided_scatter(g, *, size, strides, offset):
    g_wide = wide(g)
    out = np.zeros(int(np.prod(size)), g_wide.dtype)
    where = np.full(g.shape, offset)
    for axis, (n, s) in enumerate(zip(g.shape, strides)):
        where = where + (np.arange(n) * s).reshape((n,) + (1,) * (g.ndim - 1 - axis))
    np.add.at(out, where, g_wide)
    return out.astype(g.dtype, copy=False).reshape(size)


def _batch_strided_scatter(size, op, args, held, params):
    """Each sample writes into memory of its own."""
    of_sample = params["size"]
    return op(*args, **{**params, "size": (size, *of_sample), "strides": (math.prod(of_sample), *params["strides"])})


def _infer_strided_scatter(g, *, size, strides, offset):
    check_sizes(size, "size")
    room = Aval(at_hint(size), g.dtype)
    _infer_as_strided(room, shape=at_hint(g.shape), strides=at_hint(strides), offset=hint(offset))
    return g.with_shape(size)


strided_scatter = op("strided_scatter", infer=_infer_strided_scatter, ref=_strided_scatter,
                     vjp=(lambda g, out, x, *, size, strides, offset:
                          as_strided(g, shape=x.shape, strides=strides, offset=offset),),
                     lower=Template("scatter"), batch=_batch_strided_scatter,
                     doc="Adds elements back to where as_strided took them.")


def _infer_bitcast(x, *, dtype):
    old, new = x.dtype.itemsize, check_dtype(dtype).itemsize
    if old == new:
        return x.with_dtype(dtype)
    if not x.ndim or x.shape[-1] * old % new:
        raise ShapeError(f"{x} cannot be read as {dtype.name}: its last dimension is not a whole number of {new} byte elements")
    return Aval(x.shape[:-1] + (x.shape[-1] * old // new,), dtype)


def _bitcast(x, *, dtype):
    """Copy values whose layout the dtype cannot be read from, as may happen in traces."""
    return (x if has_whole_elements(x, dtype) else np.ascontiguousarray(x)).view(dtype.np)


def has_whole_elements(x, dtype) -> bool:
    """Return whether the bytes of an array's rows can be read as elements of a dtype."""
    n = dtype.itemsize
    if n == x.itemsize:
        return True
    return x.ndim > 0 and (x.shape[-1] == 1 or x.strides[-1] == x.itemsize) and not any(s % n for s in x.strides[:-1])


bitcast = op("bitcast", infer=_infer_bitcast, ref=_bitcast, vjp=NO_GRAD, lower=View(),
             batch=LEADING,
             traits=("exact",), doc="The same bits read as another dtype.")


later = op("later", infer=lambda x, after: x, ref=lambda x, after: x.copy(), vjp=NO_GRAD, lower=Host(),
           traits=("exact", "float8"),
           doc="A value, read only when another one has been made. A view to compiled programs, which alone use it.")

group = op("group", infer=lambda *xs: tuple(xs), ref=lambda *xs: tuple(xs),
           vjp=lambda g, out, *xs, needs: g if type(g) is tuple else (g,), saves=(), lower=Composite(lambda *xs: xs),
           batch=LEADING,
           traits=("exact", "keeps_order", "one_by_one"),
           doc="Its floating point arguments, with one history node for all of them.")


# Copies.


def _check_one_dtype(name, xs):
    for x in xs:
        if x.dtype is not xs[0].dtype:
            raise DTypeError(f"{name} takes values of one dtype, got {' and '.join(map(str, xs[:8]))}")


def _infer_cat(*xs, dim):
    first = xs[0]
    check_dim(dim, first.ndim)
    _check_one_dtype("cat", xs)
    total = 0
    for n, x in enumerate(xs):
        same = x.ndim == first.ndim and all(a == b for i, (a, b) in enumerate(zip(x.shape, first.shape)) if i != dim)
        if not same:
            raise ShapeError(f"cat along dim {dim} takes equal sizes in every other dimension: tensors[0] is {first}, "
                             f"tensors[{n}] is {x}")
        total += x.shape[dim]
    return first.with_shape(first.shape[:dim] + (total,) + first.shape[dim + 1:])


def _cat_vjp(g, out, *xs, dim, needs):
    grads, start = [], 0
    for x, need in zip(xs, needs):
        stop = start + x.shape[dim]
        grads.append(slice_(g, dim=dim, start=start, stop=stop, step=1) if need else None)
        start = stop
    return tuple(grads)


def joined(*xs, dim):
    """Concatenate arrays in row-major order (NumPy takes the layout of its arguments). Images may stay channels last."""
    whole = np.concatenate(xs, axis=dim)
    return whole if whole.ndim > 3 or whole.flags.c_contiguous else np.ascontiguousarray(whole)


cat = op("cat", infer=_infer_cat, ref=joined, vjp=_cat_vjp, saves=(),
         lower=Template("join"), batch=ALONG, traits=("exact", "float8", "self_checking"),
         doc="Joins along an existing dimension.")


def grown(shape, dim) -> tuple:
    """Return a shape with a new dim of size 1."""
    return (*shape[:dim], 1, *shape[dim:])


def _infer_stack(*xs, dim):
    first = xs[0]
    check_dim(dim, first.ndim + 1)
    _check_one_dtype("stack", xs)
    for i, x in enumerate(xs):
        if x.shape != first.shape:
            raise ShapeError(f"stack takes tensors of one shape: tensors[0] is {first}, tensors[{i}] is {x}")
    return first.with_shape((*first.shape[:dim], len(xs), *first.shape[dim:]))


def _stack_body(*xs, dim):
    return cat(*[reshape(x, shape=grown(x.shape, dim)) for x in xs], dim=dim)


def _stack_vjp(g, out, *xs, dim, needs):
    return tuple([select(g, dim=dim, index=i) if need else None for i, need in enumerate(needs)])


def stacked(join, xs, dim):
    """Stack arrays of one shape along a new dim. In front, they are joined and then reshaped."""
    if not dim and xs[0].ndim:
        return join(*xs, dim=0).reshape(len(xs), *xs[0].shape)
    return join(*[x.reshape(grown(x.shape, dim)) for x in xs], dim=dim)


stack = op("stack", infer=_infer_stack, ref=lambda *xs, dim: stacked(joined, xs, dim), vjp=_stack_vjp, saves=(),
           lower=Composite(_stack_body), batch=ALONG, traits=("exact", "float8", "self_checking"),
           doc="Joins along a new dimension.")


def _infer_pad(x, *, low, high, interior, value=0):
    check_ints(low, "low", x.ndim, -MOST)
    check_ints(high, "high", x.ndim, -MOST)
    check_ints(interior, "interior", x.ndim)
    check_element(value, x.dtype)
    sizes = tuple([max(lo + n + hi + max(n - 1, 0) * gap, 0) for n, lo, hi, gap in zip(x.shape, low, high, interior)])
    check_sizes(sizes, "the padded shape")
    return x.with_shape(sizes)


def _pad(x, *, low, high, interior, value=0):
    if not any(interior) and min((*low, *high, 0)) == 0:
        full = np.empty([n + lo + hi for n, lo, hi in zip(x.shape, low, high)], x.dtype)
        full.fill(value)
        full[tuple([slice(lo, lo + n) for lo, n in zip(low, x.shape)])] = x
        return full
    shape = _infer_pad(Aval(x.shape, dt.of(x)), low=low, high=high, interior=interior).shape
    if not any(interior) and max((*low, *high, 0)) == 0:
        return np.array(x[tuple([slice(-lo, -lo + n) for lo, n in zip(low, shape)])], order="C")
    found = np.full(shape, value, x.dtype)
    kept = [range(max(0, -(lo // (gap + 1))), min(n, -((lo - size) // (gap + 1))))      # the elements inside the result
            for n, size, lo, gap in zip(x.shape, shape, low, interior)]
    if all(kept):
        places = [slice(lo + k.start * (gap + 1), lo + (k.stop - 1) * (gap + 1) + 1, gap + 1)
                  for k, lo, gap in zip(kept, low, interior)]
        found[tuple(places)] = x[tuple([slice(k.start, k.stop) for k in kept])]
    return found


def _pad_vjp(g, out, x, *, low, high, interior, value=0):
    g = pad(g, low=tuple(-n for n in low), high=tuple(-n for n in high), interior=(0,) * len(low))
    for d, gap in enumerate(interior):
        if gap:
            g = slice_(g, dim=d, start=0, stop=g.shape[d], step=gap + 1)
    return g


def _pad_by_number(x, *, value, **edges):
    """The same with the value as an operand."""
    inside = pad(full(x, shape=x.shape, value=True, dtype=dt.bool_), value=False, **edges)
    return OPS["where"](inside, pad(x, value=0, **edges), value)


pad = op("pad", infer=_infer_pad, ref=_pad, vjp=(_pad_vjp,), lower=Template("join"),
         numbers=("value",), by_operand=_pad_by_number, batch=Leading(each=("low", "high", "interior")),
         traits=("exact", "float8"),
         doc="Puts `value` before, after and between elements; negative low and high cut.")

contiguous = op("contiguous", infer=lambda x: x, ref=lambda x: np.array(x, copy=True, order="C"),
                vjp=(lambda g, out, x: g,), lower=Scalar("copy"), traits=("exact", "float8", "by_rows"),
                doc="The same values in new memory, in row-major order.")


def _infer_flip(x, *, dims):
    check_dims(dims, x.ndim, "dims")
    return x


def _infer_roll(x, *, shifts, dims):
    for d in check_ints(dims, "dims"):
        check_dim(d, x.ndim)
    check_ints(shifts, "shifts", len(dims), -MOST)
    return x


flip = op("flip", infer=_infer_flip, ref=lambda x, *, dims: np.array(np.flip(x, dims), order="C"),
          vjp=(lambda g, out, x, *, dims: flip(g, dims=dims),), lower=Template("gather"),
          batch=Leading(("dims",)), traits=("exact", "float8"))
roll = op("roll", infer=_infer_roll, ref=lambda x, *, shifts, dims: np.roll(x, shifts, dims),
          vjp=(lambda g, out, x, *, shifts, dims: roll(g, shifts=tuple(-s for s in shifts), dims=dims),),
          lower=Template("gather"), batch=Leading(("dims",)), traits=("exact", "float8"))
place = op("place", infer=lambda x, *, device, source, wait: x,
           ref=lambda x, *, device, source, wait: np.array(x, order="C"),
           vjp=(lambda g, out, x, *, device, source, wait: place(g, device=source, source=device, wait=True),),
           lower=Host(), traits=("exact", "place", "float8", "keeps_order"),
           doc="A copy on `device` of a value on `source`, the value itself inside a graph; without `wait` it may still be on "
               "its way.")

# Values from nothing: `like` only lends its device.


def _infer_full(like, *, shape, value, dtype):
    check_sizes(shape)
    check_element(value, check_dtype(dtype))
    return Aval(shape, dtype)


def _full(like, *, shape, value, dtype):
    if value == 0 and math.copysign(1.0, value.real) > 0:
        return np.zeros(shape, dtype.np)
    return np.full(shape, value, dtype.np)


full = op("full", infer=_infer_full, ref=_full, vjp=NO_GRAD, lower=Template("fill"), batch=LEADING,
          traits=("exact", "float8", "from_nothing"),
          doc="A constant; `like` only lends its device.")


def _iota(like, *, shape, dim, dtype):
    counted = np.arange(shape[dim], dtype=dtype.np)
    return counted if len(shape) == 1 else np.broadcast_to(counted.reshape((-1,) + (1,) * (len(shape) - dim - 1)), shape).copy()


def _infer_iota(like, *, shape, dim, dtype):
    sizes = check_sizes(shape)
    check_element(max(sizes[check_dim(dim, len(shape))] - 1, 0), check_dtype(dtype), "the last index")
    if dtype is dt.bool_:
        raise DTypeError("iota counts in numbers, not in bool")
    return Aval(shape, dtype)


iota = op("iota", infer=_infer_iota,
          ref=_iota,
          vjp=NO_GRAD, lower=Template("fill"), batch=ALONG, traits=("exact", "from_nothing"),
          doc="Each element's index along a dimension.")

LARGEST_LITERAL = 64   # elements; a larger array is an input of the graph


def _infer_constant(like, *, values, shape, dtype):
    check_sizes(shape)
    out = Aval(shape, check_dtype(dtype))
    if not isinstance(values, tuple):
        raise DTypeError(f"values must be a tuple of numbers, got {values!r}")
    for v in values:
        check_element(v, dtype)
    if len(values) != out.size:
        raise ShapeError(f"constant of {out} takes {out.size} values, got {len(values)}")
    if out.size > LARGEST_LITERAL:
        raise ShapeError(f"constant of {out} has more than {LARGEST_LITERAL} elements; make it an input of the graph")
    return out


constant = op("constant", infer=_infer_constant,
              ref=lambda like, *, values, shape, dtype: np.array(values, dtype.np).reshape(shape), vjp=(None,),
              lower=Template("fill"), batch=SAME, traits=("exact", "float8"),
              doc="A literal array of a few elements; `like` only lends its device.")
