"""Steps of recurrent layers compiled for sm_80 and sm_90 on a machine without a GPU.

They have no spills, tensor cores where they pay and operands in whole vectors. Loads of the gates do not delay the product.
"""

import importlib.metadata
import importlib.util
import re

import pytest

from ingot.ir import dtype as dt
from ingot.passes.codegen.recurrent_cells import CELLS
from ingot.passes.codegen.triton.loops import configs
from ingot.passes.codegen.triton.sequence import recurrent as text
from tests.passes.codegen.triton.test_compile_loops import ARCHS, built

FOUND = importlib.util.find_spec("triton") is not None
pytestmark = pytest.mark.skipif(not FOUND, reason="Triton is not installed")
# The assembler of older releases puts a pair of registers of two kernels for sm_80 aside.
SPILLS = 0 if FOUND and tuple(map(int, importlib.metadata.version("triton").split(".")[:2])) >= (3, 9) else 8
CHIP, HIDDEN = 132, 512      # multiprocessors, units
KINDS = ((dt.bfloat16, "ieee"), (dt.float16, "ieee"), (dt.float32, "tf32"), (dt.float32, "ieee"), (dt.float64, "ieee"))


def steps(name, kind, precision, batch, masked):
    """(kernel, how it is tiled, depth) forward, with and without what gradients read, and backward."""
    cell = CELLS[name]
    how = {"precision": precision, "masked": masked, "form": text.form_of(kind, precision, batch)}
    for keeps in (True, False)[:1 + masked]:
        one = text.Step(name, kind, biased=name == "gru", keeps=keeps, **how)
        yield text.forward(one), text.tiles(one, cell.gates, (batch, HIDDEN, HIDDEN), CHIP), HIDDEN
    depth = cell.gates * HIDDEN
    back = text.Step(name, kind, given=("gy", "gc") if name == "lstm" and masked else ("gy",), **how)
    yield text.backward(back), text.tiles(back, 0, (batch, HIDDEN, depth), CHIP), depth


def compiled(source, tiled, batch, depth, arch, **how):
    tile, warps, stages = tiled
    one = configs.Launch(source, tuple(zip(text.TILE, tile)), warps, text.grid(tile, batch, HIDDEN), stages=stages)
    return built(one, dict(zip(text.SIZES, (batch, HIDDEN, depth))), arch, **how)


def cases():
    """Batches whose tiles differ."""
    for name in ("lstm", "gru", "rnn_tanh"):
        for kind, precision in KINDS:
            for batch in ((8, 64, 256) if kind.itemsize == 2 or precision == "tf32" else (1, 2, 8, 64)):
                quick = (name, kind, batch) == ("lstm", dt.bfloat16, 64)
                yield pytest.param(name, kind, precision, batch, id=f"{name}-{kind.short}-{precision}-{batch}",
                                   marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name, kind, precision, batch", list(cases()))
def test_steps(name, kind, precision, batch, arch):
    for source, tiled, depth in steps(name, kind, precision, batch, batch in (2, 8, 256)):
        _, ptx = compiled(source, tiled, batch, depth, arch, spills=SPILLS if arch == 80 else 0)
        copies = re.findall(r"cp\.async\.c[ag]\.shared\.global \[.*?\], \[.*?\], (\w+)", ptx)
        if source.name.endswith(text.SUMS):
            assert "ld.global.v4.b32" in ptx or "ld.global.v2.b64" in ptx, source.name
        else:
            assert copies and set(copies) <= ({"0x10"} if kind.itemsize == 2 else {"0x10", "0x8"}), (source.name, set(copies))
            assert 0 <= ptx.find("ld.global") < ptx.find("cp.async") < ptx.find("bar.sync"), source.name
        if kind.itemsize == 2 or precision == "tf32":
            (rows, units, _), *_ = tiled
            assert "wgmma" in ptx or ("mma.sync" in ptx and (arch == 80 or rows < 64 or units < 16)), source.name


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("batch", [8, pytest.param(64, marks=pytest.mark.slow)])
def test_transposed_weights(batch, arch):
    how = text.Step("lstm", dt.float32, transposed=True)
    tiled = text.tiles(how, 4, (batch, HIDDEN, HIDDEN), CHIP)
    _, ptx = compiled(text.forward(how), tiled, batch, HIDDEN, arch)
    assert "cp.async" in ptx


@pytest.mark.slow
def test_projections_and_addresses_of_64_bits():
    for how, gates, write in ((text.Step("lstm", dt.bfloat16, projected=True), 4, text.forward),
                              (text.Step("lstm", dt.bfloat16, projected=True), 0, text.backward)):
        tiled = text.tiles(how, gates, (32, HIDDEN, 256), CHIP)
        for wide in (False, True):
            compiled(write(how), tiled, 32, 256, 90, wide=wide)


@pytest.mark.slow
def test_odd_sizes():
    """Rows in no whole vectors: loads element by element, but still no spills."""
    for kind, precision in KINDS[:3]:
        for source, _, depth in steps("lstm", kind, precision, 33, True):
            forward = depth == HIDDEN
            how = text.Step("lstm", kind, precision)
            tile, warps, stages = text.tiles(how, 4 * forward, (33, 507, 507 if forward else 4 * 507), CHIP)
            one = configs.Launch(source, tuple(zip(text.TILE, tile)), warps, (1, 1, 1), stages=stages)
            built(one, {"B": 33, "H": 507, "K": 507 if forward else 4 * 507}, 90)
