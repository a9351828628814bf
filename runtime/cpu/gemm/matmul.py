"""Matrix products as steps of a native call, alone and with what follows them in their tiles."""

from ....ir import dtype as dt
from ....ir.ops.linalg import products
from ....ir.ops.quantized import int8_linear
from ....ir.target import host
from ....passes.codegen.llvm.contract import gemm as codegen
from ....passes.codegen.llvm.contract.epilogue import ColumnBias, Outside
from ....passes.codegen.llvm.ir.memory_types import ELEMENT
from ....passes.layout.plain_operands import STRIDED
from ....passes.schedule.plan_steps import LINE
from ..calls import pool
from ..calls.kernel_steps import fill, move
from ..calls.lowering_rules import native
from ..calls.step_list import At, Code, NativeCall, NativeStep, Own, Scratch, Table
from ..compiler import compile
from ..compiler.ir_cache import Text, text_by
from . import int8_linear as int8_rows
from .gemm import product_of
from .gemm_plan import Layout, Plan, even_depth, make_plan

MOST_TEXTS = 1024
_texts: dict = {}       # (name of an epilogue, target) -> its text
_FLOATS = {d.np for d in dt.FLOATS}


@native(products.matmul, reads=STRIDED)
def matmul(node, operands, results, epilogue=None):
    """The generated product. What an epilogue reads and writes follows the result among the operands."""
    (a, b), (out,) = operands, results
    if not _takes(a, b) or len(a.shape) < 2 or len(b.shape) < 2:
        return None
    kind, words = (None, ()) if epilogue is None else _epilogue(epilogue)
    product = product_of(a.dtype, kind)
    left, right = Layout(a.shape, a.strides), Layout(b.shape, b.strides)
    plan = make_plan(left, right, Layout(out.shape, out.strides), a.dtype.itemsize, out.dtype.itemsize, product,
                     pool.get_num_threads())
    if not plan.copies_a:
        return call_of(plan, words)
    return _with_copy(plan, words, (1, right.turned) if plan.swapped else (0, left), dt.BY_NP[a.dtype])


@native(int8_linear.linear_int8)
def linear_int8(node, operands, results):
    """Rows quantised, then products of bytes."""
    x, weight, _, bias = operands
    depth, biased = weight.shape[1], bias is not None
    plan = int8_rows.plan(x.size // depth, weight.shape[0], depth, biased, pool.get_num_threads())
    return plan.native([0, 1, 2, 3 if biased else None, 4])


def _takes(a, b):
    return a.dtype in _FLOATS and a.dtype == b.dtype and (a.dtype != dt.float16.np or host().half_conversions)


@native(products.linear)
def linear(node, operands, results):
    """The product that eager linear layers are: with the rows of the weight, the bias added before the sum is rounded."""
    (x, w, b), (out,) = operands, results
    if not _takes(x, w):
        return None
    (columns, depth), item = w.shape, x.dtype.itemsize
    rows, kind = out.size // columns, None if b is None else ColumnBias(product_of(x.dtype).precision.b)
    left, right = Layout((rows, depth), (depth * item, item)), Layout((depth, columns), (item, depth * item))
    plan = make_plan(left, right, Layout((rows, columns), (columns * item, item)), item, item, product_of(x.dtype, kind),
                     pool.get_num_threads())
    words = () if b is None else (At(2),)
    return _with_copy(plan, words, (0, left), dt.BY_NP[x.dtype], At(3)) if plan.copies_a else call_of(plan, words, out=At(3))


def _with_copy(plan, epilogue_words, copied, kind, out=None):
    """A product whose left operand is copied first, so that its rows are contiguous and of even length."""
    number, layout = copied
    even = even_depth(layout, kind.itemsize)
    room, start = even.strides[0] * even.shape[0], -(-plan.scratch_bytes // LINE) * LINE
    steps = [move(layout.shape, kind.itemsize, At(number), layout.strides, Scratch(start), even.strides)]
    if layout.shape[-1] % 2:
        steps.insert(0, fill(Scratch(start), room // kind.itemsize, 0, kind))
    made = call_of(plan, epilogue_words, left=Scratch(start), out=out)
    return NativeCall((*steps, *made.steps), start + room)


def _epilogue(epilogue):
    """(the product's epilogue, its operand block): a bias along the columns is added in registers, as eager linear layers do
    it; anything else is a function of its own."""
    fused = epilogue.fused
    if fused.is_bias:
        return ColumnBias(ELEMENT[fused.dtype]), (At(3),)
    words: list = [Code(compile.compile_module(_text_of(fused), [fused.name])[fused.name])]
    for number, (value, _, row, batch) in enumerate(epilogue.operands, 3):
        words += [At(number), row * value.dtype.itemsize, batch * value.dtype.itemsize]
    return Outside(), tuple(words)


def _text_of(fused) -> "str | Text":
    """The text of an epilogue. It knows no sizes, so it is the same wherever an arrangement is bound to others."""
    key = fused.name, host()
    found = _texts.get(key)
    if found is None:
        while len(_texts) >= MOST_TEXTS:
            del _texts[next(iter(_texts))]
        found = _texts[key] = text_by(type(fused).text, fused, host())
    return found


def call_of(plan: Plan, epilogue_words=(), left=None, right=None, out=None) -> NativeCall:
    """A planned product on operands 0 and 1 to operand 2, or on what lies elsewhere."""
    first, second = (1, 0) if plan.swapped else (0, 1)
    named = dict(zip(codegen.PLAN_WORDS, plan.words))
    named |= {"a": left or At(first), "b": right or At(second), "c": out or At(2),
              "scratch": Scratch() if plan.scratch_bytes else 0,
              "operands": Own(len(codegen.WORDS)) if epilogue_words else 0,
              "offsets": 0 if plan.table is None else Table(plan.table)}
    words = (*[named[name] for name in codegen.WORDS], *epilogue_words)
    step = NativeStep(named["task"], words, max(1, named["chunks"]))
    return NativeCall((step,), plan.scratch_bytes)
