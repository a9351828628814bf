"""Padded columns between products: matrices of odd width are widened, and no result depends on the padding."""

import numpy as np
import pytest

import ingot
import mock_cuda
from graph_interpreter import interpret
from graphs import check_rewrite, check_same_meaning, check_untouched, graph_of, same_bits
from ingot import jit
from ingot.nn import functional as F
from ingot.passes.layout import pad_columns as passes
from ingot.passes.layout.pad_columns import pad_columns


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(passes, "LEAST", 1)
    monkeypatch.setattr(passes, "COLUMNS", 8)


def test_a_matrix_between_products_is_wider():
    check_rewrite(pad_columns, """
        graph g(%x: f32[6,4], %w: f32[4,5], %y: f32[5,4]) {
          %0: f32[6,5] = matmul(%x, %w)
          %1: f32[6,5] = exp(%0)
          %2: f32[6,4] = matmul(%1, %y)
          return %2
        }""", """
        graph g(%x: f32[6,4], %w: f32[4,5], %y: f32[5,4]) {
          %0: f32[4,8] = pad(%w, high=(0, 3), interior=(0, 0), low=(0, 0), value=0)
          %1: f32[6,8] = matmul(%x, %0)
          %2: f32[6,8] = exp(%1)
          %3: i32[6,8] = iota(None, dim=1, dtype=i32, shape=(6, 8))
          %4: bool[6,8] = lt(%3, 5)
          %5: f32[6,8] = where(%4, %2, 0.0)
          %6: f32[8,4] = pad(%y, high=(3, 0), interior=(0, 0), low=(0, 0), value=0)
          %7: f32[6,4] = matmul(%5, %6)
          return %7
        }""")


CLASSES = """
    graph g(%x: {kind}[6,4], %w: {kind}[5,4], %b: {kind}[5], %t: i64[6]) {{
      %0: {kind}[4,5] = permute(%w, dims=(1, 0))
      %1: {kind}[6,5] = matmul(%x, %0)
      %2: {kind}[6,5] = expand(%b, shape=(6, 5))
      %3: {kind}[6,5] = add(%1, %2)
      %4: f32[6,5] = cast(%3, dtype=f32)
      %5: f32[6,1] = amax(%4, dim=(1,), keepdim=True)
      %6: f32[6,5] = expand(%5, shape=(6, 5))
      %7: f32[6,5] = sub(%4, %6)
      %8: f32[6,5] = exp(%7)
      %9: f32[6] = sum(%8, dim=(1,), keepdim=False)
      %10: f32[6] = take_class(%4, %t)
      %11: i64[6,5] = iota(None, dim=1, dtype=i64, shape=(6, 5))
      %12: i64[6,1] = reshape(%t, shape=(6, 1))
      %13: i64[6,5] = expand(%12, shape=(6, 5))
      %14: bool[6,5] = eq(%11, %13)
      %15: f32[6,5] = where(%14, 0.0, %8)
      %16: {kind}[6,5] = cast(%15, dtype={kind})
      %17: {kind}[6,4] = matmul(%16, %w)
      %18: {kind}[5,6] = permute(%16, dims=(1, 0))
      %19: {kind}[5,4] = matmul(%18, %x)
      %20: {kind}[5] = sum(%16, dim=(0,), keepdim=False)
      return %9, %10, %17, %19, %20
    }}"""


@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize("seed", range(4))
def test_a_classifier_and_its_gradients_mean_the_same(kind, seed):
    before = graph_of(CLASSES.format(kind=kind))
    after = pad_columns(before)
    assert [n.output.shape for n in after.nodes if n.op.name == "matmul"] == [(6, 8), (6, 4), (8, 4)]
    check_same_meaning(before, after, seed, exact=False)


# Function of the product -> (element of the product, element behind the function)
ELEMENTS = {"exp": (0.0, 1.0), "neg": (2.0, -2.0), "log": (0.0, -np.inf), "log, neg": (0.0, np.inf), "neg of zero": (0.0, -0.0)}


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("reduction", sorted(op.name for op in passes.NEUTRAL))
def test_new_columns_change_no_reduction(reduction, name):
    """Columns of another neutral number would be seen beside elements of one sign, zeros of one sign, or infinities."""
    product, element = ELEMENTS[name]
    first, second = [*name.replace(" of zero", "").split(", "), "relu"][:2]
    text = f"""
        graph g(%x: f32[6,4], %w: f32[4,5], %y: f32[5,4]) {{
          %0: f32[6,5] = matmul(%x, %w)
          %1: f32[6,5] = {first}(%0)
          %2: f32[6,5] = {second}(%1)
          %3: f32[6] = {reduction}(%2, dim=(1,), keepdim=False)
          %4: f32[6,4] = matmul(%2, %y)
          return %3, %4
        }}"""
    if second == "relu":
        text = text.replace("          %2: f32[6,5] = relu(%1)\n", "").replace("(%2,", "(%1,")
    before = graph_of(text)
    after = pad_columns(before)
    assert {n.output.shape for n in after.nodes if n.op.name == "matmul"} == {(6, 8), (6, 4)}
    arrays = [np.full((6, 4), product / 4, np.float32), np.ones((4, 5), np.float32), np.ones((5, 4), np.float32)]
    expected, found = (interpret(g, arrays).outputs[0] for g in (before, after))
    assert (expected == (5 * element if reduction == "sum" else element)).all() and same_bits(found, expected)


@pytest.mark.parametrize("change", [
    ("return %2", "return %2, %1"),                      # somebody else sees it
    ("exp(%0)", "mul(%0, %z)"),                         # beside a matrix that is as odd
    ("%2: f32[6,4] = matmul(%1, %y)", "%2: f32[6,5] = cumsum(%1, dim=1)"),
    ("f32[6,5]", "f32[6,8]"),
], ids=["shown", "beside another", "read otherwise", "even"])
def test_others_stay(change):
    text = """
        graph g(%x: f32[6,4], %w: f32[4,5], %y: f32[5,4], %z: f32[6,5]) {
          %0: f32[6,5] = matmul(%x, %w)
          %1: f32[6,5] = exp(%0)
          %2: f32[6,4] = matmul(%1, %y)
          return %2
        }"""
    text = text.replace(*change)
    check_untouched(pad_columns, text.replace("[4,5]", "[4,8]").replace("[5,4]", "[8,4]") if "[6,8]" in text else text)


def test_a_step_of_a_classifier_on_a_device():
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((12, 24), (11, 24))]
    targets = ingot.tensor(rng.integers(0, 11, 12))

    def step(x, w, y):
        with ingot.amp.autocast("cuda", dtype=ingot.bfloat16):
            loss = F.cross_entropy(x @ w.T, y)
        return loss.detach(), *ingot.autograd.grad(loss, (x, w))

    with mock_cuda.installed() as cuda:
        x, w = (ingot.tensor(a).cuda().requires_grad_() for a in arrays)
        want = [r.cpu().numpy() for r in step(x, w, targets.cuda())]
        traced = jit.trace(step)
        traced(x, w, targets.cuda())
        before = len(cuda.launches)
        got = [r.cpu().numpy() for r in traced(x, w, targets.cuda())]
        sizes = [one["values"] for one in cuda.launches[before:] if one["name"].startswith("matmul")]
        assert len(sizes) == 3 and all(16 in one and 11 not in one for one in sizes), f"11 classes are 16 columns: {sizes}"
    for a, b in zip(want, got):
        np.testing.assert_allclose(b, a, rtol=1e-2, atol=1e-3)
