"""Sums of squares about the mean join the sweep of the mean: golden kernels, and what the source gives, beside float64."""

import textwrap

import numpy as np
import pytest

import mock_cuda_triton
from graphs import graph_of
from ingot.ir import dtype as dt
from ingot.ir.kernel import SWEEP, to_text
from ingot.passes.codegen.triton import configs
from ingot.passes.codegen.triton.nest import POINTER
from ingot.passes.fuse import fuse
from ingot.passes.lower import lower
from ingot.passes.one_sweep import one_sweep

VARIANCE = """
    graph g(%x: f32[{rows},{n}]) {{
      %0: f32[{rows},1] = sum(%x, dim=(1,), keepdim=True)
      %1: f32[{rows},1] = div(%0, {by})
      %2: f32[{rows},{n}] = expand(%1, shape=({rows}, {n}))
      %3: f32[{rows},{n}] = sub(%x, %2)
      %4: f32[{rows},{n}] = {squared}
      %5: f32[{rows},1] = sum(%4, dim=(1,), keepdim=True)
      return {out}
    }}"""


def body_of(rows=16, n=20000, by=None, squared="mul(%3, %3)", out="%5"):
    text = VARIANCE.format(rows=rows, n=n, by=float(n) if by is None else by, squared=squared, out=out)
    group, = fuse(graph_of(text))
    return group.body


def sweeps(body):
    return sum(s.over == SWEEP for s in lower(body).kernel.stages)


def test_a_variance_takes_one_sweep():
    made = lower(one_sweep(body_of()))
    assert to_text(made.kernel).replace(made.kernel.name, "k", 1) == textwrap.dedent("""
        kernel k {
          parallel p0: n_p0
          reduce r0: n_r0
          in b0: f32[s0_p0, 1]
          out b1: f32[1, 0]
          sweep:
            v0_1: f32 = load b0
            v6: f32 = reduce v0_1 [spread]
          point:
            store v6 -> b1
        }""").strip()


def test_what_needs_the_centred_values_takes_a_sweep_less():
    """Those are another sweep's; the mean is found in the same one as the squares."""
    body = body_of(out="%3, %5")
    text = to_text(lower(one_sweep(body)).kernel)
    assert (sweeps(body), sweeps(one_sweep(body))) == (2, 2) and "[spread]" in text
    text = VARIANCE.format(rows=16, n=20000, by=20000.0, squared="square(%3)", out="%8").replace("      return", """
      %6: f32[16,20000] = expand(%5, shape=(16, 20000))
      %7: f32[16,20000] = div(%3, %6)
      %8: f32[16,20000] = add(%7, %7)
      return""")
    group, = fuse(graph_of(text))
    assert (sweeps(group.body), sweeps(one_sweep(group.body))) == (3, 2)


@pytest.mark.parametrize("change", [{"by": 19999.0}, {"squared": "mul(%3, %x)"}, {"squared": "mul(%x, %x)"}])
def test_other_sums_are_left_alone(change):
    body = body_of(**change)
    assert one_sweep(body) is body


# What the generated source gives.


def run(body, x, y):
    """Runs the kernel of a body on numpy."""
    made = lower(body)
    given = dict(zip([b.name for b in made.kernel.buffers], (x, y)))
    scratch = {}
    for one in configs.launches(made.kernel, made.symbols):
        for name, size in one.scratch:
            scratch.setdefault(name, np.full(size, 0xA5, np.uint8))
        values = [("i32", made.symbols[p.name]) if p.kind != POINTER else given[p.name] if p.name in given
                  else scratch[p.name].view(p.dtype.np) for p in one.source.parameters]
        mock_cuda_triton.run(one.source.text, one.source.name, one.grid, values, dict(one.constants) | {"INDEX": np.int32})
    return y


SMALLER = {"PART": 300, "PART_ACROSS": 300, "SWEPT_AGAIN": 1200, "WHOLE": 64, "WALK": 128, "FEW_PARTS": 2}
DATA = {
    "far from zero": lambda rng, shape: 1e4 + 0.01 * rng.standard_normal(shape),
    "centred": lambda rng, shape: rng.standard_normal(shape),
    "one far away": lambda rng, shape: np.where(rng.random(shape) < 0.01, 1e6, rng.standard_normal(shape)),
    "a step": lambda rng, shape: np.where(np.arange(shape[-1]) < shape[-1] // 3, 0, 1e4) + rng.standard_normal(shape),
    "all alike": lambda rng, shape: np.full(shape, 3e4 + 1 / 3),
}


@pytest.mark.parametrize("across", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("n", [1, 50, 64, 65, 1000, 2617])
@pytest.mark.parametrize("data", DATA)
def test_squares_about_the_mean_are_as_exact_as_their_mean(data, n, across, monkeypatch):
    """In whole rows, rows that are walked over, and parts of rows."""
    for name, value in SMALLER.items():
        monkeypatch.setattr(configs, name, value)
    x = DATA[data](np.random.default_rng(9), (3, n)).astype(np.float32)
    if across:
        text = VARIANCE.format(rows=n, n=3, by=float(n), squared="mul(%3, %3)", out="%5").replace("f32[%d,1]" % n, "f32[1,3]")
        group, = fuse(graph_of(text.replace("dim=(1,)", "dim=(0,)")))
        body, given = group.body, np.ascontiguousarray(x.T)
    else:
        body, given = body_of(3, n), x
    found = run(one_sweep(body), given, np.zeros(3, np.float32))
    wide = x.astype(np.float64)
    want = np.square(wide - wide.mean(1, keepdims=True)).sum(1)
    held = n <= (configs.WHOLE_ACROSS if across else configs.WHOLE)       # two sweeps over registers: the mean is rounded
    slack = n * (np.abs(wide).max() * 2.0 ** -22) ** 2 if held else 0
    np.testing.assert_allclose(found, want, rtol=2e-6, atol=slack + 1e-30)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [50, 1000, 2617])
def test_what_is_not_finite_shows(bad, n, monkeypatch):
    for name, value in SMALLER.items():
        monkeypatch.setattr(configs, name, value)
    x = np.random.default_rng(9).standard_normal((3, n)).astype(np.float32)
    x[1, n // 2] = bad
    found = run(one_sweep(body_of(3, n)), x, np.zeros(3, np.float32))
    np.testing.assert_array_equal(np.isnan(found), [False, True, False])


def test_the_dtype_is_that_of_the_sum():
    text = VARIANCE.format(rows=3, n=2617, by=2617.0, squared="mul(%3, %3)", out="%5").replace("f32", "f64")
    group, = fuse(graph_of(text))
    x = 1e8 + np.random.default_rng(9).standard_normal((3, 2617))
    found = run(one_sweep(group.body), x, np.zeros(3))
    exact = x.astype(np.longdouble)
    want = np.square(exact - exact.mean(1, keepdims=True)).sum(1)
    assert lower(one_sweep(group.body)).kernel.buffers[0].dtype is dt.float64
    np.testing.assert_allclose(found, want.astype(np.float64), rtol=1e-13)
