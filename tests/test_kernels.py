"""Compiled kernels: the same bits on every instruction set, layout, shape and thread count; values against numpy."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.errors import ArgumentError, DTypeError, GraphError
from ingot.ir.kernel import Buffer, Dim, Instr, Kernel, Program, Slot, Stage, Step, verify
from ingot.ir.kernel_builder import KernelBuilder
from ingot.ir.kernel_reference import run_reference
from ingot.ir.target import cpu, supports
from ingot.passes.codegen import library, scalars
from ingot.passes.codegen.llvm.kernels import kernel_text, strategy
from ingot.passes.codegen.llvm.programs import program_text
from ingot.runtime.cpu import compile as compiler
from ingot.runtime.cpu import kernels, pool

LEVELS = [level for level in ("x86-64-v4", "x86-64-v3", "x86-64") if supports(cpu(level))]
S = scalars.NumpyBuilder()


def run(kernel, arrays, level=None, **symbols):
    """Compiles a kernel for a CPU level and runs it on arrays, in place."""
    target = cpu(level) if level else None
    text = kernel_text(kernel, target or kernels.host())
    address = compiler.compile_module(text, [kernel.name], target)[kernel.name]
    slots = [a.ctypes.data for a in arrays] + [symbols[s] for s in kernel.symbols] + [0, 0]
    block = (ctypes.c_int64 * len(slots))(*slots)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(block))


def meaning(name, *arrays):
    return S.value(scalars.apply(S, name, *(S.value(a) for a in arrays)).ref).ref


def same(a, b):
    """Equal bits, any nan equal to any other."""
    return bool(((a == b) & (np.signbit(a) == np.signbit(b)) | ((a != a) & (b != b))).all())


def pointwise(name, *dtypes):
    k = KernelBuilder(name)
    k.parallel("i", "n")
    inputs = [k.input(f"x{j}", d, (1,)) for j, d in enumerate(dtypes)]
    with k.point():
        out = k.call(name, *(k.load(b) for b in inputs))
        k.output("y", out.dtype, (1,))
        k.store(out, "y")
    return k.build()


def samples(dtype, n, seed):
    rng = np.random.default_rng(seed)
    if dtype is dt.bool_:
        return rng.random(n) < 0.5
    if dtype.is_integer:
        info = np.iinfo(dtype.np)
        ends = np.array([0, 1, info.min, info.max], dtype.np)
        return np.concatenate([rng.integers(info.min, info.max, n - 4, dtype.np), ends])
    with np.errstate(all="ignore"):
        special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, -3.5]).astype(dtype.np)
        wide = (rng.standard_normal(n - 8) * np.exp2(rng.integers(-12, 12, n - 8))).astype(dtype.np)
    return np.concatenate([wide, special])


FUNCTIONS = [("exp", 1), ("tanh", 1), ("log", 1), ("sin", 1), ("gelu", 1), ("lgamma", 1), ("pow", 2), ("fmod", 2), ("atan2", 2),
             ("maximum", 2), ("floor_divide", 2), ("round", 1), ("nextafter", 2), ("polygamma", 2), ("erfinv", 1), ("ldexp", 2)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.bfloat16], ids=str)
@pytest.mark.parametrize("name, arity", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions_have_the_same_bits_everywhere(name, arity, dtype, level):
    args = [samples(dtype, 101, seed) for seed in range(arity)]
    got = np.zeros(101, dtype.np)
    run(pointwise(name, *[dtype] * arity), [*args, got], level, n=101)
    want = meaning(name, *args)
    assert same(got, want), f"{name} on {level}: first difference at {[a[np.flatnonzero(got != want)[:1]] for a in args]}"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [dt.uint8, dt.int16, dt.int32, dt.int64], ids=str)
@pytest.mark.parametrize("name", ["add", "mul", "maximum", "floor_divide", "remainder", "trunc_divide", "gcd", "pow",
                                  "bitwise_left_shift", "bitwise_right_shift", "lt", "logical_xor"])
def test_integer_functions_have_the_same_bits_everywhere(name, dtype, level):
    a, b = samples(dtype, 53, 1), samples(dtype, 53, 2)
    want = meaning(name, a, b)
    got = np.zeros(53, want.dtype)
    run(pointwise(name, dtype, dtype), [a, b, got], level, n=53)
    np.testing.assert_array_equal(got, want)


ALL = [dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.bfloat16, dt.float32, dt.float64]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("source", ALL, ids=str)
def test_casts(source, level):
    x = samples(source, 67, 3)
    for target in ALL:
        values = np.where(np.isfinite(x.astype(np.float64)) & (np.abs(x.astype(np.float64)) < 100), x, 1).astype(source.np) \
            if target.is_integer and source.is_floating_point else x
        k = KernelBuilder("convert")
        k.parallel("i", "n")
        k.input("x", source, (1,))
        k.output("y", target, (1,))
        with k.point():
            k.store(k.load("x").to(target), "y")
        got = np.zeros(67, target.np)
        run(k.build(), [values, got], level, n=67)
        with np.errstate(all="ignore"):
            want = values.astype(target.np)
        assert same(got, want), f"{source} to {target} on {level}: {values[got != want][:3]} gave {got[got != want][:3]}"


def reduction_kernel(kind, dtype, pattern, unit):
    return library.reduction(f"{kind}_{pattern}", kind, dtype, pattern, unit)


def reduce_with(kind, x, pattern, level=None):
    """The reduction of a contiguous array by the kernel of a pattern."""
    dtype = dt.from_numpy(x.dtype)
    kernel = reduction_kernel(kind, dtype, pattern, x.ndim - 1)
    kept = [i for i, c in enumerate(pattern) if c == "P"]
    out = np.zeros([x.shape[i] for i in kept], np.int64 if kind.startswith("arg") else x.dtype)
    symbols = {f"n{i}": n for i, n in enumerate(x.shape)} | {f"s{i}": s // x.itemsize for i, s in enumerate(x.strides)}
    symbols |= {f"t{i}": s // out.itemsize for i, s in zip(kept, out.strides)}
    run(kernel, [x, out], level, **symbols)
    return out


PATTERNS = [("PR", (3, 5)), ("PR", (2, 64)), ("PR", (3, 201)), ("PR", (2, 5000)), ("PR", (1, 150000)), ("PRP", (2, 5, 3)),
            ("PRP", (1, 70, 100)), ("PRP", (1, 4100, 20)), ("RPR", (4, 3, 70)), ("PRPR", (2, 3, 4, 9))]


@pytest.mark.parametrize("kind", ["sum", "max", "argmin", "var"])
@pytest.mark.parametrize("pattern, shape", PATTERNS, ids=[f"{p}{s}" for p, s in PATTERNS])
def test_reductions(kind, pattern, shape):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    results = [reduce_with(kind, x, pattern, level) for level in LEVELS]
    assert all(r.tobytes() == results[0].tobytes() for r in results), "the instruction set changes the bits"
    axes = tuple(i for i, c in enumerate(pattern) if c == "R")
    if kind == "argmin":
        moved = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
        np.testing.assert_array_equal(results[0], moved.reshape(*results[0].shape, -1).argmin(-1))
    elif kind == "var":
        np.testing.assert_allclose(results[0], x.astype(np.float64).var(axes, ddof=1), rtol=2e-6)
    else:
        want = getattr(np, kind)(x.astype(np.float64), axes)
        np.testing.assert_allclose(results[0], want, rtol=1e-5, atol=1e-4 if kind == "sum" else 0)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 63, 64, 65, 100, 4095, 4096, 4097, 20000])
@pytest.mark.parametrize("kind", ["sum", "prod", "max"])
def test_the_tree_does_not_depend_on_layout(kind, n):
    x = (1 + 0.01 * np.random.default_rng(n).standard_normal((3, n))).astype(np.float32)
    rows = reduce_with(kind, x, "PR")
    columns = reduce_with(kind, np.ascontiguousarray(x.T)[None], "PRP")[0]
    assert strategy(reduction_kernel(kind, dt.float32, "PR", 1)) is not strategy(reduction_kernel(kind, dt.float32, "PRP", 2))
    assert rows.tobytes() == columns.tobytes()


def test_results_do_not_depend_on_threads():
    x = np.random.default_rng(2).standard_normal(3_000_001).astype(np.float32)
    wide = x[:3_000_000].reshape(3000, 1000)
    total, soft = kernels.reduction("sum", dt.float32), kernels.rowop("softmax", dt.float32)
    before, seen = pool.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            pool.set_num_threads(threads)
            seen.append((total(x).tobytes(), total(wide, 0).tobytes(), total(wide, 1).tobytes(), soft(wide).tobytes()))
    finally:
        pool.set_num_threads(before)
    assert seen[0] == seen[1] == seen[2]


def test_sums_are_as_accurate_as_numpys():
    rng = np.random.default_rng(3)
    total, ours, theirs = kernels.reduction("sum", dt.float32), [], []
    for n in (1000, 10000, 100000):
        for _ in range(40):
            x = rng.random(n).astype(np.float32)
            exact = x.astype(np.float64).sum()
            ours.append(abs(float(total(x)) - exact) / exact)
            theirs.append(abs(float(x.sum()) - exact) / exact)
    assert np.sqrt(np.mean(np.square(ours))) <= 1.3 * np.sqrt(np.mean(np.square(theirs)))


def test_empty_and_special_reductions():
    empty = np.zeros((3, 0), np.float32)
    assert kernels.reduction("sum", dt.float32)(empty, (1,)).tolist() == [0, 0, 0]
    assert kernels.reduction("prod", dt.float32)(empty, (1,)).tolist() == [1, 1, 1]
    assert kernels.reduction("sum", dt.float32)(empty, (0,)).shape == (0,)
    x = np.ones((2, 100), np.float32)
    x[1, 70] = np.nan
    assert np.isnan(kernels.reduction("max", dt.float32)(x, (1,))).tolist() == [False, True]
    assert kernels.reduction("argmax", dt.float32)(x, (1,)).tolist() == [0, 70]
    assert kernels.reduction("argmax", dt.float32)(np.full((2, 5), -np.inf, np.float32), (1,)).tolist() == [0, 0]
    assert kernels.reduction("any", dt.bool_)(np.zeros((4, 3), bool)).item() is False
    assert kernels.reduction("sum", dt.int64)(np.full(10, 2**61, np.int64)).item() == (10 * 2**61 + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("dtype", [dt.bool_, dt.uint8, dt.int8, dt.int32, dt.int64, dt.float16], ids=str)
def test_result_types_of_reductions(dtype):
    x = samples(dtype, 91, 16)[:80].reshape(8, 10)
    total = kernels.reduction("sum", dtype)(x, 1)
    if dtype.is_floating_point:
        np.testing.assert_allclose(total, x.astype(np.float64).sum(1), rtol=1e-2, atol=1e-2)
    else:
        np.testing.assert_array_equal(total, x.sum(1, dtype=np.int64))
        assert total.dtype == np.int64
    for kind in ("any", "all"):
        np.testing.assert_array_equal(kernels.reduction(kind, dtype)(x, 0), getattr(np, kind)(x, 0))


@pytest.mark.parametrize("dims", [None, 0, 1, 3, (0, 2), (0, 2, 3), (1, 3), (1, 2), (0, 1, 2, 3), (0, 1), ()])
def test_reduction_over_any_dims(dims):
    x = np.random.default_rng(4).standard_normal((6, 7, 8, 9)).astype(np.float64)
    total = kernels.reduction("sum", dt.float64)
    np.testing.assert_allclose(total(x, dims), x.sum(dims), rtol=1e-12, atol=1e-12)
    assert total(x, dims, True).shape == x.sum(dims, keepdims=True).shape
    np.testing.assert_allclose(total(x[0, 0].T, 0), x[0, 0].T.sum(0), rtol=1e-12, atol=1e-12)


def shapes_and_strides():
    a = np.random.default_rng(5).standard_normal((50, 70)).astype(np.float32)
    row, column = a[0], a[:, :1].copy()
    cube = np.random.default_rng(6).standard_normal((4, 5, 6, 7)).astype(np.float32)
    return [(a, a), (a, row), (a, column), (column, row), (a.T, np.ascontiguousarray(a.T)), (a[::2, ::2], a[1::2, 1::2]),
            (a, a[0, 0]), (a[::-1], a), (cube, cube[0, :, :1, :1]), (cube.transpose(3, 1, 0, 2), cube.transpose(3, 1, 0, 2)),
            (a[:0], a[:0]), (a[0, 0], a[0, 1]), (cube.reshape(2, 2, 5, 6, 7), cube.reshape(2, 2, 5, 6, 7))]


@pytest.mark.parametrize("number", range(13))
def test_elementwise_takes_any_layout(number):
    x, y = (np.asarray(v) for v in shapes_and_strides()[number])
    add = kernels.binary("add", dt.float32)
    np.testing.assert_array_equal(add(x, y), x + y)
    out = np.zeros((x + y).shape[::-1], np.float32).T
    assert add(x, y, out=out) is out
    np.testing.assert_array_equal(out, x + y)


def test_wrong_out_and_names_are_errors():
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(ArgumentError, match="out has shape"):
        kernels.unary("exp", dt.float32)(x, out=np.zeros((4, 3), np.float32))
    with pytest.raises(ArgumentError, match="no scalar function"):
        kernels.unary("sine", dt.float32)
    with pytest.raises(ArgumentError, match="no row kernel"):
        kernels.rowop("softmin2", dt.float32)
    with pytest.raises(DTypeError, match="mean"):
        kernels.reduction("mean", dt.int32)
    with pytest.raises(TypeError):
        kernels.unary("exp", dt.float32)(x.astype(np.float64))


def chain(k, x, w):
    return k.call("gelu", k.call("exp", x * w + 0.25) - 1.5)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=str)
def test_fused_has_the_bits_of_one_by_one(dtype):
    x, w = (samples(dtype, 1003, seed) for seed in (7, 8))
    fused = kernels.elementwise("chain", (dtype, dtype), (dtype,), chain)(x, w)
    unary, binary = (lambda n, *a: kernels.unary(n, dtype)(*a)), (lambda n, *a: kernels.binary(n, dtype)(*a))
    t = binary("add", binary("mul", x, w), np.array(0.25, dtype.np))
    t = binary("sub", unary("exp", t), np.array(1.5, dtype.np))
    assert same(fused, unary("gelu", t))


@pytest.mark.parametrize("layout", [library.ROWS, library.COLUMNS])
@pytest.mark.parametrize("kind", ["softmax", "log_softmax", "logsumexp"])
def test_compiled_is_the_reference(kind, layout):
    kernel = library.ROW_KERNELS[kind](kind, dt.float64, layout)
    x = np.random.default_rng(13).standard_normal((4, 30) if layout == library.ROWS else (4, 30, 6))
    symbols = {"A": 4, "R": 30} | ({"B": 6, "RB": 180} if layout == library.COLUMNS else {})
    got, want = np.zeros_like(x), np.zeros_like(x)
    run(kernel, [x, got], **symbols)
    run_reference(kernel, [x, want], **symbols)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)


def fused_kernel(rng, sizes, layout):
    """A random kernel with fixed sizes: an elementwise body, a reduction, a second sweep that writes two outputs."""
    rows, n = sizes
    k = KernelBuilder("fuzz")
    k.parallel("i", rows)
    k.reduce("r", n)
    full = (n, 1) if layout == "rows" else (1, rows)
    k.input("x", dt.float64, full)
    k.input("w", dt.float64, (0, 1) if rng.random() < 0.5 else full)
    k.output("row", dt.float64, (1, 0))
    k.output("y", dt.float64, full)
    k.output("z", dt.bool_, full)
    unary = ["exp", "tanh", "sin", "neg", "abs", "sigmoid", "floor", "sqrt", "erf"]
    with k.sweep():
        v = k.call(rng.choice(unary), k.load("x") * k.load("w"))
        total = k.fold(rng.choice(["sum", "max", "min"]), k.fn.where(k.fn.isnan(v), 0.0, v))
        last = k.fold("argmax", k.load("x"))
    with k.point():
        scaled = k.call(rng.choice(unary[:5]), total / k.size("r").to(dt.float64)) + last.to(dt.float64)
        k.store(scaled, "row")
    with k.sweep():
        v = k.call(rng.choice(unary), k.load("x")) - scaled + k.index("r").to(dt.float64)
        k.store(v, "y")
        k.store(k.fn.gt(v, k.load("w")), "z")
    return k.build()


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_agree_with_the_reference(seed):
    rng = np.random.default_rng(seed)
    sizes = int(rng.integers(1, 40)), int(rng.choice([1, 2, 17, 64, 130, 5000]))
    layout = "rows" if seed % 2 else "columns"
    kernel = fused_kernel(rng, sizes, layout)
    x, w = rng.standard_normal((2, *(sizes if layout == "rows" else sizes[::-1])))
    results = []
    for runner in (run, run_reference):
        outputs = [np.zeros(sizes[0]), np.zeros_like(x), np.zeros(x.shape, bool)]
        runner(kernel, [x, w, *outputs])
        results.append(outputs)
    for got, want in zip(*results):
        close = np.isclose(got, want, rtol=1e-10, atol=1e-10, equal_nan=True)
        assert close.mean() > 0.999, f"seed {seed}, {layout} {sizes}:\n{kernel}"


def test_kernel_without_parallel_dims():
    k = KernelBuilder("whole")
    k.reduce("r", 1000)
    k.input("x", dt.int32, (1,))
    k.output("y", dt.int32, (0,))
    with k.sweep():
        total = k.fold("sum", k.load("x"))
    with k.point():
        k.store(total, "y")
    got = np.zeros(1, np.int32)
    run(k.build(), [np.arange(1000, dtype=np.int32), got])
    assert got[0] == 499500


def test_a_program_runs_its_kernels_in_order():
    double = KernelBuilder("double")
    double.parallel("i", "n")
    double.input("x", dt.float32, (1,))
    double.output("y", dt.float32, (1,))
    with double.point():
        double.store(double.load("x") * 2.0, "y")
    double, soft = double.build(), library.softmax("soft", dt.float32, library.ROWS)
    slots = {"x": Slot("argument", 0), "y": Slot("argument", 1), "t": Slot("arena", 64, 140), "u": Slot("arena", 256, 140)}
    steps = (Step(double, ("x", "t"), {"n": "count"}), Step(double, ("t", "u"), {"n": 35}),
             Step(soft, ("u", "y"), {"A": 5, "R": 7}))
    program = Program("whole", steps, slots, 512, ("count",))
    assert "double(x, t, n=count)" in str(program)
    address = compiler.compile_module(program_text(program, kernels.host()), ["whole"])["whole"]
    x = np.random.default_rng(14).standard_normal((5, 7)).astype(np.float32)
    y, arena = np.zeros_like(x), np.zeros(512, np.uint8)
    table = (ctypes.c_int64 * 4)(arena.ctypes.data, x.ctypes.data, y.ctypes.data, 35)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(table))
    np.testing.assert_array_equal(y, kernels.rowop("softmax", dt.float32)(4 * x))


def test_kernel_text():
    k = KernelBuilder("row_sum")
    k.parallel("i", "rows")
    k.reduce("k", 64)
    k.input("x", dt.float32, (64, 1))
    k.output("y", dt.float32, (1, 0))
    with k.sweep():
        total = k.fold("sum", k.load("x"))
    with k.point():
        k.store(total * 0.5, "y")
    assert str(k.build()) == """kernel row_sum {
  parallel i: rows
  reduce k: 64
  in x: f32[64, 1]
  out y: f32[1, 0]
  sweep:
    v0: f32 = load x
    v1: f32 = reduce v0 [sum]
  point:
    v2: f32 = const 0.5
    v3: f32 = mul v1 v2
    store v3 -> y
}"""


BROKEN = [
    ("not defined", ("point", Instr("a", "neg", dt.float32, ("b",)))),
    ("no such buffer", ("point", Instr("a", "load", dt.float32, (), "z"))),
    ("only read", ("point", Instr("a", "load", dt.float32, (), "x"), Instr("", "store", dt.float32, ("a",), "x"))),
    ("reduces in a sweep", ("point", Instr("a", "load", dt.float32, (), "x"), Instr("r", "reduce", dt.float32, ("a",), "sum"))),
    ("needs a reduce dim", ("sweep", Instr("a", "load", dt.float32, (), "x"))),
    ("defined twice", ("point", Instr("a", "load", dt.float32, (), "x"), Instr("a", "load", dt.float32, (), "x"))),
]


@pytest.mark.parametrize("message, stage", BROKEN, ids=[b[0] for b in BROKEN])
def test_verify_names_the_rule(message, stage):
    over, *body = stage
    kernel = Kernel("broken", (Dim("i", 4),), (Buffer("x", dt.float32, (1,)),), (Stage(over, tuple(body)),))
    with pytest.raises(GraphError, match=message):
        verify(kernel)


def test_arm_objects_are_emitted():
    kernel = library.softmax("softmax", dt.float32, library.ROWS)
    target = cpu("aarch64")
    try:
        data = compiler.emit_object(kernel_text(kernel, target), target)
    except Exception as error:
        if "target" in str(error).lower():
            pytest.skip(f"this LLVM has no AArch64: {error}")
        raise
    assert data[:4] == b"\x7fELF"
    assert data[18] == 183


def test_low_precision_accumulates_in_float32():
    x = np.full((1, 20000), 0.1, ml_dtypes.bfloat16)
    got = float(kernels.reduction("sum", dt.bfloat16)(x, (1,))[0])
    assert abs(got - 20000 * float(x[0, 0])) <= 8


def test_threads_may_make_and_call_a_kernel_at_once():
    x = np.random.default_rng(15).standard_normal((300, 400)).astype(np.float32)
    fresh = kernels.elementwise("racing", (dt.float32,), (dt.float32,), lambda k, v: k.fn.tanh(v) * 3.0)
    total = kernels.Reduction("sum", dt.float32)
    with ThreadPoolExecutor(8) as workers:
        results = list(workers.map(lambda _: (fresh(x).tobytes(), total(fresh(x.T), 1).tobytes()), range(32)))
    assert set(results) == {(fresh(x).tobytes(), total(fresh(x.T), 1).tobytes())}
