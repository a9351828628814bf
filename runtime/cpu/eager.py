"""Which compiled kernel runs an operator in eager mode.

Traced code and eager code give the same bits because both come here for everything that numpy would round differently:
functions such as exp, sums, softmax, norms. Operators with one right answer (marked "exact") stay with numpy while arrays
are small, where its call is cheaper, and take the compiled kernel, with threads and reused memory, when they are large.
A composite without a kernel of its own runs as the operators of its body, as the decompose pass makes it.
"""

import functools
import math
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.aval import Aval
from ...ir.lazy import lazy
from ...ir.op import Composite, Op, Reduce, Scalar
from ...ir.ops import (
    attention,
    attention_bounds,
    batch_norm,
    checked,
    complexes,
    conv,
    counts,
    distance,
    embedding,
    factor,
    fourier,
    gamma,
    grouped,
    indexing,
    least_squares,
    linalg,
    loss,
    moments,
    nn,
    norm,
    point_taps,
    pool,
    random,
    recurrent,
    recurrent_packed,
    resample,
    scan,
    shape,
    sort,
    triangular,
)
from ...ir.ops import elementwise as ew
from . import eager_scalars
from .kernel_table import KernelTable

alloc = lazy(__package__, ".alloc")
eager_factors = lazy(__package__, ".eager_factors")
eager_fourier = lazy(__package__, ".eager_fourier")
eager_losses = lazy(__package__, ".eager_losses")
eager_nn = lazy(__package__, ".eager_nn")
eager_composites = lazy(__package__, ".eager_composites")
eager_orders = lazy(__package__, ".eager_orders")
eager_rows = lazy(__package__, ".eager_rows")
eager_sequence = lazy(__package__, ".eager_sequence")
gemm = lazy(__package__, ".gemm")
kernels = lazy(__package__, ".kernels")
row_calls = lazy(__package__, ".row_calls")
scalars = lazy(__package__, "...passes.codegen.scalars")

LARGE = eager_scalars.LARGE
_FEW, _MANY = 1 << 12, 1 << 20      # elements from which joins leave numpy, and are shared out between threads
_OFTEN = 128                        # calls of one kind on small arrays that take about as long as compiling them
_LEFT_ZEROS = 32 << 20      # bytes of zeros above which the system gives them when they are written
_FLOAT_KINDS = eager_scalars.FLOAT_KINDS
_WIDE = {d.np for d in (dt.float32, dt.float64)}
_SOME = 256                         # elements from which numpy's conversion of 16-bit floats takes longer than a kernel's call
_LOW = (dt.float16, dt.bfloat16)
_LOW_KINDS = {d.np for d in _LOW}
_CONVERTED = {d.np for d in (*_LOW, dt.float32, dt.float64, dt.int32, dt.int64, dt.bool_)}
_WORDS = {d.np for d in (dt.float32, dt.float64, dt.int32, dt.int64)}      # whose elements are copied as they are
TABLE = KernelTable()


def kernel_for(op: Op):
    """The callable that runs `op` on arrays: called like its reference."""
    if op in TABLE:
        return TABLE.make(op)
    if type(op.lower) is Scalar:
        if "exact" in op.traits:
            return eager_scalars.exact(op)
        return eager_scalars.rounded(op) if (op.lower.fn or op.name) in scalars.FUNCTIONS else op.ref
    if type(op.lower) is Reduce:
        return reduction(op)
    if type(op.lower) is Composite:
        general = _BODIES.get(op) or composite(op)
        return eager_rows.vector_norm(general) if op is moments.vector_norm else general
    return op.ref


def composite(op: Op):
    """The operators of a body (or the reference, where that takes less memory: trait "ref_first"), as one kernel where arrays
    are large, or where the same call was made so often that its compilation pays; a result that is an argument itself is
    copied, since results own their memory."""
    body = op.ref if "ref_first" in op.traits else op.lower.body
    made: Any = None
    small: float = 0    # calls on small arrays, until they are worth counting by kinds

    def run(*args, **params):
        nonlocal made, small
        size = 0
        for a in args:
            if a.__class__ is np.ndarray and a.size > size:
                size = a.size
        if size >= LARGE or small >= _OFTEN:
            made = made or eager_composites.composites_of(op)
            graph = made.find(args, params, 1 if size >= LARGE else _OFTEN)
            if graph is not None:
                return graph(args)
            if made.refused:
                small = -math.inf       # others will be refused, too
        else:
            small += 1
        result = body(*args, **params)
        for a in args:
            if result is a:
                return np.array(result)
        return result

    return run


def _dot(x, y):
    """The body of dot, on arrays."""
    if x.dtype not in _FLOAT_KINDS or x.dtype != y.dtype:
        return linalg.dot.lower.body(x, y)
    return gemm.matmul(x.reshape(1, -1), y.reshape(-1, 1)).reshape(())


def _cross(x, y, *, dim):
    """The three numbers of all vectors, one after the other, without turned copies."""
    if x.dtype not in _WIDE or x.dtype != y.dtype:
        return linalg.cross.lower.body(x, y, dim=dim)
    kind, before = dt.BY_NP[x.dtype], (slice(None),) * dim
    part, out = kernels.elementwise("cross_part", (kind,) * 4, (kind,), _cross_part), alloc.empty(x.shape, x.dtype)
    xs, ys, goals = ([t[(*before, slice(i, i + 1))] for i in range(3)] for t in (x, y, out))
    for i, goal in enumerate(goals):
        part(xs[i - 2], ys[i - 1], xs[i - 1], ys[i - 2], out=goal)
    return out


def _cross_part(k, a, b, c, d):
    return a * b - c * d


def _distances(x, y, *, ord):
    """One kernel, compiled at the first call where the differences of all pairs would take much memory."""
    args, params = (alloc.dense(x), alloc.dense(y)), {"ord": ord}
    found = None
    if x.size * y.shape[-1] >= _MANY:
        found = eager_composites.composites_of(distance.distances).find(args, params, 0)
    return _general_distances(*args, **params) if found is None else found(args)


_general_distances = composite(distance.distances)
# Of composites, where more is known than of others.
_BODIES = {linalg.dot: _dot, linalg.cross: _cross, distance.distances: _distances}


_WHOLE_INSIDE = frozenset({point_taps.taps_take, point_taps.taps_put, point_taps.taps_dots})


def kept_whole(graph) -> frozenset:
    """The composites that stay whole in compiled graphs, since eager mode runs them as one kernel of their own: those that are
    called themselves, and of what is inside of bodies those that loops would do worse."""
    return _WHOLE_INSIDE.union([n.op for n in graph.nodes if n.op in TABLE])


# Elementwise; functions of elements alone are in `eager_scalars.py`.


@TABLE.makes(ew.cast)
def cast(op: Op):
    """numpy for small arrays and for complex numbers, the compiled conversion for large ones."""

    def run(x, *, dtype):
        kind = dtype.np
        if x.size >= _SOME and (dtype in _LOW or x.dtype in _LOW_KINDS) and x.dtype in _CONVERTED and kind in _CONVERTED:
            return kernels.cast(dt.BY_NP[x.dtype], dtype)(x)
        if (x.size < LARGE and x.dtype.isbuiltin == 1 and kind.isbuiltin == 1 and x.dtype.kind != "c" and x.flags.c_contiguous):
            return x.astype(kind)
        if x.size < LARGE or dtype.is_complex or x.dtype.kind == "c":
            return op.ref(x, dtype=dtype)
        return kernels.cast(dt.BY_NP[x.dtype], dtype)(x)

    return run


# Reductions.


def reduction(op: Op):
    """A reduction over dims: of floats by the fixed tree."""
    kind, ref = op.lower.kind, op.ref

    def run(x, *, dim, keepdim):
        made = by_dtype.get(x.dtype)
        if made is None or not x.size:
            if x.dtype not in _FLOAT_KINDS or not x.size:
                return ref(x, dim=dim, keepdim=keepdim)
            made = by_dtype[x.dtype] = kernels.reduction(kind, dt.BY_NP[x.dtype]).__call__      # a method: quicker to call
        return made(x, dim, keepdim)

    by_dtype: dict = {}
    return run


# Rows.


@TABLE.makes(nn.softmax, nn.log_softmax, norm.layer_norm, norm.rms_norm, norm.layer_norm_grad, norm.rms_norm_grad)
def rows(op: Op):
    """The kernels of `eager_rows.py`."""
    return eager_rows.TABLE.make(op)


# Random numbers: the compiled stream gives the bits that ir/philox.py defines; normals differ from numpy's in the last one.


def drawn(name):
    """What gives the first elements of a key's stream, made in `out` if it is given: a contiguous array of the shape and
    dtype."""
    draw: Any = None

    def run(key, shape, out=None, span=0):
        nonlocal draw
        draw = draw or kernels.draw(name).__call__      # a method: quicker to call than an object
        (seed, call), count = key.tolist(), 1
        for n in shape:
            count *= n
        made = draw(seed, call, count, 0, span, None if out is None else out.reshape(-1))
        return made if len(shape) == 1 else made.reshape(shape)

    return run


@TABLE.makes(shape.full)
def full(op: Op):
    """Constants; large ones in memory with large pages that is used again."""

    def run(like, *, shape, value, dtype):
        size = dtype.itemsize
        for n in shape:
            size *= n
        small = size < alloc.SMALL_BYTES
        if (small and dtype.np.isbuiltin != 1) or (size > _LEFT_ZEROS and value == 0):
            return op.ref(like, shape=shape, value=value, dtype=dtype)
        out = np.empty(shape, dtype.np) if small else alloc.empty(shape, dtype.np)
        out.fill(value)
        return out

    return run


@TABLE.makes(random.uniform)
def uniform(op: Op):
    """Uniform floats."""
    made = {dt.float32: drawn("random_uniform"), dt.float64: drawn("random_uniform_double")}

    def run(key, *, shape, dtype, out=None):
        return made[dtype](key, shape, out) if dtype in made else op.ref(key, shape=shape, dtype=dtype)

    return run


@TABLE.makes(random.normal)
def normal(op: Op):
    """Normal floats; 16-bit ones are the float32 numbers, rounded."""

    single, double = drawn("random_normal"), drawn("random_normal_double")

    def run(key, *, shape, dtype, out=None):
        made = (double if dtype is dt.float64 else single)(key, shape, out)
        return made if made.dtype is dtype.np else made.astype(dtype.np)

    return run


@TABLE.makes(random.bernoulli_mask)
def bernoulli_mask(op: Op):
    """word < round(p * 2**32)"""

    def run(key, *, shape, p):
        threshold = round(p * 2**32)
        if threshold >= 2**32:
            return np.ones(shape, np.bool_)
        return row_calls.draw_mask(*key.tolist(), math.prod(shape), threshold).reshape(shape)

    return run


@TABLE.makes(random.mask_below)
def mask_below(op: Op):
    """word < bound"""

    def run(words, *, shape):
        seed, call, bound, _ = words.tolist()
        return row_calls.draw_mask(seed, call, math.prod(shape), bound).reshape(shape)

    return run


@TABLE.makes(random.randint)
def randint(op: Op):
    """Integers below the span, and `low` added to them."""

    below = drawn("random_below")

    def run(key, *, shape, low, high, dtype):
        made = below(key, shape, None, high - low)
        if low:
            made += np.int64(low)
        return made if made.dtype is dtype.np else made.astype(dtype.np)

    return run


@TABLE.makes(random.poisson, gamma.standard_gamma, counts.binomial)
def rejected(op: Op):
    """Numbers without a closed form: the reference, with compiled draws."""
    uniform, normal = (kernels.draw(f"random_{name}_double").__call__ for name in ("uniform", "normal"))
    return functools.partial(op.ref, draws=random.Draws(uniform, normal))


# Products.


@TABLE.makes(linalg.matmul)
def matmul(op: Op):
    """The generated product for floats; numpy for integers."""

    def run(x, y):
        if x.dtype in _FLOAT_KINDS and x.dtype == y.dtype:
            return gemm.matmul(x, y)
        op.infer(*[Aval(a.shape, dt.from_numpy(a.dtype)) for a in (x, y)])
        return op.ref(x, y)

    return run


@TABLE.makes(grouped.grouped_matmul)
def grouped_matmul(op: Op):
    """One generated product after the other."""
    multiply = matmul(linalg.matmul)

    def run(x, y, ends):
        op.infer(*[Aval(a.shape, dt.from_numpy(a.dtype)) for a in (x, y, ends)])
        return grouped.products(multiply, x, y, ends)

    return run


# Factorisations, and what is made of them.


@TABLE.makes(triangular.lu_factor, triangular.solve_triangular, factor.solve, factor.inv, factor.det, factor.slogdet,
              factor.cholesky, factor.qr, factor.svd, factor.svdvals, factor.eigh, factor.eigvalsh, checked.solve_ex,
              checked.inv_ex, checked.cholesky_ex, least_squares.lstsq)
def factors(op: Op):
    """The kernels of `eager_factors.py`."""
    return eager_factors.TABLE.make(op)


# Discrete Fourier transforms.


@TABLE.makes(fourier.fft, fourier.rfft, fourier.irfft)
def transforms(op: Op):
    """The kernels of `eager_fourier.py`."""
    return eager_fourier.TABLE.make(op)


@TABLE.makes(complexes.pairs)
def pairs(op: Op):
    """One copy: that is how complex numbers lie in memory."""

    def run(x):
        out = alloc.empty((*x.shape, 2), complexes.PARTS[dt.BY_NP[x.dtype]].np)
        np.copyto(out.view(x.dtype)[..., 0], x)
        return out

    return run


# Joined.


@TABLE.makes(shape.cat)
def cat(op: Op):
    """numpy where caches hold everything; larger arrays are brought to their places by all threads."""

    def run(*xs, dim):
        first = xs[0]
        kind, size = first.dtype, 0
        for x in xs:
            if x.dtype is not kind and x.dtype != kind:
                return op.ref(*xs, dim=dim)
            size += x.size
        if size < _FEW or (not dim and size * kind.itemsize < alloc.SMALL_BYTES):
            return np.concatenate(xs, dim)
        sizes, long, dense = first.shape, 0, True
        before, after = sizes[:dim], sizes[dim + 1:]
        for x in xs:
            shape = x.shape
            if len(shape) != len(sizes) or shape[:dim] != before or shape[dim + 1:] != after:
                raise ValueError("arrays of different sizes")
            long += shape[dim]
            dense = dense and x.flags.c_contiguous
        out = alloc.empty((*before, long, *after), kind)
        if size >= _MANY and kind in _WORDS:
            return _joined_by_all(xs, out, dim)
        return join_rows(xs, out, dim) if dense and dim else np.concatenate(xs, dim, out)

    return run


def _joined_by_all(xs, out, dim):
    """Copies to places of `out` by all threads."""
    place, start, copy = (slice(None),) * dim, 0, kernels.cast(dt.BY_NP[out.dtype], dt.BY_NP[out.dtype])
    for x in xs:
        end = start + x.shape[dim]
        if x.size:
            copy(x, out=out[(*place, slice(start, end))])
        start = end
    return out


_SHORT_ROW = 256        # bytes up to which a row is copied as one element
_MANY_ROWS = 256        # from which that is worth finding out how


def join_rows(xs, out, dim):
    """Rows side by side. Short ones are copied as one element of their size, where numpy would copy element by element."""
    outer = math.prod(out.shape[:dim])
    if outer < _MANY_ROWS or out.nbytes > _SHORT_ROW * outer * len(xs):
        return np.concatenate(xs, dim, out)
    rows, start = out.reshape(outer, -1).view(np.uint8), 0
    for x in xs:
        if x.size:
            row = _row_of(x.nbytes // outer)
            end = start + row.itemsize
            rows[:, start:end].view(row)[...] = x.reshape(outer, -1).view(row)
            start = end
    return out


@functools.lru_cache(512)
def _row_of(size):
    """A dtype of so many bytes."""
    return np.dtype(f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")


_COPIED = {1: dt.uint8, 2: dt.int16, 4: dt.int32, 8: dt.int64}      # elements of their size


@TABLE.makes(shape.flip)
def flip(op: Op):
    """numpy for few elements; many are read backwards in vectors."""

    def run(x, *, dims):
        word = _COPIED.get(x.itemsize)
        if x.size < _FEW or word is None:
            return op.ref(x, dims=dims)
        return kernels.cast(word, word)(np.flip(x.view(word.np), dims)).view(x.dtype)

    return run


# Orders, running sums, elements by index.


@TABLE.makes(sort.argsort, sort.arg_topk, scan.cumsum, scan.cumprod, scan.cummax, scan.cummin, scan.linear_scan,
              indexing.gather, indexing.scatter, indexing.scatter_reduce)
def order(op: Op):
    """The kernels of `eager_orders.py`."""
    return eager_orders.TABLE.make(op)


# Convolutions, pools, resampling, batch normalisation.


@TABLE.makes(point_taps.taps_take, point_taps.taps_put, point_taps.taps_dots,
              conv.conv, conv.conv_input_grad, conv.conv_weight_grad, pool.max_pool, pool.avg_pool, pool.avg_pool_grad,
              pool.plane_put, resample.resample, resample.resample_grad, resample.border_pad, resample.border_pad_grad,
              batch_norm.batch_norm, batch_norm.batch_norm_train, batch_norm.batch_norm_grad,
              batch_norm.batch_norm_relu_train, batch_norm.batch_norm_relu_grad)
def neural(op: Op):
    """The kernels of `eager_nn.py`."""
    return eager_nn.TABLE.make(op)


# Attention, recurrent layers, the linear layer, lookups.


@TABLE.makes(attention.attention, attention.attention_grad, attention_bounds.bounded_attention,
              attention_bounds.bounded_attention_grad, nn.linear, recurrent.rnn_sequence, recurrent.rnn_sequence_grad,
              recurrent.lstm_sequence, recurrent.lstm_sequence_grad, recurrent.lstm_states, recurrent.gru_sequence,
              recurrent.gru_sequence_grad, recurrent.gru_states, recurrent_packed.pack_recurrent,
              recurrent_packed.recurrent_packed, embedding.embedding, embedding.row_sums,
              embedding.bag_sums, indexing.index_put)
def sequence(op: Op):
    """The kernels of `eager_sequence.py`."""
    return eager_sequence.TABLE.make(op)


# Losses over classes.


@TABLE.makes(loss.cross_entropy, loss.nll_loss, loss.cross_entropy_grad, loss.class_share, loss.softmax_minus_onehot)
def losses(op: Op):
    """The kernels of `eager_losses.py`."""
    return eager_losses.TABLE.make(op)
