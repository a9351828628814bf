"""Entry from Python into compiled kernels: one METH_FASTCALL function in IR that serves every kernel, and call adapters.

The entry reads a *descriptor* (the kernel and its arguments), checks each argument, and lays data pointers, sizes and strides
into a block on its stack. Then it calls `void kernel(ptr block)`. That takes 60 ns for a few arrays, against microseconds
through ctypes. `runtime/cpu/calls/call.py` makes descriptors and checks the object layouts below for the running interpreter.

A *call adapter* is a function `void <name>(ptr block)` that fills the slots of a loop kernel from a block, which holds for each
array {data, sizes[rank], strides[rank] in bytes}. `rules` says where to find the value of each symbol:

    ("size", array, dim)      a size          ("stride", array, dim)   a stride, in elements
    ("sizes", array, i, j)    the product of the sizes of dims i .. j-1
"""

from .....ir.kernel.kernel import Kernel
from .....ir.target import Target
from ..ir.emit import Module
from ..ir.types import I8, I32, I64, PTR, VOID, Value, constant, null

# Descriptor: a head, then one row per argument. All offsets in bytes.
KERNEL, COUNT, RELEASE_AT, NAME, ROWS = 0, 8, 16, 24, 32
ROW_BYTES = 32
ROW_KIND, ROW_RANK, ROW_TYPE, ROW_FLAGS, ROW_BLOCK, ROW_WORDS = 0, 4, 8, 12, 16, 24
ARRAY, INTEGER, FLOAT = 0, 1, 2
BLOCK_BYTES = 1 << 15
SYMBOL = "ingot_entry"
CAPSULE = b"ingot.entry"

# Layouts of CPython objects (with GIL) and numpy arrays on 64-bit systems, checked by `runtime/cpu/calls/call.py`.
OBJECT_TYPE = 8
ARRAY_DATA, ARRAY_RANK, ARRAY_SIZES, ARRAY_STRIDES, ARRAY_DTYPE, ARRAY_FLAGS = 16, 24, 32, 40, 56, 64
DTYPE_ORDER, DTYPE_NUMBER = 26, 28


def entry_text(target: Target) -> str:
    """Return the module of `ingot_entry`: PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t count)."""
    module = Module(target)
    module.variable("_Py_NoneStruct")
    module.variable("PyExc_TypeError")
    module.variable("ingot_ndarray_type")
    capsule = module.text_constant("capsule_name", CAPSULE)
    few = module.text_constant("count_message", b"%s takes %zd arguments, got %zd")
    wrong = module.text_constant("kind_message", b"%s: argument %zd must be %s")
    f = module.function(SYMBOL, [(PTR, "self"), (PTR, "args"), (I64, "given")], PTR)
    this, args, given = f.params
    descriptor = f.call("PyCapsule_GetPointer", PTR, this, capsule)
    block, fail, fine = f.local(BLOCK_BYTES), f.new_block("fail"), f.new_block("fine")
    wanted = f.load(I64, f.at(descriptor, COUNT))
    short = f.new_block("short")
    f.jump_if(f.compare("eq", wanted, given), fine, short)
    f.place(short)
    _raise(f, few, f.load(PTR, f.at(descriptor, NAME)), wanted, given)
    f.place(fine)
    with f.loop(0, wanted, 1, [constant(I64, 0)]) as loop:
        row = f.at(descriptor, f.add(f.mul(loop.index, ROW_BYTES), ROWS))
        item = f.load(PTR, f.at(args, loop.index, PTR))
        slot = f.at(block, f.load(I64, f.at(row, ROW_BLOCK)))
        loop.next(f.max(_take_argument(f, row, item, slot, loop.index, fail), loop.carried[0]))
    _call_kernel(f, descriptor, block, loop.results[0])
    f.place(fail)
    row = f.at(descriptor, f.add(f.mul(loop.index, ROW_BYTES), ROWS))
    already = f.call("PyErr_Occurred", PTR)
    clean, dirty = f.new_block("clean"), f.new_block("dirty")
    f.jump_if(f.compare("eq", already, null()), clean, dirty)
    f.place(dirty)
    f.ret(null())
    f.place(clean)
    _raise(f, wrong, f.load(PTR, f.at(descriptor, NAME)), f.add(loop.index, 1), f.load(PTR, f.at(row, ROW_WORDS)))
    return module.text()


def _raise(f, message, *values):
    f.module.declare("PyErr_Format", PTR, [PTR, PTR], variadic=True)
    kind = f.load(PTR, Value(PTR, "@PyExc_TypeError"))
    f.do(f"call ptr (ptr, ptr, ...) @PyErr_Format({', '.join(map(str, (kind, message, *values)))})")
    f.ret(null())


def _take_argument(f, row, item, slot, number, fail):
    """Lay one argument into the block; return its number of elements (0 for a scalar)."""
    array, other, integer, real, done = (f.new_block(hint) for hint in ("array", "other", "integer", "real", "done"))
    kind = f.load(I32, f.at(row, ROW_KIND))
    f.jump_if(f.compare("eq", kind, ARRAY), array, other)
    f.place(array)
    size, array_end = _take_array(f, row, item, slot, fail)
    f.jump(done)
    f.place(other)
    f.jump_if(f.compare("eq", kind, INTEGER), integer, real)
    ends = []
    for label, call, type_ in ((integer, "PyLong_AsLongLong", I64), (real, "PyFloat_AsDouble", "double")):
        f.place(label)
        value = f.call(call, type_, item)
        suspect = f.compare("eq" if type_ == I64 else "oeq", value, -1)
        f.store(value, slot)
        check = f.new_block("check")
        f.jump_if(suspect, check, done)
        ends.append((0, f.block))
        f.place(check)
        f.jump_if(f.compare("eq", f.call("PyErr_Occurred", PTR), null()), done, fail)
        ends.append((0, check))
    f.place(done)
    return f.phi(I64, (size, array_end), *ends)


def _take_array(f, row, item, slot, fail):
    """Check an array's type, dtype, rank and flags; copy pointer, sizes and strides (only the pointer for rank -1)."""
    _demand(f, f.compare("eq", f.load(PTR, f.at(item, OBJECT_TYPE)), Value(PTR, "@ingot_ndarray_type")), fail)
    dtype = f.load(PTR, f.at(item, ARRAY_DTYPE))
    same = f.compare("eq", f.load(I32, f.at(dtype, DTYPE_NUMBER)), f.load(I32, f.at(row, ROW_TYPE)))
    native = f.compare("ne", f.load(I8, f.at(dtype, DTYPE_ORDER)), ord(">"))
    rank = f.load(I32, f.at(row, ROW_RANK))
    any_rank = f.compare("slt", rank, 0)
    ranked = f.binary("or", any_rank, f.compare("eq", f.load(I32, f.at(item, ARRAY_RANK)), rank))
    need = f.load(I32, f.at(row, ROW_FLAGS))
    flagged = f.compare("eq", f.binary("and", f.load(I32, f.at(item, ARRAY_FLAGS)), need), need)
    _demand(f, f.binary("and", f.binary("and", same, native), f.binary("and", ranked, flagged)), fail)
    f.store(f.load(PTR, f.at(item, ARRAY_DATA)), slot)
    sizes, strides = f.load(PTR, f.at(item, ARRAY_SIZES)), f.load(PTR, f.at(item, ARRAY_STRIDES))
    rank = f.max(f.cast("sext", rank, I64), 0)
    first_size, first_stride = f.at(slot, 8), f.at(slot, f.add(f.mul(rank, 8), 8))
    with f.loop(0, rank, 1, [constant(I64, 1)]) as loop:
        size = f.load(I64, f.at(sizes, loop.index, I64))
        f.store(size, f.at(first_size, loop.index, I64))
        f.store(f.load(I64, f.at(strides, loop.index, I64)), f.at(first_stride, loop.index, I64))
        loop.next(f.mul(loop.carried[0], size))
    return loop.results[0], f.block


def _demand(f, condition, fail):
    good = f.new_block("good")
    f.jump_if(condition, good, fail)
    f.place(good)


def _call_kernel(f, descriptor, block, elements):
    """Call the kernel, without the interpreter lock for many elements, and return None."""
    kernel = f.load(PTR, f.at(descriptor, KERNEL))
    large = f.compare("uge", elements, f.load(I64, f.at(descriptor, RELEASE_AT)))

    def unlocked():
        state = f.call("PyEval_SaveThread", PTR)
        f.call_pointer(kernel, "void", block)
        f.call("PyEval_RestoreThread", "void", state)

    f.choose(large, unlocked, lambda: f.call_pointer(kernel, "void", block))
    none = Value(PTR, "@_Py_NoneStruct")
    f.call("Py_IncRef", "void", none)
    f.ret(none)


MAX_SYMBOLS = 254


def write_adapter(module: Module, name: str, kernel: Kernel, ranks, rules: dict):
    """Add the adapter `name` for arrays of the given ranks, one per buffer of the kernel."""
    f = module.function(name, [(PTR, "block")])
    block, = f.params
    starts = [8 * sum(1 + 2 * rank for rank in ranks[:number]) for number in range(len(ranks))]
    slots = f.local(8 * (len(kernel.buffers) + len(kernel.symbols) + 2))
    for number, start in enumerate(starts):
        f.store(f.load(PTR, f.at(block, start)), f.at(slots, 8 * number))
    for position, symbol in enumerate(kernel.symbols, len(kernel.buffers)):
        f.store(_rule_value(f, kernel, block, starts, ranks, rules[symbol]), f.at(slots, 8 * position))
    f.call(kernel.name, VOID, slots)
    f.ret()


def _rule_value(f, kernel, block, starts, ranks, rule):
    kind, array, *dims = rule
    sizes = f.at(block, starts[array] + 8)
    if kind == "stride":
        step = f.load(I64, f.at(sizes, 8 * (ranks[array] + dims[0])))
        return f.binary("sdiv exact", step, f.index(kernel.buffers[array].dtype.itemsize))
    total = 1
    for dim in range(*dims) if kind == "sizes" else dims:
        total = f.mul(total, f.load(I64, f.at(sizes, 8 * dim)))
    return f.index(total)


def plan_adapter_text(name: str, ranks, target: Target) -> str:
    """Return a module with an adapter for kernels whose symbols are known.

    It takes arrays of the given ranks, then a plan: a 1-D i64 array of {the kernel's address, its symbols in order}.
    """
    module = Module(target)
    f = module.function(name, [(PTR, "block")])
    block, = f.params
    slots, at = f.local(8 * (len(ranks) + MAX_SYMBOLS + 2)), 0
    for number, rank in enumerate(ranks):
        f.store(f.load(PTR, f.at(block, at)), f.at(slots, 8 * number))
        at += 8 * (1 + 2 * rank)
    plan, count = f.load(PTR, f.at(block, at)), f.load(I64, f.at(block, at + 8))
    with f.loop(1, count) as loop:
        f.store(f.load(I64, f.at(plan, loop.index, I64)), f.at(slots, f.add(loop.index, len(ranks) - 1), I64))
    f.call_pointer(f.load(PTR, plan), VOID, slots)
    f.ret()
    return module.text()
