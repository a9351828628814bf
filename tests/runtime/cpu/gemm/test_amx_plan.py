"""Products on matrix tiles (AMX): against float64 at every edge of a tile, permission to use them, and files without them."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ingot
import short_epilogues as ep
import this_checkout
from ingot import doctor, jit, nn
from ingot.ir import target
from ingot.ir.ops.nn import conv as conv_ops
from ingot.passes.codegen.llvm.contract import gemm as codegen
from ingot.passes.codegen.llvm.contract import gemm_amx
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.compiler import amx
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.conv import conv
from ingot.runtime.cpu.gemm import amx_plan, gemm
from ingot.runtime.cpu.gemm.gemm_plan import Layout, make_plan
from products import BF16, DTYPES, LAYOUTS, error, make

needs_tiles = pytest.mark.skipif(not amx.is_allowed(), reason="this machine has no matrix tiles for bfloat16")
TILES = target.cpu("x86-64-v4", {*amx.FEATURES, "avx512bf16"})
EXACT = 1e-6            # of sums in float


def out_type(name):
    return np.dtype(BF16 if name == "bfloat16" else name)


def plan(rows, columns, depth, out="bfloat16", turned=False, left_turned=False):
    item = out_type(out).itemsize
    layouts = (Layout((rows, depth), (2, 2 * rows) if left_turned else (2 * depth, 2)),
               Layout((depth, columns), (2, 2 * depth) if turned else (2 * columns, 2)),
               Layout((rows, columns), (item * columns, item)))
    return make_plan(*layouts, 2, item, gemm.Product(BF16, out_type(out)), 1)


@needs_tiles
@pytest.mark.parametrize("size", [(32, 32, 32), (33, 33, 33), (64, 48, 31), (47, 16, 1), (100, 130, 513), (17, 31, 1100),
                                  (300, 1000, 95), (65, 17, 1024), (80, 600, 1025), (20, 300, 700), (8, 40, 2100)], ids=str)
def test_products_at_the_edges_of_tiles(size):
    (rows, columns, depth), rng = size, np.random.default_rng(sum(size))
    for left in LAYOUTS:
        for right in LAYOUTS:
            a, b = make(rng, (rows, depth), BF16, left), make(rng, (depth, columns), BF16, right)
            assert error(gemm.matmul(a, b), a, b) <= DTYPES["bfloat16"], f"{left} @ {right}"
            assert error(gemm.Product(BF16, "float32")(a, b), a, b) <= EXACT, f"{left} @ {right}"


@needs_tiles
def test_sums_are_as_exact_as_those_of_dots():
    rng = np.random.default_rng(0)
    product = gemm.Product(BF16, "float32")
    for rows, columns, depth in ((64, 64, 64), (100, 70, 4000)):
        a, b = make(rng, (rows, depth), BF16), make(rng, (depth, columns), BF16)
        with amx.withheld():
            dots = error(gemm.Product(BF16, "float32")(a, b), a, b)
        assert error(product(a, b), a, b) <= 1.5 * dots


@needs_tiles
def test_tiles_are_chosen_for_many_rows():
    assert plan(256, 256, 256).strategy == plan(256, 256, 256, turned=True).strategy == "amx"
    assert plan(64, 100, 70, "float32").strategy == "amx"
    assert plan(8, 256, 256).strategy == plan(4, 256, 256, turned=True).strategy == "amx"
    assert plan(3, 256, 256, turned=True).strategy == "dots"
    assert all(plan(*sizes).strategy != "amx" for sizes in ((6, 256, 256), (256, 3, 256), (8, 8, 8)))
    with amx.withheld():
        assert plan(256, 256, 256).strategy == "pairs"


@needs_tiles
def test_the_smaller_operand_along_the_depth_is_packed():
    def named(*sizes, **how):
        return plan(*sizes, **how).words

    wide = named(64, 500, 300, turned=True)
    assert plan(64, 500, 300, turned=True).swapped and wide["turned"] and (wide["rows"], wide["columns"]) == (500, 64)
    for sizes, turned in (((500, 64, 300), True), ((64, 500, 300), False), ((64, 500, 32), True)):
        assert not named(*sizes, turned=turned)["turned"] and not plan(*sizes, turned=turned).swapped


@needs_tiles
def test_transposed_operands_are_not_copied_before():
    for turned, pack in ((False, codegen.PACK_ROWS), (True, codegen.PACK_ROWS)):
        made = plan(100, 300, 200, turned=turned, left_turned=True)
        assert not made.copies_a and made.swapped == turned
        assert made.words["pack"] == pack, "rows of B, or rows of A' on the right"


@needs_tiles
def test_nothing_is_read_beyond_the_depth():
    rng = np.random.default_rng(1)
    for depth in (33, 63, 64, 545):
        room = np.full((70, 2 * depth), np.nan, BF16)
        room[:, :depth] = make(rng, (70, depth), BF16)
        other = np.full((2 * depth, 90), np.nan, BF16)
        other[:depth] = make(rng, (depth, 90), BF16)
        a, b = room[:, :depth], other[:depth]
        turned = np.full((2 * depth, 100), np.nan, BF16)
        turned[:depth, :70] = a.T
        for left in (a, turned[:depth, :70].T):
            assert error(gemm.matmul(left, b), a, b) <= DTYPES["bfloat16"]


@needs_tiles
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_nothing_is_written_beyond_the_result(dtype):
    rng = np.random.default_rng(2)
    for rows, columns, right in ((50, 33, "plain"), (40, 70, "plain"), (17, 15, "plain"), (17, 90, "turned")):
        a, b = make(rng, (rows, 100), BF16), make(rng, (100, columns), BF16, right)
        frame = np.full((rows + 2, columns + 9), 5, out_type(dtype))
        gemm.Product(BF16, out_type(dtype))(a, b, frame[1:-1, 3:3 + columns])
        assert error(frame[1:-1, 3:3 + columns], a, b) <= DTYPES["bfloat16"]
        frame[1:-1, 3:3 + columns] = 5
        assert (frame == 5).all()


@needs_tiles
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("right", ["plain", "turned"])
@pytest.mark.parametrize("rows, columns, depth", [(40, 70, 30), (100, 130, 1200), (31, 16, 64), (20, 300, 100)])
def test_epilogues_get_their_position(dtype, right, rows, columns, depth):
    rng = np.random.default_rng(3)
    a, b = make(rng, (rows, depth), BF16), make(rng, (depth, columns), BF16, right)
    bias, per_row, residual = (make(rng, shape, BF16) for shape in ((columns,), (rows,), (rows, columns)))
    chain = ep.Chain((ep.ColumnBias("bfloat"), ep.RowBias("bfloat"), ep.Residual("bfloat")))
    block = np.array([bias.ctypes.data, per_row.ctypes.data, residual.ctypes.data, residual.strides[0], 0], np.int64)
    got = gemm.Product(BF16, out_type(dtype), chain)(a, b, operands=block.ctypes.data)
    wide = [x.astype(np.float64) for x in (a, b, bias, per_row, residual)]
    want = wide[0] @ wide[1] + wide[2] + wide[3][:, None] + wide[4]
    assert (np.abs(got - want) <= DTYPES["bfloat16"] * (np.abs(want) + 1) + 1e-4).all()


@needs_tiles
def test_threads_and_cuts_do_not_change_a_bit(threads):
    rng = np.random.default_rng(4)
    for rows, columns, depth, right in ((600, 100, 1200, "plain"), (300, 1500, 300, "plain"), (64, 2000, 700, "plain"),
                                        (2100, 40, 1500, "plain"), (100, 2000, 1100, "turned")):
        a, b = make(rng, (rows, depth), BF16), make(rng, (depth, columns), BF16, right)
        results = set()
        for number in (1, 2, 5):
            threads(number)
            results.add(gemm.matmul(a, b).tobytes())
        assert len(results) == 1 and gemm.matmul(a[37:90], b).tobytes() == gemm.matmul(a, b)[37:90].tobytes()


@needs_tiles
def test_numbers_below_the_normal_range_are_zero():
    tiny = np.full((32, 32), 2.0 ** -130, BF16)
    assert (gemm.matmul(tiny, np.eye(32, dtype=BF16)) == 0).all()
    assert (gemm.matmul(np.full((32, 32), 2.0 ** -70, BF16), np.full((32, 32), 2.0 ** -70, BF16)) == 0).all()


@pytest.mark.parametrize("count, rows, columns, depth", [(1, 256, 4096, 4096), (12, 256, 64, 256), (1, 5000, 40, 64),
                                                         (1, 20, 100_000, 768), (0, 40, 40, 40), (3, 33, 33, 0)])
@pytest.mark.parametrize("threads", [1, 2, 16])
def test_cuts(count, rows, columns, depth, threads):
    cut = amx_plan.cut(count, rows, columns, depth, codegen.PACK_ROWS, threads)
    assert cut.panel % gemm_amx.STRIP.columns == 0 and cut.items == count * -(-columns // cut.panel) * cut.blocks
    assert 1 <= cut.chunks <= max(cut.items, 1) and (threads == 1) <= (cut.chunks == 1)
    assert cut.depth_block % gemm_amx.DEPTH == 0 and 0 < cut.depth_block <= gemm_amx.MOST_DEPTH
    assert cut.panel_depth % cut.depth_block == 0 or cut.panel_depth >= depth
    assert cut[4:6] == amx_plan.cut(count, rows, columns, depth, codegen.IN_PLACE, 1)[4:6], "sums in another order"
    assert cut.scratch_bytes - cut.sums_bytes <= 2 ** 20 and cut.sums_bytes <= 4 * 512 * 2 ** 11 + 2 ** 17
    assert cut.sums_bytes >= 4 * 32 * cut.panel or cut.depth_block >= depth


# Permission to use tiles.


def test_code_is_emitted_on_any_machine():
    for kind in (ep.Identity(), ep.ColumnBias("bfloat"), ep.Outside()):
        kernel = codegen.GemmKernel(TILES, codegen.Precision.of("bfloat"), "amx", kind)
        text = compiler.assembly(kernel.text(), TILES)
        assert "tdpbf16ps" in text and text.count("tilerelease") == 1
        data = compiler.emit_object(kernel.text(), TILES)
        assert kernel.symbol.encode() in data


def test_objects_are_cached_by_required_features():
    plain = target.cpu("x86-64-v4", {"avx512bf16"})
    assert compiler.module_key("text", TILES) != compiler.module_key("text", plain)
    assert target.supports(TILES) == amx.is_offered()


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=200,
                          check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


PRODUCT = f"""
    import os, sys
    sys.path.insert(0, {str(this_checkout.SUPPORT)!r})
    import numpy as np, products as t
    from ingot.runtime.cpu.compiler import amx
    from ingot.runtime.cpu.gemm import gemm
    from ingot.runtime.cpu.calls import pool
    rng = np.random.default_rng(0)
    a, b = t.make(rng, (200, 300), t.BF16), t.make(rng, (300, 900), t.BF16)

    def good():
        return t.error(gemm.matmul(a, b), a, b) <= t.DTYPES["bfloat16"]
"""


@needs_tiles
def test_forked_processes_and_threads_may_use_them():
    out = python(PRODUCT + """
    pool.set_num_threads(2)
    print(good())
    child = os.fork()
    if not child:
        os._exit(0 if good() else 3)
    print(os.waitpid(child, 0)[1])
    """)
    assert out == ["True", "0"]


def test_products_avoid_tiles_without_permission():
    out = python(PRODUCT + """
    amx._ask = lambda: False
    product = gemm.Product(t.BF16)
    print(good(), product.amx, amx.is_allowed())
    """)
    assert out == ["True", "False", "False"]


def test_the_doctor_reports_a_refusal(monkeypatch):
    def said(offered, allowed):
        monkeypatch.setattr(amx, "is_offered", lambda: offered)
        monkeypatch.setattr(amx, "is_allowed", lambda: allowed)
        return [f.state for f in doctor.look_at_cpu() if f.topic == "matrix tiles"]

    assert said(True, False) == [doctor.NOTE] and not said(True, True) and not said(False, False)


# Files.


class Narrow(nn.Module):
    """A product of bfloat16."""

    def __init__(self):
        super().__init__()
        ingot.manual_seed(0)
        self.w = nn.Parameter(ingot.randn(64, 96).to(ingot.bfloat16))

    def forward(self, x):
        return x @ self.w


def test_code_with_tiles_runs_only_with_permission(monkeypatch):
    from ingot.jit.exporting.file import precompiled
    names = {allowed: [] for allowed in (True, False)}
    monkeypatch.setattr(precompiled, "host", lambda: TILES)
    for allowed, found in names.items():
        monkeypatch.setattr(amx, "is_allowed", lambda allowed=allowed: allowed)
        found += [precompiled.suits(name) for name in ("x86-64-v4", "x86-64-v4+amx-bf16+amx-tile+avx512bf16")]
    assert names[True] == [target.cpu("x86-64-v4"), TILES] and names[False] == [target.cpu("x86-64-v4"), None]
    monkeypatch.setattr(precompiled, "host", lambda: target.cpu("x86-64-v4", {"avx512bf16"}))
    assert precompiled.suits("x86-64-v4+amx-bf16+amx-tile+avx512bf16") is None


@needs_tiles
def test_models_in_files_use_tiles_and_libraries_do_not(tmp_path):
    x = ingot.randn(64, 64).to(ingot.bfloat16)
    model = jit.export(Narrow().eval(), x, tmp_path / "m.ingot")
    np.testing.assert_allclose(model(x).float().numpy(), Narrow()(x).float().detach().numpy(), rtol=2e-2, atol=0.1)
    entry, = [model.code.ready(tuple(a.shape for a in (x,)))]
    assert any(b"gemm_amx" in bytes(data) for data in entry.objects.values())
    written = jit.to_c(model, x, tmp_path / "m")
    with open(written.object, "rb") as file:
        assert b"\xc4\xe2\x7b\x49" not in file.read(), "a tile is cleared"


# Convolutions.


@needs_tiles
@pytest.mark.parametrize("x_shape, outputs, bias",
                         [((2, 32, 9, 7), 48, True), ((1, 16, 16), 20, False), ((3, 40, 5, 5), 16, True)])
def test_convolutions_of_single_pixels_are_products(x_shape, outputs, bias):
    rng = np.random.default_rng(5)
    params = {"stride": (1,) * (len(x_shape) - 2), "padding": ((0, 0),) * (len(x_shape) - 2),
              "dilation": (1,) * (len(x_shape) - 2), "groups": 1}
    x, w = make(rng, x_shape, BF16), make(rng, (outputs, x_shape[1], *[1] * (len(x_shape) - 2)), BF16)
    b = make(rng, (outputs,), BF16) if bias else None
    got, flat = conv.forward_bf16(x, w, b, **params), x.reshape(*x_shape[:2], -1)
    wide = np.einsum("oi,nip->nop", w.reshape(outputs, -1).astype("f8"), flat.astype("f8"))
    wide = (wide + (0 if b is None else b.astype("f8")[:, None])).reshape(got.shape)
    assert (np.abs(got.astype("f8") - wide) <= DTYPES["bfloat16"] * (np.abs(wide) + 1)).all()
    assert np.array_equal(kernel_of(conv_ops.conv)(x, w, b, **params), got), "the kernel of eager mode"
    back = conv.input_grad_bf16(got, w, size=x_shape[2:], **params)
    want = np.einsum("oi,nop->nip", w.reshape(outputs, -1).astype("f8"), got.reshape(*got.shape[:2], -1).astype("f8"))
    want = want.reshape(back.shape)
    assert (np.abs(back.astype("f8") - want) <= DTYPES["bfloat16"] * (np.abs(want) + 1)).all()


@needs_tiles
def test_other_convolutions_are_left_to_float32():
    x, params = np.ones((2, 32, 8, 8), BF16), {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
    w = np.ones((32, 32, 1, 1), BF16)
    assert conv.forward_bf16(x, w, None, **params) is not None
    for change in ({"stride": (2, 1)}, {"padding": ((0, 1), (0, 0))}, {"groups": 2}):
        assert conv.forward_bf16(x, w if "groups" not in change else w[:, :16], None, **{**params, **change}) is None
    assert conv.forward_bf16(x, np.ones((32, 32, 3, 1), BF16), None, **params) is None
    assert conv.forward_bf16(x[:, :8], w[:, :8], None, **params) is None
    assert conv.forward_bf16(x.astype(np.float32), w.astype(np.float32), None, **params) is None
    with amx.withheld():
        assert conv.forward_bf16(x, w, None, **params) is None
