"""`cond` in exported models: they take the branch that each call's arguments ask for, and refuse what would not be eager's."""

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import func, jit, nn
from ingot.jit import ExportError, from_onnx, to_onnx


class Net(nn.Module):
    """Weights and layers in either branch, what both read, and several results."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 5), nn.Linear(5, 5)
        self.deep = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))

    def forward(self, x):
        h = x.mean(1)
        a, b = ingot.cond(x.mean() > 0, lambda x: (self.first(x), h + 1),
                          lambda x: (self.deep(x) + x.sum(2, keepdim=True).expand(*x.shape[:2], 5), h * 2), (x,))
        return self.last(a).softmax(-1), b, a.reshape(-1, 5)


def nested(x):
    zeros = ingot.zeros(3)

    def positive():
        y = ingot.zeros(3)
        y[0] = x[0, 1]
        y += x[0, :3]
        return {"y": y, "n": 3, "k": ingot.cond(x[0, 0] > 1, lambda: y * 2, lambda: y)}

    def negative():
        return {"y": zeros.clone(), "n": 3, "k": ingot.cond(x[0, 0] < 1, lambda: x[0, :3] * 2, lambda: zeros.add(1))}

    return ingot.cond(x.sum() > 0, positive, negative)


def twice(x):
    positive = x.sum() > 0
    first = ingot.cond(positive, lambda: x, lambda: x * 2)
    return first, ingot.cond(positive, lambda: first, lambda: x)


def tracked(x):
    with ingot.enable_grad():
        return x.detach().requires_grad_() * 2


class Forces(nn.Module):
    """Slopes, and slopes of slopes, of an energy whose branches are nan where they are not taken; what enters is an operand,
    comes from around, or is handed on as it came."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        with ingot.enable_grad():
            x = x.detach().requires_grad_()
            h = x * 2
            positive = x.mean() > 0
            e = ingot.cond(positive, lambda h: self.a(h).tanh().sum() + (h.mean() + 1e-3).sqrt(),
                           lambda h: self.b((1e-3 - h.mean()).sqrt() * h).square().mean() * 0.01, (h,))
            k = ingot.cond(positive, lambda: h, lambda: ingot.cond(x[0, 0].sum() > 0, lambda: h.sin(), lambda: h.cos() + x))
            slope, = ingot.autograd.grad(e + k.tanh().sum(), x, create_graph=True)
            return e.detach(), slope.detach(), ingot.autograd.grad(slope.square().sum(), x)[0]


CASES = {"forces": lambda: (Forces(), (2, 3, 4), {"x": {0: "n"}}),
         "grad": lambda: (func.grad(lambda x: ingot.cond(x.sum() > 0, lambda: x.sum().sqrt(), lambda: x.cos().sum())), (2, 4),
                          {"x": {0: "n"}}),
         "twice": lambda: (twice, (2, 4), {"x": {0: "n"}}),
         "net": lambda: (Net().eval(), (2, 3, 4), {"x": {0: "n", 1: "t"}}),
         "nested": lambda: (nested, (2, 4), {"x": {0: "n"}}),
         "whole numbers": lambda: (lambda x: ingot.cond(x.amax().int(), lambda: x * 2, lambda: x), (2, 4), {"x": {0: "n"}}),
         "weights alone": lambda: (lambda x, w=ingot.ones(2): ingot.cond(w.sum() > 0, lambda: x * 2, lambda: x), (2, 4), {})}


def leaves(tree):
    return [np.asarray(t.detach()) for t in ingot.utils._pytree.tree_leaves(tree) if isinstance(t, ingot.Tensor)]


def inputs(shape, dynamic):
    """Arguments for either branch and either one in it, of several sizes."""
    rng = np.random.default_rng(0)
    for n in (shape[0], 5, 1) if dynamic else (shape[0],):
        for middle in (-3, -0.3, 0.3, 3):
            x = (rng.standard_normal((n, *shape[1:])) * 0.3 + middle).astype(np.float32)
            yield ingot.tensor(x)
            x = x.copy()
            x[0, 0] = -x[0, 0]
            yield ingot.tensor(x)


def close(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_a_model_takes_the_branch_of_its_arguments(name, tmp_path):
    fn, shape, dynamic = CASES[name]()
    model = jit.export(fn, (ingot.rand(*shape),), tmp_path / "model.ingot", dynamic=dynamic)
    for x in inputs(shape, dynamic):
        close(leaves(model(x)), leaves(fn(x)))
        close(leaves(jit.trace(model)(x)), leaves(fn(x)))


@pytest.mark.parametrize("name", CASES)
def test_onnx_has_branches(name, tmp_path):
    pytest.importorskip("onnx")
    fn, shape, dynamic = CASES[name]()
    data = to_onnx(fn, (ingot.rand(*shape),), dynamic=dynamic)
    back = from_onnx(data)
    again = jit.export(back, (ingot.rand(*shape),), tmp_path / "again.ingot", dynamic=dynamic)
    for x in inputs(shape, dynamic):
        close(leaves(tuple(back(x)) if isinstance(back(x), (tuple, list)) else back(x)), leaves(fn(x)))
        close(leaves(again(x)), leaves(fn(x)))


@pytest.mark.parametrize("name", CASES)
def test_onnx_runtime_agrees(name):
    ort = pytest.importorskip("onnxruntime")
    fn, shape, dynamic = CASES[name]()
    session = ort.InferenceSession(to_onnx(fn, (ingot.rand(*shape),), dynamic=dynamic), providers=["CPUExecutionProvider"])
    for x in inputs(shape, dynamic):
        close(session.run(None, {"x": x.numpy()}), leaves(fn(x)))


def test_a_branch_contains_what_it_alone_needs():
    onnx = pytest.importorskip("onnx")

    def kinds(graph):
        inner = [kinds(a.g) for node in graph.node for a in node.attribute if a.HasField("g")]
        return [n.op_type for n in graph.node if n.op_type in ("Sin", "Cos", "Tanh", "Exp", "If")], inner

    def fn(x):
        both = x.exp()
        return ingot.cond(x.sum() > 0, lambda: (both.sin(), both), lambda: (both.cos(), both.tanh()))[0]

    graph = onnx.load_from_string(to_onnx(fn, (ingot.ones(3),))).graph
    assert kinds(graph) == (["Exp", "If"], [(["Cos"], []), (["Sin"], [])])


REFUSED = {
    "shapes": (lambda x: ingot.cond(x.sum() > 0, lambda: x, lambda: x[:2]),
               r"one shape and dtype, got float32\[3\] and float32\[2\]"),
    "structures": (lambda x: ingot.cond(x.sum() > 0, lambda: (x, x), lambda: x), "results of one structure"),
    "numbers": (lambda x: ingot.cond(x.sum() > 0, lambda: (x, 1), lambda: (x, 2)), "return 1 and 2"),
    "several answers": (lambda x: ingot.cond(x > 0, lambda: x, lambda: x), "one element"),
    "writes": (lambda x: (lambda z: ingot.cond(x.sum() > 0, lambda: z.add_(1), lambda: z))(x * 2), "has not made"),
    "a result is written": (lambda x: ingot.cond(x.sum() > 0, lambda: x, lambda: x * 2).add_(1), "return a clone"),
    "what it came from is written": (
        lambda x: (lambda z: (ingot.cond(x.sum() > 0, lambda: z, lambda: z * 2), z.add_(1)))(x * 2)[0], "return a clone"),
    "read outside": (
        lambda x: (lambda box: (ingot.cond(x.sum() > 0, lambda: box.append(x * 2) or x.sin(), lambda: x), box[0]))([])[1],
        "made is read outside"),
    "errors": (lambda x: ingot.cond(x.sum() > 0, lambda: x, lambda: ingot.linalg.inv(x)), "false_fn of cond .* fails"),
    "histories": (lambda x: ingot.cond(x.sum() > 0, lambda: tracked(x), lambda: x), "a history where gradients are off"),
    "loops": (lambda x: ingot._higher_order_ops.while_loop(lambda x: x.sum() < 10, lambda x: x * 2, (x,)), "how many rounds"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_branches_that_would_differ_from_eager_are_refused(name, tmp_path):
    fn, words = REFUSED[name]
    with pytest.raises(ExportError, match=words):
        jit.export(fn, (ingot.ones(3),), tmp_path / "model.ingot")
    assert not (tmp_path / "model.ingot").exists()


def test_a_traced_function_still_takes_one_branch():
    traced = jit.trace(lambda x: ingot.cond(x.sum() > 0, lambda: x.sin(), lambda: x[:1]))
    for x in (ingot.ones(3), -ingot.ones(3), ingot.ones(3)):
        assert traced(x).shape == ((3,) if x[0] > 0 else (1,))
