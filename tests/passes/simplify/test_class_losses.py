"""Losses over classes as operators that fuse: the bits of their kernels, one sweep, errors."""

import numpy as np
import pytest

import ingot
from graphs import check_untouched, same_bits
from ingot import jit, nn
from ingot.ir.dtype import float32, float64, int64
from ingot.ir.errors import DimError
from ingot.ir.graph.graph import Builder
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.nn import loss
from ingot.nn import functional as F
from ingot.passes.fusion import lower
from ingot.passes.schedule.plan_memory import plan
from ingot.passes.schedule.plan_steps import Run
from ingot.passes.simplify.class_losses import BODIES, expand_class_losses
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph.program import CompiledGraph

SHAPES = [(1, 1), (5, 7), (64, 33), (3, 40, 2), (4, 3000)]


def targets(rng, shape, ignore):
    found = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    found.reshape(-1)[::3] = ignore
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("kind", [float32, float64], ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_forward_gives_the_bits_of_the_kernel(shape, reduction, kind, smoothing):
    rng = np.random.default_rng(3)
    x, y = (4 * rng.standard_normal(shape)).astype(kind.np), targets(rng, shape, -100)
    params = {"ignore_index": -100, "label_smoothing": smoothing, "reduction": reduction}
    b = Builder("g")
    logits, target = b.input("x", Aval(shape, kind)), b.input("y", Aval(y.shape, int64))
    after = verify(expand_class_losses(b.finish(loss.cross_entropy(logits, target, None, **params))))
    assert not any(n.op in BODIES for n in after.nodes)
    with np.errstate(all="ignore"):
        want = kernel_of(loss.cross_entropy)(x, y, None, **params)
    for a, c in zip(want, CompiledGraph(after, kernel_of).run([x, y]), strict=True):
        assert same_bits(a, c), f"seed 3: {np.abs(a - c).max()}"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", [float32, float64], ids=str)
def test_the_gradient_gives_the_bits_of_the_kernel(shape, kind):
    rng = np.random.default_rng(4)
    x, y = (4 * rng.standard_normal(shape)).astype(kind.np), targets(rng, shape, 0)
    rows = [rng.standard_normal(y.shape).astype(kind.np) for _ in range(3)]
    b = Builder("g")
    inputs = [b.input("x", Aval(shape, kind)), *[b.input(n, Aval(y.shape, kind)) for n in "lab"],
              b.input("y", Aval(y.shape, int64))]
    after = verify(expand_class_losses(b.finish([loss.softmax_minus_onehot(*inputs)])))
    want, (got,) = kernel_of(loss.softmax_minus_onehot)(x, *rows, y), CompiledGraph(after, kernel_of).run([x, *rows, y])
    assert same_bits(want, got), f"seed 4: {np.abs(want - got).max()}"


def training_graph(shape, kind=float32, ignore=-100):
    b = Builder("g")
    x, y = b.input("x", Aval(shape, kind)), b.input("y", Aval((shape[0], *shape[2:]), int64))
    params = {"ignore_index": ignore, "label_smoothing": 0.0, "reduction": "mean"}
    out = loss.cross_entropy(x, y, None, **params)
    w = loss.class_weight(y, None, ignore_index=ignore, classes=shape[1], dtype=kind)
    rows = ew.mul(loss.row_gradient(b.input("g", Aval((), kind)), w, "mean"), w)
    return b.finish([out[0], loss.softmax_minus_onehot(x, out[1], rows, rows, y)])


def test_loss_and_gradient_are_one_sweep_over_the_logits():
    run, = plan(expand_class_losses(training_graph((64, 100))), scratch_of=lambda step: 0).steps
    assert type(run) is Run
    large = [g for g in run.groups if g.shape == (64, 100)]
    assert len(large) == 1


def test_an_invalid_target_raises_before_anything_is_stored():
    made = CompiledGraph(expand_class_losses(training_graph((4, 3))), kernel_of)
    x, g = np.zeros((4, 3), np.float32), np.ones((), np.float32)
    for bad in (3, -1, 2**40):
        with pytest.raises(DimError, match=f"target {bad} is out of bounds for 3 classes"):
            made.run([x, np.array([0, 1, bad, 2]), g])
    made.run([x, np.array([0, 1, -100, 2]), g])


def test_ignore_index_may_be_any_number():
    made = CompiledGraph(expand_class_losses(training_graph((3, 5), ignore=2**32 + 1)), kernel_of)
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    _, dx = made.run([x, np.array([2**32 + 1, 0, 4]), np.ones((), np.float32)])
    assert not dx[0].any()
    assert dx[1].any()


def test_weights_and_low_precision_stay_whole():
    tail = "ignore_index=-100, label_smoothing={s}, reduction='mean'"
    for kind, weight, smoothing in (("f32", "%w", 0.0), ("f32", "%w", 0.1), ("bf16", "None", 0.0)):
        check_untouched(expand_class_losses, f"""
            graph g(%x: {kind}[3,4], %y: i64[3], %w: {kind}[4]) {{
              %0: {kind}[], %1: {kind}[3] = cross_entropy(%x, %y, {weight}, {tail.format(s=smoothing)})
              return %0
            }}""")


def test_a_class_that_may_be_out_of_range_is_not_picked_in_a_kernel():
    x = ingot.arange(20.0).reshape(4, 5)
    classes = ingot.tensor([0, -1, 4, 7])

    def picked(x, classes):
        return x.sum(1) + loss.take_class(x, classes)

    traced = jit.trace(picked)
    for _ in range(2):
        assert traced(x, classes).tolist() == [10.0, 35.0, 74.0, 85.0]


@pytest.mark.parametrize("classes", [10, lower.HELD, lower.HELD + 1, 50257])
@pytest.mark.parametrize("logits", ["a product", "a bias behind it", "a sum beside it"])
def test_a_step_of_a_language_model_is_traced_over_any_number_of_classes(logits, classes):
    """Rows that kernels hold, and longer ones, whose picked elements are a kernel of its own."""
    ingot.manual_seed(5)
    head, shift = nn.Linear(8, classes, bias=logits != "a product"), ingot.randn(classes)
    x, y = ingot.randn(3, 7, 8, requires_grad=True), ingot.randint(classes, (3, 7))

    def step(x, y):
        head.zero_grad()
        out = head(x)
        out = out + shift if logits == "a sum beside it" else out
        loss = F.cross_entropy(out.reshape(-1, classes), y.reshape(-1))
        loss.backward()
        return loss.detach(), head.weight.grad.clone()

    want, traced = step(x, y), jit.trace(step)
    for _ in range(2):
        for a, b in zip(traced(x, y), want, strict=True):
            assert a.allclose(b, rtol=1e-5, atol=1e-7), f"seed 5: {(a - b).abs().max()}"
