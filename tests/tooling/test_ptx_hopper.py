"""Kernels for Hopper chips as Triton compiles them, run by the PTX machine: bulk copies, barriers in memory and specialised
warps, against results of the CPU.
"""

import importlib.util

import numpy as np
import pytest

import ingot
import mock_cuda
import mock_cuda_chip
from covering import thinned
from ingot import jit
from ingot.ir import config
from ingot.nn import functional as F
from ingot.passes.codegen.triton.attention import attention_configs
from ingot.passes.codegen.triton.contract import matmul, matmul_hopper
from ingot.runtime.cuda.compiler import tuning
from ingot.tools import ptx
from tests.tooling.test_ptx import run

SEED = 8


@pytest.fixture
def taken(monkeypatch, tmp_path):
    """Has the tuner take candidates that are told; what it took is in `found`."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    monkeypatch.setattr(mock_cuda_chip, "compiled_for", 90)
    for name, value in {"INGOT_CUDA_TUNE": "1", "INGOT_CACHE_DIR": tmp_path, "TRITON_CACHE_DIR": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    config.process_settings.cache_clear()

    def take(*chosen):
        found = set()

        def best(key, candidates, *rest):
            fit = [c for c in candidates if c in chosen]
            found.update(fit)
            return fit[0] if fit else candidates[0]

        monkeypatch.setattr(tuning, "best", best)
        return found

    with mock_cuda.installed():
        yield take
        monkeypatch.undo()
    config.process_settings.cache_clear()


def drawn(*shape, number=0):
    return ingot.tensor(np.random.default_rng([SEED, number, *shape]).standard_normal(shape)).to(ingot.bfloat16)


def close(got, want):
    wide = want.double().numpy()
    np.testing.assert_allclose(got.cpu().double().numpy(), wide, atol=6e-3 * np.abs(wide).max(), rtol=2e-2)


PRODUCTS = [(road, tile) for road, tiles in matmul_hopper.TILES.items() for tile in tiles]
FLIPS = [(False, False), (True, False), (False, True), (True, True)]
QUICK = {(tiles[0], FLIPS[1 + i % 2]) for i, tiles in enumerate(matmul_hopper.TILES.values())}


@pytest.mark.parametrize("road, tile, flips", [
    pytest.param(road, tile, flips, marks=[] if (tile, flips) in QUICK else pytest.mark.slow)
    for road, tile in PRODUCTS for flips in FLIPS], ids=str)
def test_products(taken, road, tile, flips):
    """Tiles that edges cut, several batches, factors that lie either way."""
    found = taken(matmul.Tiles(*tile, road))
    x, y = drawn(2, 200, 136), drawn(2, 136, 264)
    there = [a.mT.contiguous().cuda().mT if flip else a.cuda() for a, flip in zip((x, y), flips)]
    close(there[0] @ there[1], x.double() @ y.double())
    assert found


@pytest.mark.parametrize("road", matmul_hopper.TILES)
def test_what_follows_a_product(taken, road):
    """A bias for each column and a tile of another array are read at the places where results are written."""
    found = taken(matmul.Tiles(*matmul_hopper.TILES[road][0], road))
    x, y, z, bias = drawn(200, 72), drawn(72, 136), drawn(200, 136), drawn(136)
    run_ = jit.trace(lambda x, y, z, bias: (x @ y + bias).relu() + z)
    close(run_(*[a.cuda() for a in (x, y, z, bias)]), (x.double() @ y.double() + bias.double()).relu() + z.double())
    assert found


ATTENTION = list(dict.fromkeys([tile for tiles in attention_configs.COPY_TILES.values() for tile in tiles]))
FIRST = [tuple(dict.fromkeys([tiles[0] for tiles in attention_configs.COPY_TILES.values()]))]       # of each part, together


@pytest.mark.drawn
@pytest.mark.parametrize("tiles, causal", [
    *thinned(FIRST, [True, False], strength=1),
    *[pytest.param((tile,), causal, marks=pytest.mark.slow) for tile in ATTENTION if (tile,) not in FIRST
      for causal in (True, False)]], ids=str)
def test_attention(taken, tiles, causal):
    found = taken(*tiles)
    *inputs, g = [drawn(1, 2, 200, 64, number=n) for n in range(4)]

    def results(*arrays, along):
        leaves = [a.detach().requires_grad_() for a in arrays]
        out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
        out.backward(along)
        return out.detach(), *[x.grad for x in leaves]

    want = results(*[a.double() for a in inputs], along=g.double())
    got = results(*[a.cuda() for a in inputs], along=g.cuda())
    for have, w in zip(got, want):
        close(have, w)
    assert found == set(tiles)


# The machine's own rules. Threads 0 to 31 are a warp, 32 to 63 another one.

BARRIER = """
    setp.eq.b32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r9], 1;
    bar.sync 0;
    setp.lt.u32 %p2, %r1, 32;
    ld.global.b64 %rd6, [%rd4];
    shl.b32 %r4, %r1, 3;
    add.s32 %r5, %r9, %r4;
"""
HANDED_OVER = BARRIER + """
    @!%p2 bra $waits;
    st.shared.b64 [%r5+64], %rd6;
    bar.warp.sync -1;
    @%p1 mbarrier.arrive.shared::cta.b64 _, [%r9], 1;
    bra.uni $done;
$waits:
    setmaxnreg.dec.sync.aligned.u32 40;
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0;
    ld.shared.b64 %rd6, [%r5+-192];
$done:
    st.global.b64 [%rd5], %rd6;
"""


def test_warps_wait_for_a_barrier_in_memory():
    given = np.arange(64, dtype=np.uint64)
    assert np.array_equal(run(HANDED_OVER, given), np.tile(given[:32], 2))


@pytest.mark.parametrize("what, old, new", [
    ("never come", "mbarrier.arrive.shared::cta.b64 _, [%r9], 1", "mov.b32 %r6, 0"),
    ("never come", "[%r9], 0;", "[%r9], -1;\n    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 0;\n"
     "    mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], 1;"),
    ("arrive at a barrier that waits for 1", "_, [%r9], 1", "_, [%r9], 2"),
    ("no barrier at", "try_wait.parity.shared::cta.b64 %p3, [%r9]", "try_wait.parity.shared::cta.b64 %p3, [%r9+8]")], ids=str)
def test_faults_that_the_machine_finds(what, old, new):
    assert old in HANDED_OVER
    with pytest.raises(ptx.Fault, match=what):
        run(HANDED_OVER.replace(old, new), np.arange(64, dtype=np.uint64))
