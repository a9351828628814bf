"""Sums that join the sweep of a mean or a maximum: golden kernels, and results of the code, beside float64."""

import textwrap

import numpy as np
import pytest

import mock_cuda_triton
from graphs import graph_of
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.kernel.kernel import SPREAD, SWEEP, to_text
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core.reduce import sum_
from ingot.ir.ops.core.shape import expand
from ingot.ir.symbols.scope import Scope
from ingot.passes.codegen.triton.ir.source import POINTER
from ingot.passes.codegen.triton.loops import configs
from ingot.passes.fusion.fuse import fuse
from ingot.passes.fusion.lower import lower
from ingot.passes.schedule.device_plan import plan
from ingot.passes.simplify.decompose import decompose
from ingot.passes.simplify.lift_numbers import lift_numbers
from ingot.passes.simplify.single_pass_reductions import join_sweeps

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


def count_sweeps(body):
    return sum(s.over == SWEEP for s in lower(body).kernel.stages)


def test_a_variance_takes_one_sweep():
    made = lower(join_sweeps(body_of()))
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


def test_users_of_centred_values_take_one_sweep_less():
    """The mean is found in the sweep of the squares; other readers of centred values take another sweep."""
    body = body_of(out="%3, %5")
    text = to_text(lower(join_sweeps(body)).kernel)
    assert (count_sweeps(body), count_sweeps(join_sweeps(body))) == (2, 2) and "[spread]" in text
    text = VARIANCE.format(rows=16, n=20000, by=20000.0, squared="square(%3)", out="%8").replace("      return", """
      %6: f32[16,20000] = expand(%5, shape=(16, 20000))
      %7: f32[16,20000] = div(%3, %6)
      %8: f32[16,20000] = add(%7, %7)
      return""")
    group, = fuse(graph_of(text))
    assert (count_sweeps(group.body), count_sweeps(join_sweeps(group.body))) == (3, 2)


@pytest.mark.parametrize("change", [{"by": 19999.0}, {"squared": "mul(%3, %x)"}, {"squared": "mul(%x, %x)"}])
def test_other_sums_are_left_alone(change):
    body = body_of(**change)
    assert join_sweeps(body) is body


# Results of the generated source.


def run(body, x, *results):
    """Run the kernel of a body on numpy; return the results, a single one by itself."""
    made = lower(body)
    given = dict(zip([b.name for b in made.kernel.buffers], (x, *results)))
    scratch = {}
    for one in configs.launches(made.kernel, made.symbols):
        for name, size in one.scratch:
            scratch.setdefault(name, np.full(size, 0xA5, np.uint8))
        values = [("i32", made.symbols[p.name]) if p.kind != POINTER else given[p.name] if p.name in given
                  else scratch[p.name].view(p.dtype.np) for p in one.source.parameters]
        mock_cuda_triton.run(one.source.text, one.source.name, one.grid, values, dict(one.constants) | {"INDEX": np.int32})
    return results[0] if len(results) == 1 else results


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
    """In whole rows, looped rows, and parts of rows."""
    for name, value in SMALLER.items():
        monkeypatch.setattr(configs, name, value)
    x = DATA[data](np.random.default_rng(9), (3, n)).astype(np.float32)
    if across:
        text = VARIANCE.format(rows=n, n=3, by=float(n), squared="mul(%3, %3)", out="%5").replace("f32[%d,1]" % n, "f32[1,3]")
        group, = fuse(graph_of(text.replace("dim=(1,)", "dim=(0,)")))
        body, given = group.body, np.ascontiguousarray(x.T)
    else:
        body, given = body_of(3, n), x
    found = run(join_sweeps(body), given, np.zeros(3, np.float32))
    wide = x.astype(np.float64)
    want = np.square(wide - wide.mean(1, keepdims=True)).sum(1)
    held = n <= (configs.WHOLE_ACROSS if across else configs.WHOLE)       # two sweeps over registers: the mean is rounded
    slack = n * (np.abs(wide).max() * 2.0 ** -22) ** 2 if held else 0
    np.testing.assert_allclose(found, want, rtol=2e-6, atol=slack + 1e-30)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [50, 1000, 2617])
def test_infinities_and_nan_show(bad, n, monkeypatch):
    for name, value in SMALLER.items():
        monkeypatch.setattr(configs, name, value)
    x = np.random.default_rng(9).standard_normal((3, n)).astype(np.float32)
    x[1, n // 2] = bad
    found = run(join_sweeps(body_of(3, n)), x, np.zeros(3, np.float32))
    np.testing.assert_array_equal(np.isnan(found), [False, True, False])


def test_the_dtype_is_that_of_the_sum():
    text = VARIANCE.format(rows=3, n=2617, by=2617.0, squared="mul(%3, %3)", out="%5").replace("f32", "f64")
    group, = fuse(graph_of(text))
    x = 1e8 + np.random.default_rng(9).standard_normal((3, 2617))
    found = run(join_sweeps(group.body), x, np.zeros(3))
    exact = x.astype(np.longdouble)
    want = np.square(exact - exact.mean(1, keepdims=True)).sum(1)
    assert lower(join_sweeps(group.body)).kernel.buffers[0].dtype is dt.float64
    np.testing.assert_allclose(found, want.astype(np.float64), rtol=1e-13)


# Sums of exponentials below the largest.

EXPONENTIALS = """
    graph g(%x: f32[{rows},{n}]) {{
      %0: f32[{rows},1] = amax(%x, dim=(1,), keepdim=True)
      %1: f32[{rows},{n}] = expand(%0, shape=({rows}, {n}))
      %2: f32[{rows},{n}] = sub(%x, %1)
      %3: f32[{rows},{n}] = exp(%2)
      %4: f32[{rows},1] = sum(%3, dim=(1,), keepdim=True)
      {more}
      return {out}
    }}"""
SOFTMAX = """%5: f32[{rows},{n}] = expand(%4, shape=({rows}, {n}))
      %6: f32[{rows},{n}] = div(%3, %5)"""
MASKED = """
    graph g(%x: f32[{rows},{n}]) {{
      %i: i64[{rows},{n}] = iota(%x, shape=({rows}, {n}), dim=1, dtype=i64)
      %c: bool[{rows},{n}] = lt(%i, {first})
      %y: f32[{rows},{n}] = where(%c, %x, {instead})
      %0: f32[{rows},1] = amax(%y, dim=(1,), keepdim=True)
      %1: f32[{rows},{n}] = expand(%0, shape=({rows}, {n}))
      %2: f32[{rows},{n}] = sub({shifted}, %1)
      %3: f32[{rows},{n}] = exp(%2)
      %e: f32[{rows},{n}] = where(%c, %3, -0.0)
      %4: f32[{rows},1] = sum({summed}, dim=(1,), keepdim=True)
      return %4
    }}"""
LOGSUMEXP = """
    graph g(%x: f32[{rows},{n}]) {{
      %0: f32[{rows},1] = logsumexp(%x, dim=(1,), keepdim=True)
      return %0
    }}"""


def exponentials(rows=16, n=20000, out="%4", more=""):
    group, = fuse(graph_of(EXPONENTIALS.format(rows=rows, n=n, out=out, more=more.format(rows=rows, n=n))), launches=True)
    return group.body


def masked(rows=2048, n=20000, first=17, instead="-inf", shifted="%x", summed="%e"):
    group, = fuse(graph_of(MASKED.format(rows=rows, n=n, first=first, instead=instead, shifted=shifted, summed=summed)))
    return group.body


def test_a_sum_of_exponentials_takes_one_sweep():
    made = lower(join_sweeps(exponentials(out="%0, %4")))
    assert to_text(made.kernel).replace(made.kernel.name, "k", 1) == textwrap.dedent("""
        kernel k {
          parallel p0: n_p0
          reduce r0: n_r0
          in b0: f32[s0_p0, 1]
          out b1: f32[1, 0]
          out b2: f32[1, 0]
          sweep:
            v0_1: f32 = load b0
            v1: f32 = reduce v0_1 [max]
            v4: f32 = reduce v0_1 [exp_sum]
          point:
            store v1 -> b1
            store v4 -> b2
        }""").strip()


def test_softmax_takes_two_sweeps_and_stores_nothing_in_between():
    body = exponentials(2048, out="%6", more=SOFTMAX)
    text = to_text(lower(join_sweeps(body)).kernel)
    assert (count_sweeps(body), count_sweeps(join_sweeps(body))) == (3, 2)
    assert (text.count("store"), text.count("load b0"), text.count("load")) == (1, 2, 2)


def test_an_infinite_maximum_is_left_out():
    """For rows without a finite number the sum is exp(largest), as logsumexp needs."""
    group, = fuse(decompose(graph_of(LOGSUMEXP.format(rows=2048, n=20000))))
    made = join_sweeps(group.body)
    assert (count_sweeps(group.body), count_sweeps(made)) == (2, 1)
    attributes = [t.attr for t in made.terms if t.kind in ("call", "reduce")]
    assert attributes == ["max", "isfinite", "where", "exp_sum", "exp", "where", "log", "add"]
    assert len({t.number for t in made.terms}) == len(made.terms)


def test_masked_row_ends_are_left_out():
    for how in ({}, {"shifted": "%y", "summed": "%3"}):
        assert (count_sweeps(masked(**how)), count_sweeps(join_sweeps(masked(**how)))) == (2, 1)


@pytest.mark.parametrize("change", [{"first": 0}, {"instead": "0.0"}, {"summed": "%3"}, {"shifted": "%y", "instead": "1.0"}])
def test_other_exponentials_are_left_alone(change):
    """A fully masked row sums to 0; masked elements are below everything else."""
    body = masked(**change)
    assert join_sweeps(body) is body


ROWS = {
    "scores": lambda rng, shape: 4 * rng.standard_normal(shape),
    "far from zero": lambda rng, shape: 1e5 + rng.standard_normal(shape),
    "far below zero": lambda rng, shape: -1e30 * rng.random(shape),
    "rising": lambda rng, shape: np.broadcast_to(np.linspace(-150, 40, shape[-1]), shape),
    "falling": lambda rng, shape: np.broadcast_to(np.linspace(40, -150, shape[-1]), shape),
    "a little": lambda rng, shape: np.broadcast_to(np.arange(shape[-1]) * 2.0 ** -12, shape),
    "all alike": lambda rng, shape: np.full(shape, -3e38),
    "one number": lambda rng, shape: np.broadcast_to(np.where(np.arange(shape[-1]) == shape[-1] // 2, -7.5, -np.inf), shape),
    "few numbers": lambda rng, shape: np.where(rng.random(shape) < 0.9, -np.inf, rng.standard_normal(shape)),
}


def below_largest(x):
    """Return (the largest, the sum of exp(x - largest)) of each row, in float64."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        top = wide.max(1, keepdims=True)
        return top[:, 0], np.exp(wide - top).sum(1)


def small(monkeypatch):
    for name, value in SMALLER.items():
        monkeypatch.setattr(configs, name, value)


@pytest.mark.parametrize("across", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("n", [1, 50, 64, 65, 1000, 2617])
@pytest.mark.parametrize("data", ROWS)
def test_sums_of_exponentials_beside_float64(data, n, across, monkeypatch):
    """In whole rows, rows that are walked over, and parts of rows."""
    small(monkeypatch)
    x = np.ascontiguousarray(ROWS[data](np.random.default_rng(9), (3, n)).astype(np.float32))
    x[np.isneginf(x).all(1), 0] = 1
    if across:
        text = EXPONENTIALS.format(rows=n, n=3, out="%0, %4", more="").replace("f32[%d,1]" % n, "f32[1,3]")
        group, = fuse(graph_of(text.replace("dim=(1,)", "dim=(0,)")))
        body, given = group.body, np.ascontiguousarray(x.T)
    else:
        body, given = exponentials(3, n, out="%0, %4"), x
    top, total = run(join_sweeps(body), given, np.zeros(3, np.float32), np.zeros(3, np.float32))
    want = below_largest(x)
    np.testing.assert_array_equal(top, want[0])
    np.testing.assert_allclose(total, want[1], rtol=1e-6)


BAD = {"nan": [1, np.nan, 3], "inf": [1, np.inf, 3], "two inf": [np.inf, 0, np.inf],
       "nan beside inf": [np.inf, np.nan, -np.inf], "nothing": [-np.inf] * 3}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("n", [3, 50, 1000, 2617])
def test_rows_without_numbers_give_what_two_sweeps_give(bad, n, monkeypatch):
    small(monkeypatch)
    x = np.random.default_rng(9).standard_normal((3, n)).astype(np.float32)
    x[1] = np.resize(np.float32(BAD[bad]), n) if bad == "nothing" else x[1]
    x[1, [0, n // 2, n - 1]] = BAD[bad]
    top, total = run(join_sweeps(exponentials(3, n, out="%0, %4")), x, np.zeros(3, np.float32), np.zeros(3, np.float32))
    want = below_largest(x)
    np.testing.assert_array_equal(top, want[0].astype(np.float32))
    np.testing.assert_array_equal(np.isnan(total), [False, True, False])
    np.testing.assert_allclose(total[[0, 2]], want[1][[0, 2]], rtol=1e-6)
    group, = fuse(decompose(graph_of(LOGSUMEXP.format(rows=3, n=n)))) if n > 3 else (None,)
    if group is not None:
        found = run(join_sweeps(group.body), x, np.zeros(3, np.float32))
        with np.errstate(all="ignore"):
            special = np.logaddexp.reduce(x[1].astype(np.float64)) if "nan" not in bad else np.nan
        np.testing.assert_array_equal(found[1], np.float32(special))


def test_exponentials_in_float64(monkeypatch):
    small(monkeypatch)
    group, = fuse(graph_of(EXPONENTIALS.format(rows=3, n=2617, out="%0, %4", more="").replace("f32", "f64")))
    x = 1e3 + 30 * np.random.default_rng(9).standard_normal((3, 2617))
    _, total = run(join_sweeps(group.body), x, np.zeros(3), np.zeros(3))
    wide = x.astype(np.longdouble)
    want = np.exp(wide - wide.max(1, keepdims=True)).sum(1)
    np.testing.assert_allclose(total, want.astype(np.float64), rtol=1e-14)


def test_long_rows_far_from_zero():
    """With the tiles that there are, beside what two sweeps give: no worse."""
    x = (1e5 + 3 * np.random.default_rng(9).standard_normal((8, 100003))).astype(np.float32)
    want = below_largest(x)[1]
    body = exponentials(8, 100003, out="%0, %4")
    worst = [np.abs(run(one, x, np.zeros(8, np.float32), np.zeros(8, np.float32))[1] / want - 1).max()
             for one in (body, join_sweeps(body))]
    assert worst[1] <= max(worst[0], 2e-7)


@pytest.mark.parametrize("n", [50, 700, 896, 1001, 2617])
def test_the_last_sweep_of_a_softmax_begins_at_the_end(n, monkeypatch):
    """The first sweep has read there last; parts of rows run backwards among themselves, and each element is written once."""
    small(monkeypatch)
    body = join_sweeps(exponentials(3, n, out="%6", more=SOFTMAX))
    x = np.random.default_rng(9).standard_normal((3, n)).astype(np.float32)
    y = run(body, x, np.zeros((3, n), np.float32))
    wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, wide / wide.sum(1, keepdims=True), rtol=2e-6)
    texts = [one.source.text for one in configs.launches(lower(body).kernel, lower(body).symbols)]
    assert [text.count("for back_k in") for text in texts] == ([0] if n == 50 else [0, 0] if n == 2617 else [1])


@pytest.mark.parametrize(("count", "is_one"), [("m", True), ("n", False)])
def test_symbolic_counts(count, is_one):
    """A mean over rows of a symbolic size divides by an input that stands for it; what divides by another number is none."""
    scope = Scope()
    sizes = {name: scope.size(name, now) for name, now in (("n", 5), ("m", 40))}
    b = Builder("about_the_mean")
    x = b.input("x", Aval(tuple(sizes.values()), dt.float32))
    mean = ew.div(sum_(x, dim=(1,), keepdim=True), sizes[count])
    centred = ew.sub(x, expand(mean, shape=x.shape))
    graph = lift_numbers(b.finish([sum_(ew.mul(centred, centred), dim=(1,), keepdim=False)])).graph
    step, = plan(graph).steps
    assert any(i.attr == SPREAD for i in step.lowered.kernel.instructions()) == is_one
