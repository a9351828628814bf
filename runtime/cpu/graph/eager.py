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

from ....ir import dtype as dt
from ....ir.dim_order import inverse
from ....ir.lazy import lazy
from ....ir.opdef.aval import Aval
from ....ir.opdef.op import Composite, Op, Reduce, Scalar
from ....ir.ops.core import complex_numbers, moments, random, reduce, scan, shape
from ....ir.ops.core import elementwise as ew
from ....ir.ops.index import indexing, sort
from ....ir.ops.linalg import checked_factorizations, determinant, eigen, factorizations, products, triangular
from ....ir.ops.math import fourier, gamma, polynomials
from ....ir.ops.nn import attention, conv, ctc, distance, embedding, loss, norm, pool, recurrent, resample, sampled_points
from ....ir.ops.nn import softmax as softmax_ops
from ....ir.ops.packed import recurrent_packed
from ....ir.ops.quantized import int8_conv, int8_linear
from ...memo.compile_threshold import LEAST
from ..calls.kernel_table import KernelTable
from ..loops import reduction_kernels
from ..loops import scalars as eager_scalars

alloc = lazy(__package__, "..memory.alloc")
complex_products = lazy(__package__, "..gemm.complex_products")
copies = lazy(__package__, "..loops.copies")
eager_draws = lazy(__package__, "..index.eager_draws")
eager_factors = lazy(__package__, "..linalg.eager_factors")
eager_fourier = lazy(__package__, "..linalg.eager_fourier")
eager_losses = lazy(__package__, "..nn.losses")
data_movement = lazy(__package__, "..loops.data_movement")
eager_nn = lazy(__package__, "..nn.eager_nn")
composites = lazy(__package__, ".composites")
eager_orders = lazy(__package__, "..index.eager_orders")
normalization = lazy(__package__, "..nn.normalization")
eager_sequence = lazy(__package__, "..nn.eager_sequence")
gemm = lazy(__package__, "..gemm.gemm")
int8_rows = lazy(__package__, "..gemm.int8_linear")
int8_windows = lazy(__package__, "..nn.int8_conv")
kernels = lazy(__package__, "..loops.kernels")
scalars = lazy(__package__, "....passes.codegen.scalars")

LARGE = eager_scalars.LARGE
_MANY = 1 << 20                     # elements of differences from which distances are compiled at the first call
_FEW = 1 << 11                      # elements from which the kernels of a body's operators take less than numpy's loops
_OFTEN = 128                        # calls of one kind on small arrays that take about as long as compiling them
_FLOAT_KINDS = eager_scalars.FLOAT_KINDS
_WIDE = {d.np for d in (dt.float32, dt.float64)}
_SOME = 256                         # elements from which numpy's conversion of 16-bit floats takes longer than a kernel's call
_LOW = (dt.float16, dt.bfloat16)
_LOW_KINDS = {d.np for d in _LOW}
_CONVERTED = {d.np for d in (*_LOW, dt.float32, dt.float64, dt.int32, dt.int64, dt.bool_)}
TABLE = KernelTable()


def kernel_for(op: Op):
    """The callable that runs `op` on arrays: called like its reference."""
    if "one_by_one" in op.traits:
        return _each
    if op in TABLE:
        return TABLE.make(op)
    if type(op.lower) is Scalar:
        if "exact" in op.traits:
            return eager_scalars.exact(op)
        name = op.lower.fn or op.name
        return eager_scalars.rounded(op) if name in scalars.FUNCTIONS or name in scalars.COMPLEX else op.ref
    if type(op.lower) is Reduce:
        return reduction_kernels.of_any(op)
    if type(op.lower) is Composite:
        general = _BODIES.get(op) or composite(op)
        return normalization.vector_norm(general) if op is moments.vector_norm else general
    return op.ref


def composite(op: Op):
    """The operators of a body, as one kernel where arrays are large, or where the same call was made so often that its
    compilation pays; a result that is an argument itself is copied, since results own their memory. What is made of elements
    alone lies as these do, everything else row by row. The reference instead of operators where that takes less: trait
    "ref_first", for functions of elements those of few, or of no floats."""
    body = op.lower.body
    made: Any = None
    small: float = 0    # calls on small arrays, until they are worth counting by kinds
    of_elements = op.keeps_order
    few = 0 if "ref_first" not in op.traits else _FEW if of_elements else math.inf

    def run(*args, **params):
        nonlocal made, small
        size, order, lies = 0, None, True
        for a in args:
            if a.__class__ is np.ndarray:
                lies = lies and a.flags.c_contiguous
                if a.size > size:
                    size = a.size
        if size >= LARGE or small >= LEAST:
            made = made or composites.composites_of(op)
            graph = None
            if not lies:
                graph = None if of_elements or size < LARGE else made.find_lying(args, params)
                if graph is None:
                    order, args = composites.in_order(args, of_elements)
            if graph is None:
                graph = made.find(args, params, 1 if size >= LARGE else _OFTEN)
            if graph is not None:
                return graph(args) if order is None else graph(args).transpose(inverse(order))
            if made.refused:
                small = -math.inf       # others will be refused, too
        else:
            small += 1
        result = (op.ref if size < few or (few and args[0].dtype not in _FLOAT_KINDS) else body)(*args, **params)
        if of_elements:
            for a in args:
                if result is a:
                    result = np.array(result)
            return result if order is None else result.transpose(inverse(order))
        return _own(result, args)

    return run


def _each(*arrays):
    """Arrays in memory of their own, each as it lies."""
    return tuple(map(np.array, arrays))


def _own(result, args):
    """A result, or several, row by row in memory of their own."""
    if type(result) is tuple:
        return tuple([_own(r, args) for r in result])
    for a in args:
        if result is a:
            return np.array(result, order="C")
    return result if result.flags.c_contiguous else copies.dense(result)


def _dot(x, y):
    """The body of dot, on arrays."""
    if x.dtype not in _FLOAT_KINDS or x.dtype != y.dtype:
        return products.dot.lower.body(x, y)
    return gemm.matmul(x.reshape(1, -1), y.reshape(-1, 1)).reshape(())


def _mv(x, y):
    """The body of mv, on arrays."""
    if x.dtype not in _FLOAT_KINDS or x.dtype != y.dtype:
        return products.mv.lower.body(x, y)
    return gemm.matmul(x, y.reshape(-1, 1)).reshape(len(x))


def _cross(x, y, *, dim):
    """The three numbers of all vectors by one kernel, without turned copies."""
    if x.dtype not in _WIDE or x.dtype != y.dtype:
        return products.cross.lower.body(x, y, dim=dim)
    kind, out, before = dt.BY_NP[x.dtype], alloc.empty(x.shape, x.dtype), (_ALL,) * dim
    parts = [t[(*before, third)] for t in (x, y, out) for third in _THIRDS]
    kernels.elementwise("cross", (kind,) * 6, (kind,) * 3, _cross_of_one).general(parts[:6], tuple(parts[6:]))
    return out


_ALL, _THIRDS = slice(None), tuple([slice(i, i + 1) for i in range(3)])


def _cross_of_one(k, a, b, c, d, e, f):
    return b * f - c * e, c * d - a * f, a * e - b * d


def _of_pairs(op: Op):
    """One kernel, compiled at the first call where the differences of all pairs would take much memory."""
    general = composite(op)

    def run(*arrays, ord):
        *_, x, y = args = [alloc.dense(a) for a in arrays]
        found = None
        if x.size * y.shape[-1] >= _MANY:
            found = composites.composites_of(op).find(tuple(args), {"ord": ord}, 0)
        return general(*args, ord=ord) if found is None else found(args)

    return run


# Of composites, where more is known than of others.
_BODIES = {products.dot: _dot, products.mv: _mv, products.cross: _cross,
           **{op: _of_pairs(op) for op in (distance.distances, distance.distances_grad)}}


@functools.cache
def _whole_inside() -> frozenset:
    return frozenset([op for op in TABLE if "whole_inside" in op.traits])


def kept_whole(graph) -> frozenset:
    """The composites that stay whole in compiled graphs, since eager mode runs them as one kernel of their own: those that are
    called themselves, and of what is inside of bodies those that loops would do worse (trait "whole_inside")."""
    return _whole_inside().union([n.op for n in graph.nodes if n.op in TABLE and "renamed" not in n.op.traits])


# Elementwise; functions of elements alone are in `scalars.py`.


@TABLE.makes(ew.cast)
def cast(op: Op):
    """numpy for small arrays, the compiled conversion for large ones."""

    def run(x, *, dtype):
        kind = dtype.np
        if x.size >= _SOME and (dtype in _LOW or x.dtype in _LOW_KINDS) and x.dtype in _CONVERTED and kind in _CONVERTED:
            return kernels.cast(dt.BY_NP[x.dtype], dtype)(x)
        if (x.size < LARGE and x.dtype.isbuiltin == 1 and kind.isbuiltin == 1 and x.dtype.kind != "c" and x.flags.c_contiguous):
            return x.astype(kind)
        if x.size < LARGE:
            return op.ref(x, dtype=dtype)
        return kernels.cast(dt.BY_NP[x.dtype], dtype)(x)

    return run


@TABLE.makes(ew.polygamma)
def polygamma(op: Op):
    """The compiled kernel of a number and an array, for floating point arrays."""

    def run(x, *, n):
        if x.dtype not in _FLOAT_KINDS:
            return op.ref(x, n=n)
        return kernels.function("polygamma", *[dt.BY_NP[x.dtype]] * 2)(np.asarray(n).astype(x.dtype), x)

    return run


@TABLE.makes(polynomials.polynomial)
def polynomial(op: Op):
    """The compiled kernel of a family."""
    return lambda x, n, *, family: kernels.function(family, *[dt.BY_NP[x.dtype]] * 2)(x, n)


# Reductions.


@TABLE.makes(reduce.int_sum)
def int_sum(op: Op):
    """The sum of integers and bools."""
    return reduction_kernels.of_whole_numbers("sum", op.ref)


# Rows.


@TABLE.makes(softmax_ops.softmax, softmax_ops.log_softmax, norm.layer_norm, norm.rms_norm, norm.layer_norm_grad,
             norm.rms_norm_grad)
def rows(op: Op):
    """The kernels of `normalization.py`."""
    return normalization.TABLE.make(op)


# Products.


@TABLE.makes(products.matmul)
def matmul(op: Op):
    """The generated product for floats, and for complex numbers; numpy for integers."""

    def run(x, y):
        if x.dtype in _FLOAT_KINDS and x.dtype == y.dtype:
            return gemm.matmul(x, y)
        op.infer(*[Aval(a.shape, dt.from_numpy(a.dtype)) for a in (x, y)])
        return complex_products.product(x, y) if x.dtype.kind == "c" else op.ref(x, y)

    return run


@TABLE.makes(products.grouped_matmul)
def grouped_matmul(op: Op):
    """One generated product after the other."""
    multiply = matmul(products.matmul)

    def run(x, y, ends):
        op.infer(*[Aval(a.shape, dt.from_numpy(a.dtype)) for a in (x, y, ends)])
        return products.grouped_products(multiply, x, y, ends)

    return run


@TABLE.makes(int8_linear.linear_int8)
def linear_int8(op: Op):
    """Rows quantised, then products of bytes."""
    return lambda x, weight, scale, bias: int8_rows.linear(x, weight, scale, bias)


@TABLE.makes(int8_conv.conv_int8, int8_conv.depthwise_int8)
def windows_of_bytes(op: Op):
    """Windows over bytes."""
    return lambda *operands, **params: int8_windows.conv(*operands, **params)


# Factorisations, and what is made of them.


@TABLE.makes(triangular.lu_factor, triangular.solve_triangular, factorizations.solve, factorizations.inv, determinant.det,
             determinant.cofactor, determinant.slogdet, factorizations.cholesky, factorizations.qr, factorizations.svd,
             factorizations.svdvals, factorizations.eigh,
             factorizations.eigvalsh, factorizations.pinv, checked_factorizations.solve_ex, checked_factorizations.inv_ex,
             checked_factorizations.cholesky_ex, factorizations.lstsq,
             eigen.eig, eigen.eigvals)
def factors(op: Op):
    """The kernels of `eager_factors.py`."""
    return eager_factors.TABLE.make(op)


# Discrete Fourier transforms.


@TABLE.makes(fourier.fft, fourier.rfft, fourier.irfft)
def transforms(op: Op):
    """The kernels of `eager_fourier.py`."""
    return eager_fourier.TABLE.make(op)


# Random numbers.


@TABLE.makes(random.uniform, random.normal, random.bernoulli_mask, random.mask_below, random.randint, random.poisson,
              gamma.standard_gamma, random.binomial)
def draws(op: Op):
    """The streams of `eager_draws.py`."""
    return eager_draws.TABLE.make(op)


# What only moves elements.


@TABLE.makes(shape.contiguous, shape.full, shape.cat, shape.flip, shape.pad, complex_numbers.pairs, complex_numbers.of_pairs)
def moves(op: Op):
    """The copies of `data_movement.py`."""
    return data_movement.TABLE.make(op)


# Orders, running sums, elements by index.


@TABLE.makes(sort.argsort, sort.arg_topk, sort.searchsorted, scan.cumsum, scan.cumprod, scan.cummax, scan.cummin,
             scan.products_of_others, scan.linear_scan, scan.logcumsumexp, indexing.gather, indexing.index, indexing.scatter,
             indexing.scatter_reduce)
def order(op: Op):
    """The kernels of `eager_orders.py`."""
    return eager_orders.TABLE.make(op)


# Convolutions, pools, resampling, batch normalisation.


@TABLE.makes(sampled_points.taps_take, sampled_points.taps_put, sampled_points.taps_dots, conv.conv, conv.conv_input_grad,
              conv.conv_weight_grad, pool.max_pool, pool.adaptive_max_pool, pool.avg_pool, pool.avg_pool_grad, pool.plane_put,
              pool.max_pool_grad, resample.resample, resample.resample_grad, resample.border_pad, resample.border_pad_grad,
              norm.batch_norm, norm.batch_norm_train, norm.batch_norm_grad,
              norm.batch_norm_relu_train, norm.batch_norm_relu_grad)
def neural(op: Op):
    """The kernels of `eager_nn.py`."""
    return eager_nn.TABLE.make(op)


# Attention, recurrent layers, the linear layer, lookups.


@TABLE.makes(attention.attention, attention.attention_grad, attention.bounded_attention,
              attention.bounded_attention_grad, int8_linear.recurrent_int8, products.linear,
              recurrent.rnn_sequence, recurrent.rnn_sequence_grad,
              recurrent.lstm_sequence, recurrent.lstm_sequence_grad, recurrent.lstm_states, recurrent.gru_sequence,
              recurrent.gru_sequence_grad, recurrent.gru_states, recurrent_packed.pack_recurrent,
              recurrent_packed.recurrent_packed, embedding.embedding, embedding.row_sums,
              embedding.bag_sums, embedding.scaled_bag_sums, indexing.index_put)
def sequence(op: Op):
    """The kernels of `eager_sequence.py`."""
    return eager_sequence.TABLE.make(op)


# Losses over classes.


@TABLE.makes(loss.cross_entropy, loss.nll_loss, loss.cross_entropy_grad, loss.class_share, loss.softmax_minus_onehot,
              ctc.ctc_loss, ctc.ctc_loss_grad)
def losses(op: Op):
    """The kernels of `losses.py`."""
    return eager_losses.TABLE.make(op)
