"""Matrix products: every layout, size, dtype and algorithm against float64; threads; emitted variants."""

import itertools
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import this_checkout
from ingot.ir import target
from ingot.ir.errors import DTypeError, ShapeError
from ingot.passes.codegen.llvm.contract import gemm as codegen
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.gemm import gemm, tile_plan
from ingot.runtime.cpu.gemm.gemm_plan import Layout, make_plan
from ingot.runtime.cpu.memory import cache_sizes
from products import BF16, DTYPES, LAYOUTS, error, make

SIZES = [(1, 1, 1), (1, 5, 1), (5, 1, 1), (1, 1, 5), (2, 3, 4), (7, 65, 13), (6, 64, 16), (13, 130, 100), (64, 64, 64),
         (1, 300, 77), (300, 1, 77), (17, 200, 1100), (60, 33, 2500), (100, 1100, 30), (1, 70, 2100), (3, 900, 41),
         (5, 2100, 130), (20, 8300, 70), (2100, 70, 75)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_of_every_layout(dtype, size):
    (rows, columns, depth), rng = size, np.random.default_rng(sum(size))
    for left, right in itertools.product(LAYOUTS, repeat=2):
        a, b = make(rng, (rows, depth), dtype, left), make(rng, (depth, columns), dtype, right)
        result = gemm.matmul(a, b)
        assert result.dtype == a.dtype and result.shape == (rows, columns) and result.flags.c_contiguous
        assert error(result, a, b) <= DTYPES[dtype], f"{left} @ {right}, seed {sum(size)}"


@pytest.mark.parametrize("seed", range(12))
def test_products_of_any_size(seed, threads):
    rng = np.random.default_rng(seed)
    threads(int(rng.integers(1, 4)))
    rows, columns, depth = (int(n) for n in np.exp2(rng.uniform(0, 8, 3)))
    for dtype in DTYPES:
        left, right = rng.choice(LAYOUTS, 2)
        a, b = make(rng, (rows, depth), dtype, left), make(rng, (depth, columns), dtype, right)
        assert error(gemm.matmul(a, b), a, b) <= DTYPES[dtype], f"seed {seed}: {rows}x{depth}x{columns} {dtype} {left} {right}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("few", range(1, 12))
def test_dot_products_of_any_few_rows_or_columns(dtype, few):
    rng = np.random.default_rng(few)
    for rows, columns, depth in ((few, 50, 70), (50, few, 70), (few, few + 1, 64), (few + 1, few, 200)):
        a, b = make(rng, (rows, depth), dtype), make(rng, (depth, columns), dtype, "turned")
        kernel = gemm.Product(dtype)
        assert error(kernel(a, b), a, b) <= DTYPES[dtype], f"{rows}x{depth}x{columns}"
        whole = [kernel(a[i:i + 1], b[:, j:j + 1]) for i in (0, rows - 1) for j in (0, columns - 1)]
        corners = kernel(a, b)[::max(rows - 1, 1), ::max(columns - 1, 1)]
        if np.dtype(dtype).itemsize >= 4:           # narrow ones may take matrix tiles
            assert {x.item() for x in whole} == {x.item() for x in corners.ravel()}, "an element depends on its place in a tile"


@pytest.mark.parametrize("kib", [16, 256, 4096])
def test_products_with_caches_of_every_size(kib, monkeypatch, threads):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: kib << 10)
    rng = np.random.default_rng(kib)
    for rows, columns, depth in ((5, 300, 700), (70, 333, 1100), (400, 300, 1100), (1030, 130, 90)):
        for left, right in itertools.product(("plain", "turned"), repeat=2):
            a, b = make(rng, (rows, depth), "float32", left), make(rng, (depth, columns), "float32", right)
            results = []
            for number in (1, 2, 5):
                threads(number)
                results.append(gemm.Product("float32")(a, b))
            assert error(results[0], a, b) <= DTYPES["float32"], f"{rows}x{depth}x{columns} {left} {right}"
            assert all(np.array_equal(results[0], other) for other in results), "threads changed a bit"


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_are_exact(dtype):
    rng = np.random.default_rng(1)
    for rows, columns, depth in ((1, 40, 20), (50, 70, 30), (9, 1, 60)):
        a, b = rng.integers(-2, 3, (rows, depth)).astype(dtype), rng.integers(-2, 3, (depth, columns)).astype(dtype)
        assert np.array_equal(gemm.matmul(a, b).astype(int), a.astype(int) @ b.astype(int))


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (0, 0, 0)])
def test_empty_results(shape):
    rows, columns, depth = shape
    assert gemm.matmul(np.ones((rows, depth), np.float32), np.ones((depth, columns), np.float32)).shape == (rows, columns)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows, columns", [(1, 300), (3, 4), (70, 1), (50, 200)])
def test_no_depth_gives_zeros(dtype, rows, columns):
    out = np.full((rows, columns), 7, dtype)
    gemm.matmul(np.ones((rows, 0), dtype), np.ones((0, columns), dtype), out)
    assert (out == 0).all()


BATCHES = [((5, 7, 9), (5, 9, 8)), ((5, 7, 9), (9, 8)), ((7, 9), (5, 9, 8)), ((2, 1, 7, 9), (3, 9, 8)),
           ((40, 8, 8), (40, 8, 8)), ((1, 7, 9), (5, 9, 1)), ((2, 3, 4, 33), (2, 3, 33, 70)),
           ((0, 3, 4), (0, 4, 5)), ((4, 1, 9), (4, 9, 80))]


@pytest.mark.parametrize("shapes", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_stacks_broadcast(shapes, dtype, threads):
    threads(2)
    rng = np.random.default_rng(3)
    for left, right in itertools.product(LAYOUTS, repeat=2):
        a, b = make(rng, shapes[0], dtype, left), make(rng, shapes[1], dtype, right)
        result = gemm.matmul(a, b)
        assert result.shape == np.matmul(a.astype("f4"), b.astype("f4")).shape
        assert result.size == 0 or error(result, a, b) <= DTYPES[dtype], f"{left} @ {right}"


def test_stacks_in_any_order():
    rng = np.random.default_rng(4)
    a = make(rng, (3, 2, 6, 11), BF16).swapaxes(0, 1)[::-1]
    b = make(rng, (2, 11, 5), BF16)[::-1, None]
    assert error(gemm.matmul(a, b), a, b) <= DTYPES["bfloat16"]
    wide = np.broadcast_to(make(rng, (6, 11), BF16), (4, 6, 11))
    other = make(rng, (4, 11, 5), BF16)
    assert error(gemm.matmul(wide, other), wide, other) <= DTYPES["bfloat16"]


@pytest.mark.parametrize("rows, columns", [(5, 9), (1, 9), (9, 1), (100, 70)])
def test_results_are_written_to_out(rows, columns):
    rng = np.random.default_rng(5)
    a, b = make(rng, (rows, 20), "float32"), make(rng, (20, columns), "float32")
    want = gemm.matmul(a, b)
    frames = [np.zeros((rows, columns), "f4"), np.zeros((columns, rows), "f4").T,
              np.zeros((rows * 2, columns * 3), "f4")[::2, ::3],
              np.zeros((rows, columns + 5), "f4")[:, 2:-3], np.zeros((rows, columns), "f4")[::-1]]
    for out in frames:
        assert gemm.matmul(a, b, out) is out and np.allclose(out, want, atol=1e-5)
    with_gap = np.full((rows, columns + 8), 5, np.float32)
    gemm.matmul(a, b, with_gap[:, :columns])
    assert (with_gap[:, columns:] == 5).all(), "the kernel wrote beyond its columns"


def test_result_may_be_an_operand():
    a = make(np.random.default_rng(6), (70, 70), "float32")
    want = gemm.matmul(a, a)
    room = np.concatenate([a, a])
    assert np.array_equal(gemm.matmul(room[:70], room[:70], room[:70]), want)
    room = np.concatenate([a, a])
    assert np.array_equal(gemm.matmul(room[:70], room[70:], room[35:105]), want)


def test_unusual_arrays():
    rng = np.random.default_rng(7)
    a, b = make(rng, (5, 6), "float32"), make(rng, (6, 7), "float32")
    want = gemm.matmul(a, b)
    unaligned = np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(5, 6)
    assert np.array_equal(gemm.matmul(unaligned, b), want)
    assert np.array_equal(gemm.matmul(a, b.view(type("Sub", (np.ndarray,), {}))), want)
    assert np.array_equal(gemm.matmul(np.asfortranarray(a)[::-1], b), want[::-1])
    read_only = a.copy()
    read_only.flags.writeable = False
    assert np.array_equal(gemm.matmul(read_only, b), want)


@pytest.mark.parametrize("a, b, kind, message", [
    ((2, 3), (4, 5), ShapeError, "the first has 3 columns, the second 4 rows"),
    ((2, 2, 3), (3, 3, 5), ShapeError, "do not broadcast"), ((3,), (3, 5), ShapeError, "matrices")])
def test_shapes_that_do_not_fit(a, b, kind, message):
    with pytest.raises(kind, match=message):
        gemm.matmul(np.ones(a, np.float32), np.ones(b, np.float32))


def test_dtypes_that_do_not_fit():
    ones = np.ones((2, 2), np.float32)
    with pytest.raises(DTypeError, match="cast"):
        gemm.matmul(ones, ones.astype(np.float64))
    with pytest.raises(DTypeError, match="int32"):
        gemm.matmul(ones.astype(np.int32), ones.astype(np.int32))
    with pytest.raises(ShapeError, match="out"):
        gemm.matmul(ones, ones, np.ones((3, 2), np.float32))
    with pytest.raises(ShapeError, match="out"):
        gemm.matmul(ones, ones, np.ones((2, 2), np.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_do_not_change_a_bit(dtype, threads):
    rng = np.random.default_rng(8)
    for rows, columns, depth, right in ((200, 150, 1300, "plain"), (1, 700, 900, "plain"), (30, 400, 300, "turned"),
                                        (700, 1, 500, "plain"), (130, 90, 300, "strided")):
        a, b = make(rng, (rows, depth), dtype), make(rng, (depth, columns), dtype, right)
        results = []
        for number in (1, 2, 3, 7):
            threads(number)
            results.append(gemm.matmul(a, b).tobytes())
        assert len(set(results)) == 1, f"{rows}x{depth}x{columns} {right}"


def test_a_matrix_in_a_stack_equals_itself_alone():
    rng = np.random.default_rng(9)
    a, b = make(rng, (6, 40, 70), "float32"), make(rng, (6, 70, 90), "float32")
    together = gemm.matmul(a, b)
    assert all(np.array_equal(together[i], gemm.matmul(a[i], b[i])) for i in range(6))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_nan_and_inf_stay_in_their_rows_and_columns(dtype):
    rng = np.random.default_rng(10)
    cases = [(20, 70, 33, "plain"), (3, 50, 33, "turned"), (1, 40, 35, "plain"), (60, 9, 31, "turned")]
    for rows, columns, depth, right in cases:
        a, b = make(rng, (rows, depth), dtype), make(rng, (depth, columns), dtype, right)
        a[rows // 2, depth - 1] = np.nan
        b[0, columns // 2] = np.inf
        got = np.isfinite(gemm.matmul(a, b).astype(np.float32))
        want = np.ones((rows, columns), bool)
        want[rows // 2], want[:, columns // 2] = False, False
        assert np.array_equal(got, want), f"{rows}x{depth}x{columns} {right}"


def test_long_sums_stay_accurate():
    rng = np.random.default_rng(11)
    for rows, columns in ((1, 1), (2, 3), (7, 70)):
        a, b = rng.random((rows, 200_000), np.float32), rng.random((200_000, columns), np.float32)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        assert (np.abs(gemm.matmul(a, b) - exact) / exact).max() < 2e-5


def test_threads_of_python_share_plans():
    rng = np.random.default_rng(12)
    a, b = make(rng, (150, 700), "float32"), make(rng, (700, 1500), "float32", "turned")
    want, wrong = gemm.matmul(a, b), []

    def work():
        for _ in range(10):
            if not np.array_equal(gemm.matmul(a, b), want):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


# Generated code.


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("strategy", ["tiles", "vector", "dots"])
def test_objects_for_every_target(level, strategy):
    kernel = codegen.GemmKernel(target.cpu(level), codegen.Precision.of("float"), strategy)
    data = compiler.emit_object(kernel.text(), kernel.target)
    machine = 183 if level == "aarch64" else 62
    assert data[:4] == b"\x7fELF" and int.from_bytes(data[18:20], "little") == machine
    assert kernel.symbol.encode() in data
    again = codegen.GemmKernel(kernel.target, kernel.precision, strategy)
    assert kernel.text() == again.text(), "the text must be reproducible"


@pytest.mark.parametrize("columns, widths", [(64, ["4"]), (640, ["4"]), (10, ["1m"]), (48, ["3m"]), (1000, ["4", "3m"])])
def test_modules_have_the_tiles_that_their_products_meet(columns, widths):
    whole = codegen.GemmKernel(target.cpu("x86-64-v4"), codegen.Precision.of("float"))
    text = whole.fitted(columns, swapped=False).text()
    assert {name.split("x")[1] for name in re.findall(r"@tile_(\d+x\w+)\(", text)} == set(widths)
    assert "@dot_" not in text and "@dot_" in whole.fitted(columns, swapped=True).text()
    assert len(text) < len(whole.text()) / 2


@pytest.mark.parametrize("level, register", [("x86-64-v3", "ymm"), ("x86-64-v4", "zmm")])
def test_the_full_tile_keeps_its_accumulators_in_registers(level, register):
    kernel = codegen.GemmKernel(target.cpu(level), codegen.Precision.of("float"))
    shape, lines = kernel.shape, compiler.assembly(kernel.text(), kernel.target).splitlines()
    name = f"tile_{shape.rows}x{shape.vectors}:"
    start = next(i for i, line in enumerate(lines) if line.startswith(name))
    end = next(i for i in range(start, len(lines)) if lines[i].strip().startswith("ret"))
    body = lines[start:end]
    steps = codegen.UNROLL + 1                  # of a round of the loop, and of the one for what is left
    assert sum("vfmadd" in line and register in line for line in body) == steps * shape.rows * shape.vectors
    assert not any("(%rsp)" in line and register in line for line in body), "an accumulator was spilled"


def plan(a, b, dtype="float32", threads=2):
    item, product = np.dtype(dtype).itemsize, gemm.Product(dtype)
    out = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype)
    made = make_plan(*(Layout(x.shape, x.strides) for x in (a, b, out)), item, item, product, threads)
    return made, made.words


@pytest.mark.parametrize("shape_a, shape_b, turned, strategy, pack", [
    ((512, 256), (256, 256), False, "tiles", codegen.IN_PLACE), ((512, 256), (256, 250), False, "tiles", codegen.PACK_ROWS),
    ((40, 256), (256, 250), False, "tiles", codegen.IN_PLACE), ((512, 512), (512, 512), False, "tiles", codegen.PACK_ROWS),
    ((512, 2048), (2048, 2048), False, "tiles", codegen.PACK_ROWS),
    ((512, 512), (512, 512), True, "tiles", codegen.PACK_TRANSPOSED), ((8, 512), (512, 512), True, "dots", codegen.IN_PLACE),
    ((8, 4096), (4096, 4096), False, "tiles", codegen.IN_PLACE), ((1, 512), (512, 512), False, "vector", codegen.IN_PLACE),
    ((512, 512), (512, 1), False, "dots", codegen.IN_PLACE), ((128, 512), (512, 10), True, "dots", codegen.IN_PLACE),
    ((128, 32), (32, 10), True, "tiles", codegen.PACK_TRANSPOSED),
    ((128, 4096), (4096, 10), True, "tiles", codegen.PACK_TRANSPOSED)])
def test_strategy_follows_the_layout(shape_a, shape_b, turned, strategy, pack, monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)
    a = np.zeros(shape_a, np.float32)
    b = np.zeros(shape_b[::-1], np.float32).T if turned else np.zeros(shape_b, np.float32)
    made, named = plan(a, b)
    assert (made.strategy, named["pack"]) == (strategy, pack)
    assert named["items"] == named["panels"] * named["row_blocks"] and 1 <= named["chunks"] <= named["items"]


@pytest.mark.parametrize("rows, depth, columns, step, in_place", [
    (8, 1024, 1024, 4096, True), (100, 1024, 1024, 4096, False), (100, 1000, 4000, 16000, True),
    (300, 1000, 4000, 16000, False), (30, 1000, 1000, 4000, True), (30, 1000, 20000, 80080, False),
    (100, 1000, 1000, 4000, False), (300, 256, 256, 1024, True), (300, 300, 10, 40, True)])
def test_conditions_for_reading_rows_of_b_in_place(rows, depth, columns, step, in_place, monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)
    operands = tile_plan.Operands(4 * depth, 4, step, 4, 4)
    assert tile_plan.reads_in_place(rows, depth, columns, operands, True) is in_place
    assert not (tile_plan.reads_in_place(rows, depth, columns, operands, False) and step * depth > 1 << 19 and rows > 16)


@pytest.mark.skipif(target.host().vector_bytes < 64, reason="the panels are those of register tiles of 64 columns")
@pytest.mark.parametrize("rows, threads, panel, items", [
    (256, 2, 256, 4), (64, 2, 128, 2), (1000, 2, 256, 8), (256, 8, 128, 8), (256, 1, 256, 1)])
def test_items_where_nothing_is_packed_are_wide_and_as_few_as_the_work_allows(rows, threads, panel, items, monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)
    _, named = plan(np.zeros((rows, 256), np.float32), np.zeros((256, 256), np.float32), threads=threads)
    assert (named["pack"], named["panel"], named["items"]) == (codegen.IN_PLACE, panel, items)


def test_one_compile_serves_all_shapes():
    rng = np.random.default_rng(16)
    for rows, columns, depth in ((40, 50, 60), (100, 64, 64), (333, 77, 55), (64, 200, 1500)):
        gemm.matmul(make(rng, (rows, depth), "float32"), make(rng, (depth, columns), "float32"))
    before = compiler.stats()["modules"]
    for rows, columns, depth in ((41, 51, 61), (200, 300, 40), (128, 128, 128), (77, 1000, 2000)):
        gemm.matmul(make(rng, (rows, depth), "float32"), make(rng, (depth, columns), "float32"))
    assert compiler.stats()["modules"] == before


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
@pytest.mark.skipif(target.host().arch != "x86_64", reason="x86-64 levels")
def test_lower_levels_give_the_same_products(level, monkeypatch):
    code = f"""
        import sys, itertools
        sys.path.insert(0, {str(this_checkout.SUPPORT)!r})
        import numpy as np, products as t
        from ingot.ir import target
        from ingot.runtime.cpu.memory import cache_sizes; from ingot.runtime.cpu.gemm import gemm, tile_plan
        assert target.host().level == {level!r}
        rng = np.random.default_rng(0)
        for dtype, (rows, columns, depth) in itertools.product(t.DTYPES, [(7, 65, 13), (1, 300, 77), (60, 33, 1100)]):
            for left, right in itertools.product(t.LAYOUTS, repeat=2):
                a, b = t.make(rng, (rows, depth), dtype, left), t.make(rng, (depth, columns), dtype, right)
                worst = t.error(gemm.matmul(a, b), a, b)
                assert worst <= t.DTYPES[dtype], (dtype, rows, columns, depth, left, right, worst)
    """
    monkeypatch.setenv("INGOT_CPU_LEVEL", level)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.peer
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_as_close_as_torch(dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(17)
    for rows, columns, depth in ((100, 100, 1000), (1, 64, 4000), (30, 1, 3000)):
        a, b = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((rows, depth), (depth, columns)))
        a, b = a.to(getattr(torch, dtype)), b.to(getattr(torch, dtype))
        ours = [x.view(torch.int16).numpy().view(BF16) if dtype == "bfloat16" else x.numpy() for x in (a, b)]
        exact, theirs = a.double() @ b.double(), (a @ b).double()
        mine = np.abs(gemm.matmul(*ours).astype(np.float64) - exact.numpy()).max()
        assert mine <= 3 * (theirs - exact).abs().max().item() + 1e-30
