"""Which compiled kernel runs an operator in eager mode.

Traced code and eager code give the same bits because both come here for everything that numpy would round differently:
functions such as exp, sums, softmax, norms. Operators with one right answer (marked "exact") stay with numpy while arrays
are small, where its call is cheaper, and take the compiled kernel, with threads and reused memory, when they are large.
A composite without a kernel of its own runs as the operators of its body, as the decompose pass makes it.
"""

import inspect
import math
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.aval import Aval
from ...ir.lazy import lazy
from ...ir.op import Composite, Op, Reduce, Scalar
from ...ir.ops import (
    attention,
    batch_norm,
    conv,
    embedding,
    indexing,
    linalg,
    loss,
    nn,
    norm,
    pool,
    random,
    recurrent,
    recurrent_packed,
    scan,
    shape,
    sort,
)
from ...ir.ops import elementwise as ew
from .kernel_table import KernelTable

alloc = lazy(__package__, ".alloc")
eager_nn = lazy(__package__, ".eager_nn")
eager_composites = lazy(__package__, ".eager_composites")
eager_orders = lazy(__package__, ".eager_orders")
eager_rows = lazy(__package__, ".eager_rows")
eager_sequence = lazy(__package__, ".eager_sequence")
gemm = lazy(__package__, ".gemm")
kernels = lazy(__package__, ".kernels")
scalars = lazy(__package__, "...passes.codegen.scalars")

LARGE = 1 << 15     # elements from which exact operators leave numpy
_LEFT_ZEROS = 32 << 20      # bytes of zeros above which the system gives them when they are written
_FLOAT_KINDS = {d.np for d in dt.FLOATS}
_WORDS = {d.np for d in (dt.float32, dt.float64, dt.int32, dt.int64)}      # whose elements are copied as they are
_WHOLE = 1 << 53    # integers below are exact as doubles
TABLE = KernelTable()


def kernel_for(op: Op):
    """The callable that runs `op` on arrays: called like its reference."""
    if op in TABLE:
        return TABLE.make(op)
    if type(op.lower) is Scalar:
        if "exact" in op.traits:
            return exact_scalar(op)
        return scalar(op) if (op.lower.fn or op.name) in scalars.FUNCTIONS else op.ref
    if type(op.lower) is Reduce:
        return reduction(op)
    if type(op.lower) is Composite:
        return composite(op)
    return op.ref


def composite(op: Op):
    """The operators of a body (or the reference, where that takes less memory: trait "ref_first"), as one kernel where arrays
    are large; a result that is an argument itself is copied, since results own their memory."""
    body = op.ref if "ref_first" in op.traits else op.lower.body
    made: Any = None

    def run(*args, **params):
        nonlocal made
        for a in args:
            if a.__class__ is np.ndarray and a.size >= LARGE:
                made = made or eager_composites.Composites(op)
                graph = made.find(args, params)
                if graph is not None:
                    return graph(args)
                break
        result = body(*args, **params)
        for a in args:
            if result is a:
                return np.array(result)
        return result

    return run


def has_own_kernel(op: Op) -> bool:
    """Whether a composite runs as one kernel of its own, and so must stay whole in traced code."""
    return op in TABLE


def is_floating(*arrays) -> bool:
    """Whether all arrays (numbers and None aside) are of a floating point type that kernels are generated for."""
    return not any([hasattr(a, "dtype") and a.dtype not in _FLOAT_KINDS for a in arrays])  # noqa: C419  (quicker)


# Elementwise.


class ScalarKernels:
    """The compiled kernels of one scalar function, by the dtypes of its operands."""

    def __init__(self, op: Op):
        self.name = op.lower.fn or op.name
        self.made: dict = {}

    @property
    def exists(self) -> bool:
        """Whether the code generator has this function."""
        return self.name in scalars.FUNCTIONS

    def __call__(self, *args):
        for a in args:
            if a.__class__ is not np.ndarray:
                return self._general(args)
        made = self.made.get(tuple([a.dtype for a in args]))
        return made(*args) if made is not None else self._general(args)

    def _general(self, args):
        """Numbers take the dtype of the arrays beside them (the last one, since `where` has its condition first)."""
        like = next(a.dtype for a in reversed(args) if hasattr(a, "dtype"))
        arrays = [np.asarray(a) if hasattr(a, "dtype") else np.asarray(a).astype(like) for a in args]
        key = tuple([a.dtype for a in arrays])
        if key not in self.made:
            self.made[key] = kernels.function(self.name, *map(dt.from_numpy, key))
        return self.made[key](*arrays)


def scalar(op: Op):
    """A function that numpy rounds differently: always the compiled kernel, for floating point operands."""
    compiled, ref = ScalarKernels(op), op.ref
    if any(p.kind is p.KEYWORD_ONLY for p in inspect.signature(op.infer).parameters.values()):
        return ref

    def run(*args):
        return compiled(*args) if is_floating(*args) else ref(*args)

    def run_one(x):
        if x.__class__ is not np.ndarray:
            x = np.asarray(x)
        made = by_dtype.get(x.dtype)
        if made is None:
            if x.dtype not in _FLOAT_KINDS:
                return ref(x)
            made = by_dtype[x.dtype] = kernels.function(compiled.name, dt.from_numpy(x.dtype)).one
        return made(x)

    by_dtype: dict = {}
    several = len(inspect.signature(op.infer).parameters) > 1 or not isinstance(op.vjp, tuple) or len(op.vjp) > 1
    return run if several else run_one


def exact_scalar(op: Op):
    """A function with one right answer: numpy for small arrays, the compiled kernel for large ones."""
    compiled, ref, quick = ScalarKernels(op), op.ref, op.quick
    made = compiled.made                             # what was called before on large arrays, by their dtypes
    plain: Any = getattr(ref, "plain", None)         # what the reference calls for arrays that need no conversion
    conditions = 1 if op is ew.where else 0          # operands that are bool, before those that are floating

    def run(*args, **params):
        values = args[conditions:]
        for first in values:
            if hasattr(first, "dtype"):
                break
        else:
            return ref(*args, **params)
        if first.size >= LARGE and not params and is_floating(*values) and compiled.exists:
            return compiled(*args)
        return quick(*args) if quick is not None and first.dtype.kind == "f" else ref(*args, **params)

    def run_one(x):
        if x.__class__ is np.ndarray:
            if x.size >= LARGE:
                found = made.get((x.dtype,))
                return run(x) if found is None else found(x)
            if x.dtype.kind == "f":
                return quick(x)
        return run(x)

    def run_plain(x):
        if x.__class__ is np.ndarray:
            if x.size >= LARGE:
                found = made.get((x.dtype,))
                return run(x) if found is None else found(x)
            if x.dtype.kind == "f" and x.itemsize > 2:
                return plain(x)
        return run(x)

    def run_where(condition, x, y):
        if condition.__class__ is bool:         # of numbers, which would take the dtype of the arrays
            condition = np.asarray(condition)
        a, b = (x, y) if x.__class__ is np.ndarray else (y, x)
        if a.__class__ is b.__class__ is condition.__class__ is np.ndarray and a.size >= LARGE:
            found = made.get((condition.dtype, a.dtype, b.dtype))
            return run(condition, x, y) if found is None else found(condition, x, y)
        if a.__class__ is not np.ndarray or a.size >= LARGE or a.dtype.kind != "f" or condition.__class__ is not np.ndarray:
            return run(condition, x, y)
        if b.__class__ is float or (b.__class__ is int and -_WHOLE < b < _WHOLE):
            b = a.dtype.type(b)
        elif b.__class__ is not np.ndarray or b.dtype is not a.dtype:
            return run(condition, x, y)
        return np.where(condition, a, b) if a is x else np.where(condition, b, a)

    if conditions:
        return run_where
    if plain is not None and quick is None and len(inspect.signature(plain).parameters) == 1:
        return run_plain

    def run_two(x, y):
        a, b = (x, y) if x.__class__ is np.ndarray else (y, x)
        if a.__class__ is np.ndarray:
            if a.size >= LARGE:
                found = made.get((a.dtype, b.dtype)) if b.__class__ is np.ndarray else None
                return run(x, y) if found is None else found(x, y)
            if a.dtype.kind == "f" or (b.__class__ is np.ndarray and a.dtype is b.dtype and a.dtype.kind in "biu"):
                return quick(x, y)
        return run(x, y)

    return run if quick is None else {1: run_one, 2: run_two}.get(quick.nin, run)


@TABLE.makes(ew.cast)
def cast(op: Op):
    """numpy for small arrays and for complex numbers, the compiled conversion for large ones."""

    def run(x, *, dtype):
        if x.size < LARGE or dtype.is_complex or x.dtype.kind == "c":
            return op.ref(x, dtype=dtype)
        return kernels.cast(dt.BY_NP[x.dtype], dtype)(x)

    return run


# Reductions.


def reduction(op: Op):
    """A reduction over dims: sums and products of floats by the fixed tree; others where arrays are large."""
    kind, ref, exact = op.lower.kind, op.ref, "exact" in op.traits

    def run(x, *, dim, keepdim):
        if x.dtype not in _FLOAT_KINDS or not x.size or (exact and x.size < LARGE):
            return ref(x, dim=dim, keepdim=keepdim)
        made = by_dtype.get(x.dtype)
        if made is None:
            made = by_dtype[x.dtype] = kernels.reduction(kind, dt.BY_NP[x.dtype])
        return made(x, dim, keepdim)

    by_dtype: dict = {}
    return run


# Rows.


@TABLE.makes(nn.softmax, nn.log_softmax, norm.layer_norm, norm.rms_norm, norm.layer_norm_grad, norm.rms_norm_grad)
def rows(op: Op):
    """The kernels of `eager_rows.py`."""
    return eager_rows.TABLE.make(op)


# Random numbers: the compiled stream gives the bits that ir/philox.py defines; normals differ from numpy's in the last one.


def drawn(name, key, shape):
    """The first elements of a key's stream."""
    seed, call = random.stream(key)
    return kernels.draw(name)(seed, call, random.size_of(shape)).reshape(shape)


@TABLE.makes(shape.full)
def full(op: Op):
    """Constants; large ones in memory with large pages that is used again."""

    def run(like, *, shape, value, dtype):
        size = math.prod(shape) * dtype.itemsize
        if size < alloc.SMALL_BYTES or (size > _LEFT_ZEROS and value == 0):
            return op.ref(like, shape=shape, value=value, dtype=dtype)
        out = alloc.empty(tuple(shape), dtype.np)
        out.fill(value)
        return out

    return run


@TABLE.makes(random.uniform)
def uniform(op: Op):
    """Uniform floats."""
    made = {dt.float32: "random_uniform", dt.float64: "random_uniform_double"}

    def run(key, *, shape, dtype):
        return drawn(made[dtype], key, shape) if dtype in made else op.ref(key, shape=shape, dtype=dtype)

    return run


@TABLE.makes(random.normal)
def normal(op: Op):
    """Normal floats; 16-bit ones are the float32 numbers, rounded."""

    def run(key, *, shape, dtype):
        name = "random_normal_double" if dtype is dt.float64 else "random_normal"
        return drawn(name, key, shape).astype(dtype.np, copy=False)

    return run


@TABLE.makes(random.bernoulli_mask)
def bernoulli_mask(op: Op):
    """word < round(p * 2**32)"""

    def run(key, *, shape, p):
        threshold = round(p * 2**32)
        return drawn("random_bits", key, shape) < threshold if threshold < 2**32 else np.ones(shape, np.bool_)

    return run


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


# Joined.


@TABLE.makes(shape.cat)
def cat(op: Op):
    """numpy where caches hold everything; larger arrays are brought to their places by all threads."""

    def run(*xs, dim):
        kind, sizes, size = xs[0].dtype, xs[0].shape, 0
        for x in xs:
            size += x.size
        if size < 1 << 20 or kind not in _WORDS or any([x.dtype != kind for x in xs]):  # noqa: C419  (quicker than a generator)
            return op.ref(*xs, dim=dim)
        out = alloc.empty((*sizes[:dim], sum([x.shape[dim] for x in xs]), *sizes[dim + 1:]), kind)
        place, start, copy = (slice(None),) * dim, 0, kernels.cast(dt.BY_NP[kind], dt.BY_NP[kind])
        for x in xs:
            end = start + x.shape[dim]
            if x.size:
                copy(x, out=out[(*place, slice(start, end))])
            start = end
        return out

    return run


# Orders, running sums, elements by index.


@TABLE.makes(sort.argsort, sort.arg_topk, scan.cumsum, indexing.gather, indexing.scatter)
def order(op: Op):
    """The kernels of `eager_orders.py`."""
    return eager_orders.TABLE.make(op)


# Convolutions, pools, batch normalisation.


@TABLE.makes(conv.conv, conv.conv_input_grad, conv.conv_weight_grad, pool.max_pool, pool.avg_pool, pool.avg_pool_grad,
              pool.plane_put, batch_norm.batch_norm, batch_norm.batch_norm_train, batch_norm.batch_norm_grad,
              batch_norm.batch_norm_relu_train, batch_norm.batch_norm_relu_grad)
def neural(op: Op):
    """The kernels of `eager_nn.py`."""
    return eager_nn.TABLE.make(op)


# Attention, recurrent layers, the linear layer, lookups, losses.


@TABLE.makes(attention.attention, attention.attention_grad, nn.linear, recurrent.rnn_sequence, recurrent.rnn_sequence_grad,
              recurrent.lstm_sequence, recurrent.lstm_sequence_grad, recurrent.lstm_states, recurrent.gru_sequence,
              recurrent.gru_sequence_grad, recurrent.gru_states, recurrent_packed.pack_recurrent,
              recurrent_packed.recurrent_packed, embedding.embedding, embedding.row_sums, indexing.index_put,
              loss.cross_entropy, loss.class_share, loss.softmax_minus_onehot)
def sequence(op: Op):
    """The kernels of `eager_sequence.py`."""
    return eager_sequence.TABLE.make(op)
