"""Gradient rules on large arrays, and on small ones that are frequent: one graph, with the bits of the rule's operators."""

import gc

import numpy as np
import pytest

import ingot
from ingot.nn import functional as F
from ingot.runtime.autograd import engine
from ingot.runtime.core import backend, node
from ingot.runtime.cpu.graph import composites
from ingot.runtime.cpu.memory import alloc

SHAPE = (190, 190)
FUNCTIONS = {
    "gelu": (F.gelu, True), "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), True), "silu": (F.silu, True),
    "mish": (F.mish, True), "softplus": (F.softplus, True), "tanh": (ingot.tanh, True), "sigmoid": (ingot.sigmoid, True),
    "log_sigmoid": (F.logsigmoid, True), "pow": (lambda x: ingot.abs(x) ** 2.5, True), "atan": (ingot.atan, True),
    "exp": (ingot.exp, False), "mul": (lambda x: x * (x.detach() + 1), False), "neg": (lambda x: -x, False),
    "divided by itself and one": (lambda x: x / (x * x + 1), True), "larger": (lambda x: ingot.maximum(x, -x), True),
    "where": (lambda x: ingot.where(x > 0, x, x * 2), False), "with itself": (lambda x: x * x, True),
    "with itself, elsewhere, too": (lambda x: (x * x).exp() + x * x * 0.5 + x + x, False),
}


def gradient(f, x, g):
    x.grad = None
    f(x).backward(g)
    return x.grad.numpy().copy()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16], ids=str)
def test_bits_are_those_of_the_operations(name, dtype, monkeypatch):
    f, _ = FUNCTIONS[name]
    ingot.manual_seed(3)
    x, g = ingot.randn(SHAPE).to(dtype).requires_grad_(), ingot.randn(SHAPE).to(dtype)
    found = [gradient(f, x, g) for _ in range(3)]
    monkeypatch.setattr(node, "LARGE", 1 << 60)
    expected = gradient(f, x, g)
    for each in found:
        np.testing.assert_array_equal(each, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_which_rules_are_one_kernel(name):
    f, joined = FUNCTIONS[name]
    x, g = ingot.randn(SHAPE).requires_grad_(), ingot.randn(SHAPE)
    composites.rules_of.cache_clear()
    made = []
    for _ in range(3):
        gradient(f, x, g)
        made.append([rule for rule in _rules() if any(callable(v) for v in rule._calls.values())])
    assert [bool(m) for m in made] == [False, joined, joined]


def _rules():
    return [r for r in gc.get_objects() if type(r) is composites.Rules]


def test_gradients_of_other_strides():
    x = ingot.randn(SHAPE).requires_grad_()
    spread = [ingot.randn(*shape).expand(SHAPE) for shape in ((SHAPE[0], 1), (1, 1))]
    for g in (ingot.randn(SHAPE), ingot.randn(SHAPE).t(), *spread):
        for f in (F.gelu, FUNCTIONS["with itself, elsewhere, too"][0]):
            expected = gradient(f, x, g.contiguous())
            for _ in range(3):
                np.testing.assert_array_equal(gradient(f, x, g), expected)


ALONE = (None,) * 4         # a gradient, a result and two arguments, none of them several


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)], ids=["both", "image", "grid"])
@pytest.mark.parametrize("mode, padding", [("bilinear", "zeros"), ("bilinear", "border"), ("bicubic", "reflection")])
def test_a_joint_rule_becomes_one_graph_with_the_same_bits(mode, padding, wanted):
    composites.joint_rule_of.cache_clear()
    ingot.manual_seed(5)
    x, grid = ingot.randn(1, 3, 9, 8), ingot.rand(1, 110, 100, 2) * 2.4 - 1.2
    x, grid = x.requires_grad_(wanted[0]), grid.requires_grad_(wanted[1])
    seed = ingot.randn(1, 3, 110, 100)
    found, compiled = [], []
    for _ in range(3):
        x.grad = grid.grad = None
        F.grid_sample(x, grid, mode, padding, align_corners=False).backward(seed)
        found.append([t.grad.numpy().tobytes() for t, need in zip((x, grid), wanted) if need])
        rule = composites.joint_rule_of(ingot.ir.ops.nn.resample.grid_sample, wanted, ALONE)
        compiled.append(any(callable(v) for v in rule._calls.values()))
    assert compiled == [False, True, True] and found[0] == found[1] == found[2]


def test_small_calls_of_a_joint_rule_are_compiled_when_they_come_often(monkeypatch):
    composites.joint_rule_of.cache_clear()
    monkeypatch.setattr(node, "CALL_THRESHOLD", 4)
    x, grid = ingot.randn(1, 2, 5, 5, requires_grad=True), ingot.rand(1, 2, 4, 4).permute(0, 2, 3, 1)
    rule = composites.joint_rule_of(ingot.ir.ops.nn.resample.grid_sample, (True, False), ALONE)
    for turn in range(7):
        assert any(callable(v) for v in rule._calls.values()) == (turn > 4)
        F.grid_sample(x, grid, align_corners=False).sum().backward()


# Functions whose own rule is an operator, of one or several results: gradients of gradients are rules of those.
TWICE = {
    "cross_entropy": lambda x, w: F.cross_entropy(x, ingot.arange(6) % 5),
    "layer_norm": lambda x, w: F.layer_norm(x, (5,)),
    "layer_norm, weighted": lambda x, w: F.layer_norm(x, (5,), w, w),
    "rms_norm": lambda x, w: F.rms_norm(x, (5,)),
    "rms_norm, weighted": lambda x, w: F.rms_norm(x, (5,), w),
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, training=True),
    "batch_norm, weighted": lambda x, w: F.batch_norm(x, None, None, w, w, training=True),
    "cdist": lambda x, w: ingot.cdist(x, w.expand(2, 5), p=3),
}


@pytest.mark.parametrize("which", ["x", "w", "both"])
@pytest.mark.parametrize("name", TWICE)
def test_rules_of_several_gradients_become_one_graph_with_the_same_bits(name, which, monkeypatch):
    monkeypatch.setattr(node, "CALL_THRESHOLD", 2)
    composites.joint_rule_of.cache_clear()
    ran: list = []
    joint_rule = composites.joint_rule

    def counted(op, needs, *rest):
        made = joint_rule(op, needs, *rest)
        ran.append(made is not None)
        return made

    monkeypatch.setattr(backend.HOST, "joint_rule", counted)
    ingot.manual_seed(6)
    x, w = ingot.randn(6, 5, requires_grad=True), ingot.randn(5, requires_grad=True)
    found = []
    for _ in range(5):
        once = ingot.autograd.grad(TWICE[name](x, w).sin().sum(), (x, w), create_graph=True, allow_unused=True)
        wanted = [g for g, n in zip(once, "xw") if g is not None and which in (n, "both")]
        if not wanted:
            return
        twice = ingot.autograd.grad(sum((g.cos().sum() for g in wanted), start=0.0), (x, w), allow_unused=True)
        found.append([None if g is None else g.numpy().tobytes() for g in twice])
    assert any(ran) and not ran[0] and all(f == found[0] for f in found)


ALONG = {
    "var": lambda x, **along: x.var(**along), "std": lambda x, **along: x.std(**along),
    "logsumexp": lambda x, **along: x.logsumexp(**along), "norm": lambda x, **along: x.norm(**along),
    "norm of order 3": lambda x, **along: x.norm(3, **along), "prod": lambda x, **along: x.prod(**along),
    "amax": lambda x, **along: x.amax(**along), "amin": lambda x, **along: x.amin(**along),
    "cross": lambda x, *, dim, keepdim: ingot.linalg.cross(x[:3, :3].cos(), x[1:4, 1:4].sin(), dim=dim),
    "normalize": lambda x, *, dim, keepdim: F.normalize(x, dim=dim),
    "cosine_similarity": lambda x, *, dim, keepdim: F.cosine_similarity(x, x.flip(dim), dim=dim),
}


@pytest.mark.parametrize("lies", ["in rows", "transposed", "every other"])
@pytest.mark.parametrize("keepdim", [False, True], ids=["without", "with"])
@pytest.mark.parametrize("name", ALONG)
def test_rules_of_reductions_become_one_graph_with_the_same_bits(name, keepdim, lies, monkeypatch):
    monkeypatch.setattr(node, "CALL_THRESHOLD", 2)
    composites.rules_of.cache_clear()
    ingot.manual_seed(7)
    x = ingot.randn(5, 12)
    x = (x.T.contiguous().T if lies == "transposed" else x).requires_grad_()

    def read(t):
        return t[:, ::2] if lies == "every other" else t

    for dim in (0, 1):
        def f(t, dim=dim):
            return ALONG[name](read(t), dim=dim, keepdim=keepdim)

        like = f(x).detach()
        for g in (ingot.randn_like(like), ingot.full((), 1.5).expand(like.shape)):
            found = [gradient(f, x, g) for _ in range(5)]
            assert all(each.tobytes() == found[0].tobytes() for each in found)
            assert all(each.strides == found[0].strides for each in found)
    if lies == "in rows":
        assert any(callable(v) for r in gc.get_objects() if isinstance(r, composites.Rules) for v in r._calls.values())


def test_a_gradient_that_is_one_number_is_read_once():
    x = ingot.randn(SHAPE).requires_grad_()
    composites.rules_of.cache_clear()
    for scale in (1.0, 1.0, 3.0, -0.0):
        x.grad = None
        (F.silu(x).sum() * scale).backward()
        np.testing.assert_array_equal(x.grad.numpy(), gradient(F.silu, x, ingot.full(SHAPE, scale)))
    assert any(callable(v) for rule in _rules() for one in rule.of_one.values() for v in one._calls.values())


def test_sums_of_gradients_do_not_change_shared_arrays():
    for size in (30, SHAPE[0]):
        x, c, g = (ingot.randn(size, size) for _ in range(3))
        x.requires_grad_()
        c.requires_grad_()
        seen: list = []
        for _ in range(2):
            x.grad = c.grad = None
            before, a, d = g.clone(), x * 1.0, c * 1.0
            d.retain_grad()
            d.register_hook(seen.append)
            ((a + d) + a * 3 + a).backward(g)
            for held in (g, d.grad, c.grad, seen[-1]):
                np.testing.assert_array_equal(held.detach().numpy(), before.numpy())
            np.testing.assert_array_equal(x.grad.numpy(), (g + g * 3 + g).numpy())


def test_a_sum_of_gradients_takes_the_memory_of_the_first(monkeypatch):
    x = ingot.randn(512, 512).requires_grad_()

    def arrays_made():
        for _ in range(3):
            x.grad = None
            loss = (x.exp() * 2 + x.sin()).sum()
            before = alloc.stats()
            loss.backward()
        after = alloc.stats()
        return after["reused"] + after["mapped"] - before["reused"] - before["mapped"]

    made = arrays_made()
    monkeypatch.setattr(engine, "can_add_to", lambda held, g: False)
    assert arrays_made() == made + 1


def test_conditions_may_be_numbers_with_large_arrays():
    x = (ingot.rand(SHAPE) + 0.5).requires_grad_()
    (x ** 2.5).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.5 * x.detach().numpy() ** 1.5, rtol=1e-5)
