"""Compiled kernels: the same bits on every instruction set, layout, shape and thread count; values against numpy."""

import ctypes
import functools
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot.ir import dtype as dt
from ingot.ir.errors import ArgumentError, DTypeError, GraphError
from ingot.ir.kernel.kernel import Buffer, Dim, Instr, Kernel, Program, Slot, Stage, Step, verify
from ingot.ir.kernel.kernel_builder import KernelBuilder
from ingot.ir.target import cpu, host
from ingot.passes.codegen import row_kernels, scalars
from ingot.passes.codegen.llvm.loops.programs import program_text
from ingot.passes.codegen.llvm.loops.strategies import kernel_text
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.loops import kernels
from kernel_interpreter import run_reference
from kernel_runs import LEVELS, run, same, samples
from multiply_add import Builder

S = Builder()


def meaning(name, *arrays):
    """Evaluate a function instruction by instruction."""
    return S.value(scalars.apply(S, name, *(S.value(a) for a in arrays)).ref).ref


def pointwise(name, *dtypes):
    k = KernelBuilder(name)
    k.parallel("i", "n")
    inputs = [k.input(f"x{j}", d, (1,)) for j, d in enumerate(dtypes)]
    with k.point():
        out = k.call(name, *(k.load(b) for b in inputs))
        k.output("y", out.dtype, (1,))
        k.store(out, "y")
    return k.build()


FUNCTIONS = [("exp", 1), ("tanh", 1), ("log", 1), ("sin", 1), ("gelu", 1), ("lgamma", 1), ("pow", 2), ("fmod", 2), ("atan2", 2),
             ("maximum", 2), ("floor_divide", 2), ("round", 1), ("nextafter", 2), ("polygamma", 2), ("erfinv", 1), ("ldexp", 2),
             ("bessel_y1", 1), ("i1e", 1), ("modified_bessel_k1", 1), ("airy_ai", 1), ("zeta", 2), ("gammainc", 2)]


@functools.cache
def function_of_samples(name, arity, dtype):
    """Return (arguments of a function, its results)."""
    args = [samples(dtype, 101, seed) for seed in range(arity)]
    if name in scalars.ITERATED:        # which take as many turns as large numbers ask for
        args = [np.where(np.abs(a.astype(np.float64)) > 100, a.dtype.type(7), a) for a in args]
    return args, meaning(name, *args)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.bfloat16], ids=str)
@pytest.mark.parametrize("name, arity", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions_have_the_same_bits_everywhere(name, arity, dtype, level):
    args, want = function_of_samples(name, arity, dtype)
    got = np.zeros(101, dtype.np)
    run(pointwise(name, *[dtype] * arity), [*args, got], level, n=101)
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
            # (ml_dtypes casts negative numbers to unsigned ones as it likes, by its version)
            want = (values.astype(np.float32) if source is dt.bfloat16 else values).astype(target.np)
        assert same(got, want), f"{source} to {target} on {level}: {values[got != want][:3]} gave {got[got != want][:3]}"


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
def test_fused_kernels_equal_single_ones(dtype):
    x, w = (samples(dtype, 1003, seed) for seed in (7, 8))
    fused = kernels.elementwise("chain", (dtype, dtype), (dtype,), chain)(x, w)
    unary, binary = (lambda n, *a: kernels.unary(n, dtype)(*a)), (lambda n, *a: kernels.binary(n, dtype)(*a))
    t = binary("add", binary("mul", x, w), np.array(0.25, dtype.np))
    t = binary("sub", unary("exp", t), np.array(1.5, dtype.np))
    assert same(fused, unary("gelu", t))


@pytest.mark.parametrize("layout", [row_kernels.ROWS, row_kernels.COLUMNS])
@pytest.mark.parametrize("kind", ["softmax", "log_softmax", "logsumexp"])
def test_compiled_kernels_equal_the_reference(kind, layout):
    kernel = row_kernels.ROW_KERNELS[kind](kind, dt.float64, layout)
    x = np.random.default_rng(13).standard_normal((4, 30) if layout == row_kernels.ROWS else (4, 30, 6))
    symbols = {"A": 4, "R": 30} | ({"B": 6, "RB": 180} if layout == row_kernels.COLUMNS else {})
    got, want = np.zeros_like(x), np.zeros_like(x)
    run(kernel, [x, got], **symbols)
    run_reference(kernel, [x, want], **symbols)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)


def fused_kernel(rng, sizes, layout):
    """Return a random kernel with fixed sizes: an elementwise body, a reduction, a second sweep that writes two outputs."""
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
    double, soft = double.build(), row_kernels.softmax("soft", dt.float32, row_kernels.ROWS)
    slots = {"x": Slot("argument", 0), "y": Slot("argument", 1), "t": Slot("arena", 64, 140), "u": Slot("arena", 256, 140)}
    steps = (Step(double, ("x", "t"), {"n": "count"}), Step(double, ("t", "u"), {"n": 35}),
             Step(soft, ("u", "y"), {"A": 5, "R": 7}))
    program = Program("whole", steps, slots, 512, ("count",))
    assert "double(x, t, n=count)" in str(program)
    address = compiler.compile_module(program_text(program, host()), ["whole"])["whole"]
    x = np.random.default_rng(14).standard_normal((5, 7)).astype(np.float32)
    y, arena = np.zeros_like(x), np.zeros(512, np.uint8)
    table = (ctypes.c_int64 * 4)(arena.ctypes.data, x.ctypes.data, y.ctypes.data, 35)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.addressof(table))
    np.testing.assert_array_equal(y, kernels.rowop("softmax", dt.float32)(4 * x))


@pytest.mark.parametrize("kind", [dt.float32, dt.float64])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_rare_paths_are_functions_shared_by_all_widths(name, level, kind):
    made = pointwise(name, kind)
    text = kernel_text(made, cpu(level))
    slow, = [line.partition("@")[2].partition("(")[0] for line in text.splitlines()
             if line.startswith("define internal") and "%count" in line]
    assert text.count(f"call void @{slow}(") == text.count("!prof") >= 1
    with np.errstate(all="ignore"):
        x = samples(kind, 203, 5) * np.where(np.arange(203) % 7 == 0, 1e13, 1).astype(kind.np)
        for n in (1, 15, 203):
            y = np.zeros(n, kind.np)
            run(made, [x[:n].copy(), y], level, n=n)
            assert same(y, meaning(name, x[:n]))


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
    kernel = row_kernels.softmax("softmax", dt.float32, row_kernels.ROWS)
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


def test_threads_may_build_and_call_a_kernel_concurrently():
    x = np.random.default_rng(15).standard_normal((300, 400)).astype(np.float32)
    fresh = kernels.elementwise("racing", (dt.float32,), (dt.float32,), lambda k, v: k.fn.tanh(v) * 3.0)
    total = kernels.Reduction("sum", dt.float32)
    with ThreadPoolExecutor(8) as workers:
        results = list(workers.map(lambda _: (fresh(x).tobytes(), total(fresh(x.T), 1).tobytes()), range(32)))
    assert set(results) == {(fresh(x).tobytes(), total(fresh(x.T), 1).tobytes())}


@pytest.mark.parametrize("low", [dt.float16, dt.bfloat16])
@pytest.mark.parametrize("n", [40, 5000])
def test_conversions_equal_those_of_numpy(low, n):
    values = samples(dt.float32, n, 3)
    with np.errstate(over="ignore"):
        want, got = values.astype(low.np), kernels.converted(values, low.np)
    assert got.dtype == low.np and same(got, want)
    assert same(kernels.converted(want, np.float32), want.astype(np.float32))
    assert kernels.converted(values, np.float32) is values


@pytest.mark.parametrize("low", [dt.float16, dt.bfloat16])
@pytest.mark.parametrize("rest", [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF])
def test_every_upper_half_is_rounded_like_numpy(low, rest):
    """Numbers of one exponent are adjacent, so that whole vectors hold subnormals, infinities or nan; mixed ones follow."""
    bits = (np.arange(1 << 16, dtype=np.uint32) << 16) | np.uint32(rest)
    values = np.concatenate([bits, np.random.default_rng(rest).permutation(bits)]).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        assert same(kernels.converted(values, low.np), values.astype(low.np))


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float16", "bfloat16", "int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("dims", [(-1,), (-2,), (-1, -2), (0, 1, 2)], ids=str)
def test_flips_of_every_size(dims, dtype):
    for shape in ((2, 3, 5), (1, 130, 33), (40, 16, 16), (3, 7, 1021), (2, 1, 6000)):
        x = (ingot.arange(int(np.prod(shape))).reshape(shape) % 251).to(getattr(ingot, dtype))
        for t in (x, x.transpose(0, 1), x[:, :, ::2]):
            got, want = t.flip(dims).numpy(), np.flip(t.numpy(), dims)
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), f"{shape} {t.stride()}"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_operands_with_negative_strides(dtype):
    x, y = (np.random.default_rng(i).standard_normal((37, 1003)).astype(dtype) for i in (0, 1))
    add = kernels.binary("add", dt.BY_NP[np.dtype(dtype)])
    for a in (x[:, ::-1], x[::-1], x[::-1, ::-1], x[:, ::-2].repeat(2, 1)[:, :1003]):
        assert add(a, y).tobytes() == (a + y).tobytes()
        out = np.empty_like(y)[:, ::-1]
        assert add(a, y, out=out) is out and np.array_equal(out, a + y)
