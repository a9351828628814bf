"""Generated Triton source, run on numpy: every kernel family against the meaning of its kernel, with bounds and write races
checked, garbage in masked lanes, odd sizes; every scalar function against the numpy builder, bit for bit.
"""

import numpy as np
import pytest

import mock_cuda_triton
from ingot.ir import dtype as dt
from ingot.ir.kernel.kernel_builder import BOOL_RESULTS, KernelBuilder
from ingot.ir.reference import philox
from ingot.passes.codegen import row_kernels, scalars
from ingot.passes.codegen.triton.ir.source import POINTER
from ingot.passes.codegen.triton.loops import configs, reduction_loops
from kernel_interpreter import run_reference
from special_units import Units

INDEX = {False: np.int32, True: np.int64}


def memory(a):
    return a.view(np.uint8) if a.dtype == np.bool_ else a


def run(kernel, arrays, wide=False, made=None, **sizes):
    """Runs a kernel's launches on numpy; outputs are written in place."""
    given, scratch = dict(zip([b.name for b in kernel.buffers], arrays)), {}
    for one in made or configs.launches(kernel, sizes):
        for name, size in one.scratch:
            scratch.setdefault(name, np.full(size, 0xA5, np.uint8))
        values = []
        for p in one.source.parameters:
            if p.kind != POINTER:
                values.append(("i64" if wide else "i32", sizes[p.name]))
            else:
                values.append(memory(given[p.name]) if p.name in given else scratch[p.name].view(p.dtype.np))
        mock_cuda_triton.run(one.source.text, one.source.name, one.grid, values, dict(one.constants) | {"INDEX": INDEX[wide]})


def check(kernel, arrays, outs, tolerance=2e-6, **sizes):
    """Compares the written arrays with the kernel's meaning."""
    want = [a.copy() for a in arrays]
    run_reference(kernel, want, **sizes)
    run(kernel, arrays, **sizes)
    for n in outs:
        if arrays[n].dtype.kind == "f" or arrays[n].dtype.kind == "V":
            np.testing.assert_allclose(arrays[n].astype(np.float64), want[n].astype(np.float64), rtol=tolerance, atol=tolerance,
                                       err_msg=f"{kernel.name} {sizes}")
        else:
            np.testing.assert_array_equal(arrays[n], want[n], f"{kernel.name} {sizes}")


# Scalar functions.


INTEGERS = ("trunc_divide", "floor_divide", "fmod", "remainder", "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor",
            "bitwise_not", "bitwise_left_shift", "bitwise_right_shift")
ARITY = {name: fn.__code__.co_argcount - 1 for name, fn in scalars.FUNCTIONS.items()}
FLOATING = sorted(set(scalars.FUNCTIONS) - set(INTEGERS) - scalars.DRAW_NAMES - scalars.ITERATED - {"where", "frexp_exponent"})
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3.0, np.inf, -np.inf, np.nan, 1e-40, 1e-30, -1e30, 88.9, -104.5, 1e10,
                  12345.678, 2.0 ** 23 + 1, -7.0])


def function_kernel(name, kinds, out):
    k = KernelBuilder("probe")
    k.parallel("i", "n")
    buffers = [k.input(f"x{i}", d, (1,)) for i, d in enumerate(kinds)]
    y = k.output("y", out, (1,))
    with k.point():
        k.store(k.append(name, out, tuple(k.load(b) for b in buffers)), y)
    return k.build()


def samples(rng, arity, kind):
    """Random values of many sizes, then every pair of edges."""
    if kind.is_floating_point:
        random = [rng.standard_normal(200) * 10.0 ** rng.integers(-6, 7, 200) for _ in range(arity)]
        edges = np.meshgrid(*[EDGES] * min(arity, 2))
        edges = [e.reshape(-1) for e in edges] + [np.ones(edges[0].size)] * (arity - 2)
        return [np.concatenate(pair).astype(kind.np) for pair in zip(random, edges)]
    info = np.iinfo(kind.np)
    low = -8 if info.min else 0
    return [np.concatenate([rng.integers(info.min, info.max, 200, kind.np), rng.integers(low, 9, 100, kind.np)])
            for _ in range(arity)]


def bits(a):
    """Bits, with every nan alike."""
    a = a.copy()
    if a.dtype.kind in "fV":
        a[np.isnan(a.astype(np.float64))] = np.nan
        return a.view(f"u{a.itemsize}")
    return a


@pytest.mark.parametrize("kind", [dt.float32, dt.float64, dt.bfloat16], ids=str)
@pytest.mark.parametrize("name", FLOATING)
def test_functions_give_the_bits_of_the_numpy_builder(name, kind):
    rng = np.random.default_rng(0)
    values = samples(rng, ARITY[name], kind)
    out = dt.bool_ if name in BOOL_RESULTS else kind
    s = Units()
    with np.errstate(all="ignore"):
        want = np.asarray(scalars.apply(s, name, *[s.value(v) for v in values]).ref)
    got = np.zeros(values[0].size, out.np)
    run(function_kernel(name, [kind] * len(values), out), [*values, got], n=got.size)
    np.testing.assert_array_equal(bits(got), bits(np.broadcast_to(want, got.shape)), f"{name} {kind} seed 0")


@pytest.mark.parametrize("kind", [dt.int64, dt.int32, dt.uint8], ids=str)
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_functions(name, kind):
    rng = np.random.default_rng(1)
    values = samples(rng, ARITY[name], kind)
    s = scalars.NumpyBuilder()
    with np.errstate(all="ignore"):
        want = np.asarray(scalars.apply(s, name, *[s.value(v) for v in values]).ref)
    got = np.zeros(values[0].size, kind.np)
    run(function_kernel(name, [kind] * len(values), kind), [*values, got], n=got.size)
    np.testing.assert_array_equal(got, want, f"{name} {kind} seed 1")


@pytest.mark.parametrize("target", [dt.int32, dt.int64, dt.uint8, dt.int16, dt.uint64, dt.bool_, dt.float16, dt.bfloat16,
                                    dt.float64], ids=str)
@pytest.mark.parametrize("source", [dt.float32, dt.float64, dt.int64, dt.bfloat16], ids=str)
def test_conversions(source, target):
    rng = np.random.default_rng(2)
    values, = samples(rng, 1, source)
    if target is dt.uint64:
        values = np.abs(values[np.isfinite(values.astype(np.float64)) & (np.abs(values.astype(np.float64)) < 2.0 ** 63)])
    k = KernelBuilder("convert")
    k.parallel("i", "n")
    x, y = k.input("x", source, (1,)), k.output("y", target, (1,))
    with k.point():
        k.store(k.load(x).to(target), y)
    got = np.zeros(values.size, target.np)
    run(k.build(), [values, got], n=values.size)
    s = scalars.NumpyBuilder()
    with np.errstate(all="ignore"):
        want = s.cast(s.value(values), target).ref
    np.testing.assert_array_equal(bits(got), bits(want), f"{source} to {target} seed 2")


def test_random_numbers_are_those_of_the_cpu():
    k = KernelBuilder("draw")
    k.parallel("i", "n")
    seed, call = k.input("seed", dt.int64, (0,)), k.input("call", dt.int64, (0,))
    word, uniform = k.output("w", dt.uint32, (1,)), k.output("u", dt.float32, (1,))
    with k.point():
        k.store(k.append("random_bits", dt.uint32, (k.index("i"), k.load(seed), k.load(call))), word)
        k.store(k.append("random_uniform", dt.float32, (k.index("i"), k.load(seed), k.load(call))), uniform)
    w, u = np.zeros(1500, np.uint32), np.zeros(1500, np.float32)
    run(k.build(), [np.array([123456789012]), np.array([77]), w, u], n=1500)
    np.testing.assert_array_equal(w, philox.bits(123456789012, 77, 1500))
    np.testing.assert_array_equal(u, philox.uniform01(123456789012, 77, 1500, np.float32))


# Elementwise kernels.


def strided_kernel(rank, inner):
    k = KernelBuilder(f"strided{rank}")
    for d in range(rank):
        k.parallel(f"d{d}", f"n{d}")
    a = k.input("a", dt.float32, [*[f"a{d}" for d in range(rank - 1)], inner[0]])
    b = k.input("b", dt.float32, [*[f"b{d}" for d in range(rank - 1)], inner[1]])
    y = k.output("y", dt.float32, [*[f"y{d}" for d in range(rank - 1)], 1])
    with k.point():
        k.store(k.load(a) * 2.0 + k.load(b), y)
    return k.build()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", [(1,), (5000,), (3, 7), (40, 33), (5, 1), (2, 3, 70), (3, 2, 4, 9), (1, 1, 2)])
@pytest.mark.parametrize("how", ["plain", "row", "column", "transposed"])
def test_elementwise_of_any_strides(shape, how, wide):
    rng, rank = np.random.default_rng(3), len(shape)
    a = rng.standard_normal(shape).astype(np.float32)
    b = rng.standard_normal(shape).astype(np.float32)
    a_steps = [s // 4 for s in a.strides]
    inner = (1, 1)
    if how == "row":
        a_steps = [0] * (rank - 1) + [1]
    elif how == "column":
        a_steps, inner = [*a_steps[:-1], 0], (0, 1)
    elif how == "transposed":
        a_steps, inner = [s // 4 for s in np.zeros(shape[::-1], np.float32).T.strides], ("al", 1)
    kernel = strided_kernel(rank, inner)
    sizes = {f"n{d}": n for d, n in enumerate(shape)} | {f"a{d}": s for d, s in enumerate(a_steps[:-1])} | {"al": a_steps[-1]}
    for name in "by":
        sizes |= {f"{name}{d}": s // 4 for d, s in enumerate(b.strides[:-1])}
    y = np.zeros(shape, np.float32)
    run(kernel, [a, b, y], wide=wide, **{s: sizes[s] for s in kernel.symbols})
    seen = np.lib.stride_tricks.as_strided(a, shape, [4 * s for s in a_steps])
    np.testing.assert_array_equal(y, seen * 2 + b, f"{shape} {how} seed 3")


def crossing_kernel(kind, rank, far):
    """Elements of `x`, which lie along the dim `far`, beside those of `w`, which lie along the last as what is written does."""
    k = KernelBuilder("crossing")
    for d in range(rank):
        k.parallel(f"d{d}", f"n{d}")
    x = k.input("x", kind, [1 if d == far else f"x{d}" for d in range(rank)])
    w = k.input("w", kind, [*(0,) * (rank - 1), 1])
    y = k.output("y", kind, [*[f"y{d}" for d in range(rank - 1)], 1])
    with k.point():
        k.store(k.load(x) - k.load(w), y)
    return k.build()


def crossing(kind, shape, far):
    """(the kernel, arrays as they lie, sizes, what comes out) of a random case."""
    rng, rank = np.random.default_rng(31), len(shape)
    order = [*[d for d in range(rank) if d != far], far]
    x = rng.integers(-9, 9, [shape[d] for d in order]).astype(kind.np).transpose(np.argsort(order))
    w, y = rng.integers(-9, 9, shape[-1]).astype(kind.np), np.zeros(shape, kind.np)
    sizes = {f"n{d}": n for d, n in enumerate(shape)}
    sizes |= {f"{name}{d}": s // kind.itemsize for name, a in (("x", x), ("y", y)) for d, s in enumerate(a.strides)}
    kernel = crossing_kernel(kind, rank, far)
    return kernel, [x.transpose(order), w, y], {s: sizes[s] for s in kernel.symbols}, x - w


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", [dt.int8, dt.float16, dt.float32, dt.float64], ids=str)
@pytest.mark.parametrize("shape, far, squares", [((150, 70), 0, True), ((3, 90), 0, True), ((2, 65, 3, 40), 1, True),
                                                 ((3, 2, 49, 130), 2, True), ((5, 37, 3), 1, True), ((5, 20, 3), 1, False),
                                                 ((5, 7, 9), 0, False)])
def test_orders_that_cross(shape, far, squares, kind, wide):
    """Tiles of the two dims along which elements lie side by side, where these are long enough."""
    kernel, arrays, sizes, want = crossing(kind, shape, far)
    one, = configs.launches(kernel, sizes)
    assert (one.how == (False, far)) == squares
    run(kernel, arrays, wide=wide, **sizes)
    np.testing.assert_array_equal(arrays[2], want, f"{shape} {far} {kind} seed 31")


def test_a_number_comes_by_value():
    k = KernelBuilder("scale")
    k.parallel("i", "n")
    x, f, y = k.input("x", dt.bfloat16, (1,)), k.input("f", dt.float32, (0,)), k.output("y", dt.bfloat16, (1,))
    with k.point():
        k.store((k.load(x).to(dt.float32) * k.load(f)).to(dt.bfloat16), y)
    one, = configs.launches(k.build(), {"n": 10}, frozenset({"f"}))
    assert "tl.load(f" not in one.source.text
    values = np.arange(10).astype(dt.bfloat16.np)
    out = np.zeros_like(values)
    mock_cuda_triton.run(one.source.text, "scale", one.grid, [values, ("f32", 0.1), out, ("i32", 10)],
                         dict(one.constants) | {"INDEX": np.int32})
    np.testing.assert_array_equal(out, (np.arange(10, dtype=np.float32) * np.float32(0.1)).astype(dt.bfloat16.np))


# Reductions.


KINDS = {"sum": (dt.float32, dt.int64, dt.float64), "prod": (dt.float32, dt.int32), "max": (dt.float32, dt.int64, dt.uint8),
         "min": (dt.float32, dt.int16), "any": (dt.bool_,), "all": (dt.bool_,), "argmax": (dt.float32, dt.int32, dt.bool_),
         "argmin": (dt.float64,), "spread": (dt.float32, dt.float64),
         "exp_sum": (dt.float32, dt.float64)}


def reduction(kind, d, across):
    k = KernelBuilder(f"{kind}_{d.short}")
    k.parallel("o", "outer")
    k.parallel("i", "rows")
    k.reduce("k", "cols")
    x = k.input("x", d, ("far", 1, "rows") if across else ("far", "cols", 1))
    out = dt.int64 if kind.startswith("arg") else d
    y = k.output("y", out, ("rows", 1, 0))
    with k.sweep():
        total = k.append("reduce", out, (k.load(x),), kind)
    with k.point():
        k.store(total, y)
    return k.build()


@pytest.mark.parametrize("across", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("kind, d", [(k, d) for k, ds in KINDS.items() for d in ds], ids=str)
def test_reductions(kind, d, across):
    rng = np.random.default_rng(4)
    for outer, rows, cols in ((1, 1, 1), (2, 3, 5), (1, 37, 130), (3, 2, 65)):
        shape = (outer, cols, rows) if across else (outer, rows, cols)
        x = rng.standard_normal(shape) * (1 if kind == "prod" else 3)
        x = x > 0.5 if d is dt.bool_ else (np.abs(x) if d is dt.uint8 else x).astype(d.np)
        y = np.zeros((outer, rows), np.int64 if kind.startswith("arg") else d.np)
        check(reduction(kind, d, across), [x, y], [1], 1e-5, outer=outer, rows=rows, cols=cols, far=rows * cols)


@pytest.mark.parametrize("kind", ["sum", "max", "argmin", "any", "spread", "exp_sum"])
@pytest.mark.parametrize("across", [False, True])
def test_long_rows_are_cut_in_parts_and_walked(kind, across, monkeypatch):
    rng = np.random.default_rng(5)
    monkeypatch.setattr(configs, "PART_ACROSS" if across else "PART", 300)
    monkeypatch.setattr(configs, "WHOLE", 64)
    monkeypatch.setattr(configs, "WALK", 128)
    d = dt.bool_ if kind == "any" else dt.float32
    kernel = reduction(kind, d, across)
    for cols, parts in ((500, 1), (1100, 4), (1900, 8)):      # (the last of four has nothing to do)
        sizes = {"outer": 1, "rows": 3, "cols": cols, "far": 3 * cols}
        made = configs.launches(kernel, sizes)
        assert len(made) == min(2, parts) and made[0].grid[1] == parts
        shape = (1, cols, 3) if across else (1, 3, cols)
        x = rng.standard_normal(shape).astype(np.float32)
        x = x > 3 if kind == "any" else x
        y = np.zeros((1, 3), np.int64 if kind == "argmin" else d.np)
        check(kernel, [x, y], [1], 1e-5, **sizes)


def test_nan_wins_and_ties_take_the_first():
    x = np.array([[1, 5, 5, 2], [np.nan, 9, 1, 0], [3, np.nan, np.nan, 9]], np.float32)
    for kind, want in (("argmax", [1, 0, 1]), ("max", [5, np.nan, np.nan]), ("min", [1, np.nan, np.nan])):
        kernel = reduction(kind, dt.float32, False)
        y = np.zeros((1, 3), np.int64 if kind == "argmax" else np.float32)
        run(kernel, [x, y], outer=1, rows=3, cols=4, far=12)
        np.testing.assert_array_equal(y[0], want)


def test_a_row_does_not_depend_on_the_others():
    """The tiles of a reduction are the same whatever rows there are."""
    kernel = reduction("sum", dt.float32, False)
    seen = {tuple(one.constants + (one.warps,) for one in configs.launches(kernel, {"outer": 1, "rows": rows, "cols": 700,
                                                                                    "far": 1}))
            for rows in (1, 2, 33, 5000)}
    assert len(seen) == 1


@pytest.mark.parametrize("layout", [row_kernels.ROWS, row_kernels.COLUMNS])
@pytest.mark.parametrize("length", [650, 1900])
def test_rows_that_several_sweeps_go_over_are_cut_in_parts(layout, length, monkeypatch):
    """Each sweep is a launch of its own, which begins with what the parts of those before left."""
    for name, value in (("PART", 300), ("PART_ACROSS", 300), ("SWEPT_AGAIN", 600), ("WHOLE", 64), ("WALK", 128)):
        monkeypatch.setattr(configs, name, value)
    kernel = row_kernels.ROW_KERNELS["softmax"]("softmax", dt.float32, layout)
    shape = (3, length) if layout == row_kernels.ROWS else (2, length, 3)
    x = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    sizes = {"A": shape[0], "R": length} | ({"B": 3, "RB": 3 * length} if layout == row_kernels.COLUMNS else {})
    made = configs.launches(kernel, sizes)
    assert len(made) == 3 and all(one.grid[1] == configs.power_of_two(-(-length // 300)) for one in made)
    arrays = [x if b.name == "x" else np.zeros(shape, np.float32) for b in kernel.buffers]
    run(kernel, arrays, **{s: sizes[s] for s in kernel.symbols})
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(arrays[-1], e / e.sum(1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("length", [650, 1900])
def test_many_parts_are_combined_once_for_all(length, monkeypatch):
    """Between sweeps whose programs have many rows."""
    for name, value in (("PART_ACROSS", 300), ("FEW_PARTS", 2), ("COMBINED", 8)):
        monkeypatch.setattr(configs, name, value)
    kernel = row_kernels.ROW_KERNELS["softmax"]("softmax", dt.float32, row_kernels.COLUMNS)
    x = np.random.default_rng(6).standard_normal((2, length, 35)).astype(np.float32)
    sizes = {"A": 2, "R": length, "B": 35, "RB": 35 * length}
    made = configs.launches(kernel, sizes)
    assert [one.source.name.rpartition("_")[2] for one in made] == ["part0", "join0", "part1", "join1", "part2"]
    assert not any(p.name.startswith("state") for p in made[-1].source.parameters)
    arrays = [x if b.name == "x" else np.zeros(x.shape, np.float32) for b in kernel.buffers]
    run(kernel, arrays, **{s: sizes[s] for s in kernel.symbols})
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(arrays[-1], e / e.sum(1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("layout", [row_kernels.ROWS, row_kernels.COLUMNS])
@pytest.mark.parametrize("length", [1, 7, 130, 2500])
def test_softmax_of_every_length(layout, length, monkeypatch):
    """Whole rows, and rows that are walked over, agree with the kernel's meaning."""
    monkeypatch.setattr(configs, "WHOLE", 1024)
    rng = np.random.default_rng(6)
    kernel = row_kernels.ROW_KERNELS["softmax"]("softmax", dt.float32, layout)
    shape = (3, length) if layout == row_kernels.ROWS else (2, length, 3)
    x = rng.standard_normal(shape).astype(np.float32)
    sizes = {"A": shape[0], "R": length} | ({"B": 3, "RB": 3 * length} if layout == row_kernels.COLUMNS else {})
    arrays = [x if b.name == "x" else np.zeros(shape, np.float32) for b in kernel.buffers]
    run(kernel, arrays, **{s: sizes[s] for s in kernel.symbols})
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(arrays[-1], e / e.sum(1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("kind", ["sum", "prod"])
@pytest.mark.parametrize("d", [dt.float32, dt.int64], ids=str)
def test_running_folds(kind, d, monkeypatch):
    monkeypatch.setattr(configs, "WALK", 16)
    k = KernelBuilder("scan")
    k.parallel("i", "rows")
    k.reduce("k", "cols")
    x, y = k.input("x", d, ("cols", 1)), k.output("y", d, ("cols", 1))
    with k.sweep():
        k.store(k.scan(kind, k.load(x)), y)
    rng = np.random.default_rng(7)
    for cols in (1, 15, 50):
        a = (rng.standard_normal((5, cols)) + 1).astype(np.float32) if d is dt.float32 else rng.integers(-3, 4, (5, cols))
        check(k.build(), [a, np.zeros_like(a)], [1], 1e-5, rows=5, cols=cols)


def test_values_stored_in_memory_are_read_after_a_barrier(monkeypatch):
    monkeypatch.setattr(configs, "WHOLE", 8)
    k = KernelBuilder("kept")
    k.parallel("i", "rows")
    k.reduce("k", "cols")
    x, y = k.input("x", dt.float32, ("cols", 1)), k.output("y", dt.float32, ("cols", 1))
    with k.sweep():
        e = k.fn.exp(k.load(x))
        k.store(e, y)
        total = k.fold("sum", e)
    with k.sweep():
        k.store(k.load(y) / total, y)
    kernel = k.build()
    one, = configs.launches(kernel, {"rows": 3, "cols": 100})
    assert "tl.debug_barrier()" in one.source.text
    a = np.random.default_rng(8).standard_normal((3, 100)).astype(np.float32)
    check(kernel, [a, np.zeros_like(a)], [1], 1e-6, rows=3, cols=100)


# The executor itself notices what a GPU would not say.


@pytest.mark.parametrize("line, says", [
    ("tl.store(y + at, tl.load(x + at), at < n + 1)", "out of bounds"),
    ("tl.store(y + at, tl.load(x + at + 1, at < n), at < n)", "load out of bounds"),
    ("tl.store(y + at * 0, tl.load(x + at, at < n), at < n)", "twice"),
    ("tl.store(y, tl.load(x))", "write the same element"),
    ("tl.store(y + at, tl.load(x + at, at < n).to(tl.float64), at < n)", "store of float64"),
    ("tl.store(y + at, tl.load(x + at, at < n) + tl.full([], 1, tl.int32), at < n)", "states every dtype"),
    ("tl.store(y + at, tl.load(x + at, at < n), at < n); tl.load(y + at % COLS)", "reads what another one has written"),
])
def test_the_executor_catches(line, says):
    text = f"""
@triton.jit
def probe(x, y, n, COLS: tl.constexpr):
    at = tl.program_id(0) * COLS + tl.arange(0, COLS)
    {line}
"""
    x, y = np.ones(20, np.float32), np.zeros(20, np.float32)
    with pytest.raises(mock_cuda_triton.Fault, match=says):
        mock_cuda_triton.run(text, "probe", (2, 1, 1), [x, y, ("i32", 20)], {"COLS": 16})


def test_sources_are_readable():
    kernel = row_kernels.ROW_KERNELS["softmax"]("softmax", dt.float32, row_kernels.ROWS)
    text = reduction_loops.write(kernel, whole=True).text
    body = text[text.index("def softmax("):]
    assert text.startswith('"""') and "@triton.jit" in text and "exp_of_f32(" in body
    assert max(map(len, text.splitlines())) < 140 and len(body.splitlines()) < 25
