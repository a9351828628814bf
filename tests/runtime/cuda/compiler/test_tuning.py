"""Choosing configurations of GPU kernels: the same one without trying; by measuring, pruned, kept on disk, beside captures."""

import importlib.util

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot.ir import config
from ingot.ir import dtype as dt
from ingot.passes.codegen.triton.contract import matmul, matmul_hopper
from ingot.passes.codegen.triton.conv import conv
from ingot.passes.codegen.triton.ir.source import POINTER
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.compiler import tuning

COMPILE_TOGETHER = tuning.compile_together


@pytest.fixture(autouse=True)
def cuda(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "compile_together", lambda variants: None)
    switches(monkeypatch, CACHE_DIR=tmp_path)
    with mock_cuda.installed() as mock:
        yield mock
        monkeypatch.undo()      # before the mock goes, or what a test replaced would come back as the mock's
    config.process_settings.cache_clear()


def switches(monkeypatch, **values):
    """Sets switches for the process: kernels run in a context of their own, which an override does not reach."""
    for name, value in values.items():
        monkeypatch.setenv(f"INGOT_{name}", str(value))
    config.process_settings.cache_clear()


def factors(m=40, n=40, k=32):
    rng = np.random.default_rng(3)
    return [ingot.tensor(rng.standard_normal(s)).to(ingot.bfloat16).cuda() for s in ((m, k), (k, n))]


def tried(monkeypatch, time_of):
    """Notes which candidates are timed, and times them by what they are."""
    seen = []

    def seconds(run, device):
        run()
        seen.append(run)
        return time_of(len(seen) - 1)

    monkeypatch.setattr(tuning, "_seconds", seconds)
    return seen


def test_without_trying_it_is_the_first(monkeypatch):
    seen = tried(monkeypatch, lambda n: 0.0)
    x, y = factors()
    assert ingot.allclose((x @ y).cpu().float(), x.cpu().float() @ y.cpu().float(), atol=0.1) and not seen


def test_the_fastest_candidate_is_chosen_and_stored(monkeypatch, cuda):
    seen = tried(monkeypatch, lambda n: 5.0 if n != 2 else 1.0)
    x, y = factors()
    switches(monkeypatch, CUDA_TUNE=1)
    want = x.cpu().float() @ y.cpu().float()
    got = x @ y
    count, name = len(seen), cuda.launches[-1]
    assert count > 3 and ingot.allclose(got.cpu().float(), want, atol=0.1)
    x @ y
    assert len(seen) == count, "once is enough"
    tuning._chosen.clear()
    tuning.measured.clear()
    x @ y
    assert len(seen) == count and cuda.launches[-1]["block"] == name["block"], "another process finds it on disk"


def test_bulk_copies_are_tried_where_addresses_allow_them(monkeypatch, cuda):
    """Never without the tuner, and not for rows that do not start on multiples of 16 bytes."""
    tried(monkeypatch, lambda n: -float(n))        # the last one is the quickest
    found = []
    for tune, shape in ((0, (72, 72, 64)), (1, (72, 72, 64)), (1, (72, 72, 60)), (1, (72, 70, 64))):
        switches(monkeypatch, CUDA_TUNE=tune)
        x, y = factors(*shape)
        before = len(cuda.launches)
        got = x @ y
        assert ingot.allclose(got.cpu().float(), x.cpu().float() @ y.cpu().float(), atol=0.2), f"{tune} {shape}"
        found.append({n["name"].split("_")[1] for n in cuda.launches[before:] if n["name"].startswith("matmul")})
    assert found == [{"bf16"}, {"bf16", *matmul_hopper.TILES}, {"bf16"}, {"bf16"}], found


def test_candidates_that_are_too_large_or_spill_are_not_timed(monkeypatch):
    real, limits = compiler.build, []

    def build(variant):
        binary = real(variant)
        limits.append(variant)
        changed = {"spills": 8} if len(limits) % 2 else {"shared": 1 << 20}
        return compiler.Binary(**{**vars(binary), **changed})

    monkeypatch.setattr(compiler, "build", build)
    seen = tried(monkeypatch, lambda n: 1.0)
    x, y = factors()
    switches(monkeypatch, CUDA_TUNE=1)
    x @ y
    assert len(seen) == 1 and len(limits) > 3


def test_real_timing_on_the_mock_runs_every_candidate(monkeypatch):
    q = [ingot.tensor(np.random.default_rng(i).standard_normal((1, 2, 20, 16))).to(ingot.bfloat16).cuda() for i in range(3)]
    want = ingot.nn.functional.scaled_dot_product_attention(*[t.cpu().float() for t in q], is_causal=True)
    switches(monkeypatch, CUDA_TUNE=1)
    got = ingot.nn.functional.scaled_dot_product_attention(*q, is_causal=True)
    assert ingot.allclose(got.cpu().float(), want, atol=0.05) and tuning._chosen


def test_computed_factors_are_timed_with_their_prologues(monkeypatch, cuda):
    seen = tried(monkeypatch, lambda n: -float(n))
    x, y = factors()
    switches(monkeypatch, CUDA_TUNE=1)
    f = ingot.jit.trace(lambda x, y: x.relu() @ (y * 2))
    before = len(cuda.launches)
    for _ in range(2):
        got = f(x, y)
    want = x.cpu().float().relu() @ (y.cpu().float() * 2)
    assert len(seen) >= 3 and ingot.allclose(got.cpu().float(), want, atol=0.2)
    names = [n["name"] for n in cuda.launches[before:]]
    computed = [n for n in names if n.count("prologue") == 2]
    assert names[-1] in computed and len(computed) > 3, names


def test_convolutions_are_tried_too(monkeypatch):
    seen = tried(monkeypatch, lambda n: -float(n))
    x, w = (ingot.tensor(np.random.default_rng(i).standard_normal(s)).to(ingot.bfloat16)
            for i, s in enumerate(((2, 20, 9, 9), (40, 20, 3, 3))))
    want = ingot.nn.functional.conv2d(x.float(), w.float(), padding=1)
    switches(monkeypatch, CUDA_TUNE=1)
    got = ingot.nn.functional.conv2d(x.cuda(), w.cuda(), padding=1)
    assert len(seen) >= 3 and ingot.allclose(got.cpu().float(), want, atol=0.2)


def test_candidates_of_convolutions_fit_and_begin_with_the_default():
    for shared in (166912, 232448):
        for kind, precision in ((dt.bfloat16, "ieee"), (dt.float32, "ieee"), (dt.float32, "tf32"), (dt.float64, "ieee")):
            for sizes in ((50000, 128, 1152), (49, 17, 9)):
                found = conv.candidates(kind, precision, *sizes, shared)
                assert found[0] == conv.tiles(kind, precision, *sizes) and len(set(found)) == len(found)
                assert all(stages * (bm + bn) * bk * kind.itemsize <= shared for (bm, bn, bk), _, stages in found)
                assert len(found) > 3 or kind is dt.float64 or sizes[0] == 49


def test_products_that_round_exactly_take_the_tile_whose_programs_end_first():
    """Several tiles share a multiprocessor; the smallest are for what would leave some without work, the least where each of
    theirs has one."""
    sizes = {(4096, 4096, 1): (64, 64), (4096, 768, 1): (64, 64), (1024, 1024, 1): (64, 64),
             (512, 512, 1): (32, 32), (256, 512, 1): (32, 32), (64, 64, 256): (64, 64), (20, 4096, 1): (32, 32),
             (128, 512, 1): (32, 32), (64, 512, 1): (16, 16), (32, 128, 1): (16, 16), (3, 5, 1): (16, 16)}
    for (m, n, batch), tile in sizes.items():
        found = matmul.candidates(dt.float32, m, n, 512, False, 166912, batch=batch)
        assert (found[0].m, found[0].n) == tile and len(set(found)) == len(found), (m, n, batch, found)


def test_candidates_fit_and_begin_with_the_default():
    for shared in (166912, 232448):
        for sizes in ((4096, 4096, 4096), (17, 33, 65), (128, 8192, 64)):
            for kind in (dt.bfloat16, dt.float32):
                found = matmul.candidates(kind, *sizes, True, shared)
                assert found[0] == matmul.tiles(kind, *sizes, True, shared) and len(set(found)) == len(found)
                assert all(t.shared(kind.itemsize) <= shared for t in found)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.slow
def test_children_compile_into_the_cache(monkeypatch):
    source = matmul.source(dt.bfloat16, "ieee", (False, True), (False, True))
    aligned = frozenset([i for i, p in enumerate(source.parameters) if p.kind == POINTER])
    variants = [compiler.Variant(source, t.constants, t.warps, 90, False, aligned, t.stages)
                for t in matmul.candidates(dt.bfloat16, 64, 64, 64, True, 232448)[:2]]
    monkeypatch.setattr(compiler, "_load", mock_cuda.REAL_LOAD)
    monkeypatch.setattr(compiler, "cache", mock_cuda.REAL_CACHE)
    monkeypatch.setattr(tuning.os, "cpu_count", lambda: 4)
    assert not any(compiler.is_there(v) for v in variants)
    COMPILE_TOGETHER(variants)
    assert all(compiler.is_there(v) for v in variants)
