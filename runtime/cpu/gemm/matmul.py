"""Matrix products as operators, and as steps with an epilogue in their tiles."""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.aval import Aval
from ....ir.ops.linalg import products
from ....ir.registry import Registry
from ....ir.target import host
from ....passes.codegen.llvm.contract.epilogue import ColumnBias, Outside, epilogue_text
from ....passes.codegen.llvm.ir.memory_types import ELEMENT
from ....passes.layout.plain_operands import STRIDED
from ....passes.schedule.plan_steps import LINE
from ..calls import pool
from ..calls.kernel_steps import fill, move
from ..calls.operator_kernel import OperatorKernel
from ..calls.step_list import At, Code, NativeCall, Scratch
from ..compiler import compile
from ..compiler.ir_cache import Text, text_by
from ..loops import kernels
from ..memory import alloc
from . import complex_products, gemm
from .gemm import product_of
from .gemm_plan import Layout, even_depth, make_plan

MOST_TEXTS = 1024


_epilogue_texts: dict = Registry()       # (name of an epilogue, target) -> its text


_FLOATS = {d.np for d in dt.FLOATS}


def matmul(x, y):
    """Return the product: generated for floats, of real products for complex numbers, NumPy's for integers."""
    if x.dtype in _FLOATS and x.dtype == y.dtype:
        return gemm.matmul(x, y)
    _check(products.matmul, x, y)
    return complex_products.product(x, y) if x.dtype.kind == "c" else products.matmul.ref(x, y)


def _check(op, *arrays):
    """Raise what the shape rule of an operator raises for these arrays."""
    op.infer(*[None if a is None else Aval(a.shape, dt.from_numpy(a.dtype)) for a in arrays])


def grouped_matmul(x, y, ends):
    """Return one product after the other."""
    _check(products.grouped_matmul, x, y, ends)
    return products.grouped_products(matmul, x, y, ends)


def dot(op, general):
    """Return the eager product of two vectors."""

    def run(x, y):
        if x.dtype not in _FLOATS or x.dtype != y.dtype:
            return op.lower.body(x, y)
        return gemm.matmul(x.reshape(1, -1), y.reshape(-1, 1)).reshape(())

    return run


def mv(op, general):
    """Return the eager product of a matrix and a vector."""

    def run(x, y):
        if x.dtype not in _FLOATS or x.dtype != y.dtype:
            return op.lower.body(x, y)
        return gemm.matmul(x, y.reshape(-1, 1)).reshape(len(x))

    return run


def cross(op, general):
    """Return the eager cross product: the three numbers of all vectors by one kernel, without transposed copies."""

    def run(x, y, *, dim):
        if x.dtype not in _WIDE or x.dtype != y.dtype:
            return op.lower.body(x, y, dim=dim)
        kind, out, before = dt.BY_NP[x.dtype], alloc.empty(x.shape, x.dtype), (slice(None),) * dim
        parts = [t[(*before, third)] for t in (x, y, out) for third in _THIRDS]
        kernels.elementwise("cross", (kind,) * 6, (kind,) * 3, _cross_of_one).general(parts[:6], tuple(parts[6:]))
        return out

    return run


_WIDE = {d.np for d in (dt.float32, dt.float64)}
_THIRDS = tuple([slice(i, i + 1) for i in range(3)])


def _cross_of_one(k, a, b, c, d, e, f):
    return b * f - c * e, c * d - a * f, a * e - b * d


@functools.lru_cache(None)
def _product_with_bias(dtype):
    return product_of(dtype, ColumnBias(product_of(dtype).precision.b))


def linear(x, w, b):
    """Return x @ w.T + b, with the bias added to each sum before it is stored."""
    kind = x.dtype
    if not (kind in _FLOATS and kind is w.dtype and w.ndim == 2 and x.shape[-1] == w.shape[1]
            and (b is None or (b.dtype is kind and b.shape == w.shape[:1]))):
        _check(products.linear, x, w, b)
    if kind.kind == "c" and x.size and w.size:
        out = complex_products.product(x.reshape(-1, x.shape[-1]), w.T).reshape(*x.shape[:-1], w.shape[0])
        return out if b is None else np.add(out, b, out)
    if kind not in _FLOATS or not x.size or not w.size or (kind == dt.float16.np and not host().half_conversions):
        return products.linear.ref(x, w, b)
    rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
    if b is None or (len(w) == 1 and kind not in _LOW):
        out = gemm.matmul(rows, w.T)
        out = out if b is None else np.add(out, b, out)
    else:
        out = _product_with_bias(kind)(rows, w.T, None, b if b.flags.c_contiguous else np.ascontiguousarray(b))
    return out if rows is x else out.reshape(*x.shape[:-1], w.shape[0])


_LOW = (dt.float16.np, dt.bfloat16.np)


def _matmul_step(node, operands, results, epilogue=None):
    """Plan the generated product. The operands and results of an epilogue follow the result."""
    (a, b), (out,) = operands, results
    if not _takes(a, b) or len(a.shape) < 2 or len(b.shape) < 2:
        return None
    kind, words = (None, ()) if epilogue is None else _epilogue(epilogue)
    product = product_of(a.dtype, kind)
    left, right = Layout(a.shape, a.strides), Layout(b.shape, b.strides)
    plan = make_plan(left, right, Layout(out.shape, out.strides), a.dtype.itemsize, out.dtype.itemsize, product,
                     pool.get_num_threads())
    if not plan.copies_a:
        return plan.native(words)
    return _with_copy(plan, words, (1, right.transposed) if plan.swapped else (0, left), dt.BY_NP[a.dtype])


def _takes(a, b):
    return a.dtype in _FLOATS and a.dtype == b.dtype and (a.dtype != dt.float16.np or host().half_conversions)


def _linear_step(node, operands, results):
    """Plan the eager product: by rows of the weight, with the bias added before the sum is rounded."""
    (x, w, b), (out,) = operands, results
    if not _takes(x, w):
        return None
    (columns, depth), item = w.shape, x.dtype.itemsize
    rows, product = out.size // columns, product_of(x.dtype) if b is None else _product_with_bias(x.dtype)
    left, right = Layout((rows, depth), (depth * item, item)), Layout((depth, columns), (item, depth * item))
    plan = make_plan(left, right, Layout((rows, columns), (columns * item, item)), item, item, product, pool.get_num_threads())
    words = () if b is None else (At(2),)
    return _with_copy(plan, words, (0, left), dt.BY_NP[x.dtype], At(3)) if plan.copies_a else plan.native(words, out=At(3))


def _with_copy(plan, epilogue_words, copied, kind, out=None):
    """Return a product whose left operand is copied first, so that its rows are contiguous and of even length."""
    number, layout = copied
    even = even_depth(layout, kind.itemsize)
    room, start = even.strides[0] * even.shape[0], -(-plan.scratch_bytes // LINE) * LINE
    steps = [move(layout.shape, kind.itemsize, At(number), layout.strides, Scratch(start), even.strides)]
    if layout.shape[-1] % 2:
        steps.insert(0, fill(Scratch(start), room // kind.itemsize, 0, kind))
    made = plan.native(epilogue_words, left=Scratch(start), out=out)
    return NativeCall((*steps, *made.steps), start + room)


def _epilogue(epilogue):
    """Return (the product's epilogue, its operand block). A bias along the columns is added in registers, as in eager linear
    layers; anything else is a function of its own."""
    fused = epilogue.fused
    if fused.is_bias:
        return ColumnBias(ELEMENT[fused.dtype]), (At(3),)
    words: list = [Code(compile.compile_module(_text_of(fused), [fused.name])[fused.name])]
    for number, (value, _, row, batch) in enumerate(epilogue.operands, 3):
        words += [At(number), row * value.dtype.itemsize, batch * value.dtype.itemsize]
    return Outside(), tuple(words)


def _text_of(fused) -> "str | Text":
    """Return the text of an epilogue. It contains no sizes, so all bindings of an arrangement share it."""
    key = fused.name, host()
    found = _epilogue_texts.get(key)
    if found is None:
        while len(_epilogue_texts) >= MOST_TEXTS:
            _epilogue_texts.pop(next(iter(_epilogue_texts)), None)     # another thread may have removed it
        found = _epilogue_texts[key] = text_by(epilogue_text, fused, host())
    return found


OPERATORS = {
    products.matmul: OperatorKernel(matmul, _matmul_step, STRIDED),
    products.grouped_matmul: OperatorKernel(grouped_matmul),
    products.linear: OperatorKernel(linear, _linear_step),
    products.dot: OperatorKernel(body=dot),
    products.mv: OperatorKernel(body=mv),
    products.cross: OperatorKernel(body=cross),
}
