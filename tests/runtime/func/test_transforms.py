"""`ingot.func` as in PyTorch's tutorials, against plain computations."""

import importlib

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import func, nn
from ingot.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)
from ingot.ir.errors import IngotError

functional = importlib.import_module("ingot._functorch.make_functional")


def close(a, b, tol=1e-4):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tol, atol=tol)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, 1), nn.Conv2d(4, 6, 3, 1)
        self.fc = nn.Linear(6 * 2 * 2, 5)

    def forward(self, x):
        x = nn.functional.relu(self.conv2(nn.functional.relu(self.conv1(x))))
        return nn.functional.log_softmax(self.fc(nn.functional.max_pool2d(x, 2).flatten(1)), dim=1)


def losses(model):
    def loss(params, x, y):
        out = functional_call(model, params, (x.unsqueeze(0),))
        return nn.functional.nll_loss(out, y.unsqueeze(0))

    return loss


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("chunk_size", [None, 3])
def test_gradients_of_each_sample(traced, chunk_size):
    model, xs, ys = Net(), ingot.randn(4, 1, 8, 8), ingot.randint(0, 5, (4,))
    params = {k: v.detach() for k, v in model.named_parameters()}
    each = vmap(grad(losses(model)), in_dims=(None, 0, 0), chunk_size=chunk_size)
    if traced:
        each = ingot.jit.trace(each)
        each(params, xs + 1, ys)
    found = each(params, xs, ys)
    for i in range(4):
        model.zero_grad()
        nn.functional.nll_loss(model(xs[i:i + 1]), ys[i:i + 1]).backward()
        for name, p in model.named_parameters():
            close(found[name][i], p.grad)
            assert not found[name].requires_grad


def test_an_ensemble():
    models, x = [Net() for _ in range(3)], ingot.randn(2, 1, 8, 8)
    params, buffers = stack_module_state(models)
    assert all(p.requires_grad and p.is_leaf for p in params.values())
    out = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, x)
    close(out, ingot.stack([m(x) for m in models]))
    out.sum().backward()
    models[1](x).sum().backward()
    close(params["conv1.weight"].grad[1], models[1].conv1.weight.grad)


W = ingot.randn(4, 3, dtype=ingot.float64)


def curve(x):
    return ingot.sin(W @ x) * x.sum()


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians(jacobian):
    x = ingot.randn(3, dtype=ingot.float64)
    close(jacobian(curve)(x), ingot.autograd.functional.jacobian(curve, x), 1e-10)
    xs = ingot.randn(5, 3, dtype=ingot.float64)
    close(vmap(jacobian(curve))(xs), ingot.stack([ingot.autograd.functional.jacobian(curve, x) for x in xs]), 1e-10)
    if jacobian is jacrev:
        close(jacrev(curve, chunk_size=3)(x), jacrev(curve)(x), 1e-12)


@pytest.mark.parametrize("second", [hessian, lambda f: jacfwd(jacrev(f)), lambda f: jacrev(jacfwd(f)),
                                    lambda f: jacfwd(jacfwd(f))])
def test_hessians(second):
    def f(x):
        return (ingot.tanh(W @ x) ** 2).sum()

    x = ingot.randn(3, dtype=ingot.float64)
    close(second(f)(x), ingot.autograd.functional.hessian(f, x), 1e-9)
    xs = ingot.randn(2, 3, dtype=ingot.float64)
    close(vmap(second(f))(xs)[1], ingot.autograd.functional.hessian(f, xs[1]), 1e-9)
    traced = ingot.jit.trace(vmap(second(f)))
    for _ in range(3):
        close(traced(xs), vmap(second(f))(xs), 1e-12)
    assert traced.stats()["compiles"] == 1


def test_derivatives_along_directions_agree():
    x, t, c = (ingot.randn(n, dtype=ingot.float64) for n in (3, 3, 4))
    out, pushed = jvp(curve, (x,), (t,))
    _, pull = vjp(curve, x)
    close(ingot.dot(c, pushed), ingot.dot(pull(c)[0], t), 1e-10)
    value, push = linearize(curve, x)
    close(value, out, 1e-12)
    close(push(t), pushed, 1e-10)
    close(vmap(push)(ingot.stack([t, 2 * t]))[1], 2 * pushed, 1e-10)


def test_gradients_go_through_vmap_from_outside():
    w, xs = ingot.randn(3, requires_grad=True), ingot.randn(5, 3)
    inner = vmap(grad(lambda w, x: ((w * x).sum()) ** 3), in_dims=(None, 0))(w, xs)
    found, = ingot.autograd.grad(inner.sum(), w)
    dots = (xs * w).sum(1, keepdim=True)
    expected = (6 * dots * xs * xs.sum(1, keepdim=True)).sum(0)
    close(found, expected)


def test_kernels_of_tangents():
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    params = {k: v.detach() for k, v in net.named_parameters()}

    def f(params, x):
        return functional_call(net, params, (x.unsqueeze(0),)).squeeze(0)

    a, b = ingot.randn(4, 3), ingot.randn(5, 3)
    ja, jb = (vmap(jacrev(f), (None, 0))(params, x) for x in (a, b))
    kernel = sum(ingot.einsum("Naf,Mbf->NMab", ja[k].flatten(2), jb[k].flatten(2)) for k in params)

    def get(x1, x2):
        def func1(p):
            return f(p, x1)

        _, pull = vjp(func1, params)
        return vmap(lambda c: jvp(lambda p: f(p, x2), (params,), pull(c))[1])(ingot.eye(2))

    close(vmap(vmap(get, (None, 0)), (0, None))(a, b), kernel.transpose(2, 3), 1e-3)


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_random_numbers(randomness):
    out = vmap(lambda x: nn.functional.dropout(x, 0.5) + ingot.rand(20), randomness=randomness)(ingot.ones(6, 20))
    assert (ingot.unique(out, dim=0).shape[0] == 1) == (randomness == "same")
    with pytest.raises(IngotError, match="randomness"):
        vmap(lambda x: x + ingot.rand(20))(ingot.ones(6, 20))


def test_trees_and_dims():
    def f(d, pair):
        return {"sum": d["a"] + pair[0], "both": (pair[1], d["b"])}

    d, pair = {"a": ingot.randn(3, 5), "b": ingot.randn(2)}, (ingot.randn(3), ingot.randn(5, 3))
    out = vmap(f, in_dims=({"a": 1, "b": None}, (None, 0)), out_dims={"sum": 1, "both": (0, None)})(d, pair)
    close(out["sum"], d["a"] + pair[0][:, None])
    assert out["both"][0].shape == (5, 3) and out["both"][1].shape == (2,)


def test_writes_in_place():
    def f(x):
        y = ingot.zeros_like(x)
        y[1:] = x[:-1] * 2
        y += 1
        return y, x.clone().mul_(x.sum())

    xs = ingot.randn(4, 3)
    for found, expected in zip(vmap(f)(xs), zip(*map(f, xs))):
        close(found, ingot.stack(list(expected)))


def test_python_values_of_a_sample_raise():
    with pytest.raises(IngotError, match="each sample"):
        vmap(lambda x: x if x.sum() > 0 else -x)(ingot.randn(3, 2))
    with pytest.raises(IngotError, match="one for all samples"):
        vmap(lambda x: ingot.zeros(2).add_(x))(ingot.randn(3, 2))


def test_inner_loop_of_maml():
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    params = dict(net.named_parameters())

    def loss(params, x, y):
        return ((functional_call(net, params, (x,)) - y) ** 2).mean()

    def task(x, y):
        g = grad(loss)(params, x, y)
        moved = {k: params[k] - 0.1 * g[k] for k in params}
        return loss(moved, x, y)

    x, y = ingot.randn(3, 5, 2), ingot.randn(3, 5, 1)
    total = vmap(task)(x, y).mean()
    found = ingot.autograd.grad(total, list(params.values()))
    apart = ingot.autograd.grad(ingot.stack([task(a, b) for a, b in zip(x, y)]).mean(), list(params.values()))
    for a, b in zip(found, apart):
        close(a, b)


def test_values_and_aux():
    g, (value, aux) = grad_and_value(lambda x: ((x ** 2).sum(), {"x": x}), has_aux=True)(ingot.ones(3))
    assert value.item() == 3 and not aux["x"].requires_grad and not g.requires_grad


def test_gradients_pass_functions_without_batch_rules():
    x, y = ingot.randn(4, 5, 3, requires_grad=True), ingot.randint(0, 3, (4, 5))
    weight = ingot.randn(4, 3, requires_grad=True)
    out = vmap(lambda x, y, w: nn.functional.cross_entropy(nn.functional.layer_norm(x, (3,), w), y))(x, y, weight)
    found = ingot.autograd.grad(out.sum(), (x, weight))
    apart = sum(nn.functional.cross_entropy(nn.functional.layer_norm(a, (3,), w), b) for a, b, w in zip(x, y, weight))
    for a, b in zip(found, ingot.autograd.grad(apart, (x, weight))):
        close(a, b)


class Double(ingot.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 + 0 * x


class Powers(ingot.autograd.Function):
    """Two results, a plain argument, and an attribute that is a tensor."""

    @staticmethod
    def forward(ctx, x, w, n):
        ctx.n, ctx.root = n, x * w
        ctx.save_for_backward(x, w)
        return (x * w) ** n, w.sin()

    @staticmethod
    def backward(ctx, g, h):
        x, w = ctx.saved_tensors
        slope = g * ctx.n * (x * w if ctx.n == 2 else (x * w) ** (ctx.n - 1))
        return slope * w, slope * x + h * w.cos(), None


class ByBatch(Double):
    """A Function with its own batch rule."""

    seen: list = []

    @staticmethod
    def vmap(info, in_dims, x):
        ByBatch.seen.append((info.batch_size, in_dims, tuple(x.shape)))
        return ByBatch.apply(x.movedim(in_dims[0], -1)), -1


class Along(ingot.autograd.Function):
    """A Function with a jvp and no backward."""

    @staticmethod
    def forward(x, y):
        return x * y.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        out = 0
        if dx is not None:
            out = out + dx * y.exp()
        return out if dy is None else out + x * y.exp() * dy


PLAIN = {"Powers": (lambda x, w: sum(o.sum() for o in Powers.apply(x, w, 3)),
                    lambda x, w: ((x * w) ** 3).sum() + w.sin().sum()),
         "Double": (lambda x, w: (Double.apply(x) * w).sum(), lambda x, w: (2 * x * w).sum()),
         "ByBatch": (lambda x, w: (ByBatch.apply(x * w) ** 2).sum(), lambda x, w: ((2 * x * w) ** 2).sum()),
         "Along": (lambda x, w: Along.apply(x, w).sum(), lambda x, w: (x * w.exp()).sum())}


@pytest.mark.parametrize("in_dims", [(0, None), (0, 0), (None, 0)])
@pytest.mark.parametrize("name", PLAIN)
def test_functions_of_the_user(name, in_dims):
    """Values, gradients inside vmap, gradients from outside (one and two levels), and both."""
    mine, plain = PLAIN[name]
    shapes = [(4, 3) if d == 0 else (3,) for d in in_dims]

    def derivatives(f):
        x, w = (ingot.linspace(0.2, 1.5, 3 * (4 if s[0] == 4 else 1), dtype=ingot.float64).reshape(s).requires_grad_()
                for s in shapes)
        outer = vmap(f, in_dims)
        inner = vmap(grad(f, argnums=(0, 1)), in_dims)(x, w)
        twice = vmap(lambda k: outer(x * k, w))(ingot.tensor([1.0, 0.5], dtype=ingot.float64))
        totals = [outer(x, w).sum(), sum((g ** 2).sum() for g in inner), (twice ** 2).sum()]
        return [outer(x, w), *inner, twice, *[g for t in totals for g in ingot.autograd.grad(t, (x, w))]]

    for a, b in zip(derivatives(mine), derivatives(plain), strict=True):
        close(a, b, 1e-10)


def test_a_rule_of_the_user_sees_whole_batches():
    ByBatch.seen.clear()
    close(vmap(ByBatch.apply, 1)(ingot.ones(3, 4)), 2 * ingot.ones(4, 3))
    assert ByBatch.seen == [(4, (0,), (4, 3))]


def test_forward_mode_of_a_function_that_has_jvp():
    x, y, dx, dy = (ingot.randn(3, dtype=ingot.float64) for _ in range(4))
    out, moved = jvp(Along.apply, (x, y), (dx, dy))
    close(out, x * y.exp(), 1e-12)
    close(moved, (dx + x * dy) * y.exp(), 1e-12)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_layers_take_whole_batches(kind, traced, monkeypatch):
    """Per-sample gradients agree with single samples, and no sample runs alone."""
    net = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True)
    params = {k: v.detach() for k, v in net.named_parameters()}

    def loss(params, x):
        out, state = functional_call(net, params, (x,))
        return (out ** 2).sum() + sum(s.sin().sum() for s in (state if isinstance(state, tuple) else (state,)))

    xs = ingot.randn(3, 5, 2, 3)
    expected = [grad(loss)(params, x) for x in xs]
    monkeypatch.setattr("ingot.runtime.func.vmap_level.one_by_one", None)
    found = (ingot.jit.trace if traced else lambda f: f)(vmap(grad(loss), (None, 0)))(params, xs)
    for name in params:
        close(found[name], ingot.stack([e[name] for e in expected]), 1e-5)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss_takes_whole_batches(zero_infinity, monkeypatch):
    scores, targets = ingot.randn(3, 9, 2, 5), ingot.randint(1, 5, (3, 2, 3))

    def loss(x, y):
        return nn.functional.ctc_loss(x.log_softmax(-1), y, (9, 7), (3, 2), zero_infinity=zero_infinity)

    expected = ingot.stack([grad(loss)(x, y) for x, y in zip(scores, targets)])
    monkeypatch.setattr("ingot.runtime.func.vmap_level.one_by_one", None)
    close(vmap(grad(loss))(scores, targets), expected, 1e-5)


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_draws_by_rates(randomness):
    rates = ingot.full((4, 50), 20.0)
    for draw in (ingot.poisson, lambda r: ingot.binomial(r, r / 50)):
        out = vmap(draw, randomness=randomness)(rates)
        assert (ingot.unique(out, dim=0).shape[0] == 1) == (randomness == "same")


def written(x, i, j):
    x = x + 0.0 * i         # written values are separate for each sample
    x[i] = 7.0
    x[:, j] += x[i]
    return x


CHOSEN = {"row": lambda x, i, j: x[i], "column": lambda x, i, j: x[:, j], "one": lambda x, i, j: x[i, j],
          "of a part": lambda x, i, j: x[1:, j], "beside a number": lambda x, i, j: x[0, j],
          "from the end": lambda x, i, j: x[i - 3],
          "with more": lambda x, i, j: x[None, i, ..., 1:2], "beside a list": lambda x, i, j: x[i, [0, 2]], "written": written,
          "gradient": lambda x, i, j: grad(lambda x: (x[i] * x[:, j]).square().sum())(x)}


@pytest.mark.parametrize("choose", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("of_each", [False, True], ids=["of one", "of each"])
def test_indices_may_be_others_for_each_sample(choose, of_each):
    x = ingot.arange(27.0).reshape(3, 3, 3) if of_each else ingot.arange(9.0).reshape(3, 3)
    i, j = ingot.tensor([0, 2, 1]), ingot.tensor([1, 1, 2])
    got = vmap(choose, in_dims=(0 if of_each else None, 0, 0))(x, i, j)
    want = ingot.stack([choose(x[n] if of_each else x, int(i[n]), int(j[n])) for n in range(3)])
    assert ingot.equal(got, want)


@pytest.mark.parametrize("call", [
    lambda w: func.grad(lambda x: (x ** 3).sum())(w), lambda w: func.vjp(ingot.sin, w)[0],
    lambda w: func.vjp(ingot.sin, w)[1](w)[0], lambda w: func.jvp(ingot.sin, (w,), (w,))[1],
    lambda w: func.jacrev(ingot.sin)(w),
    lambda w: func.jacfwd(ingot.sin)(w), lambda w: func.hessian(lambda x: (x ** 3).sum())(w),
    lambda w: func.linearize(ingot.sin, w)[1](w)])
def test_results_have_a_history_where_gradients_are_on(call):
    """The transform computes derivatives in any case."""
    w = ingot.ones(3, requires_grad=True)
    want = call(w)
    with ingot.no_grad():
        got = call(w)
    assert want.requires_grad and not got.requires_grad and got.tolist() == want.tolist()


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd, func.hessian, lambda f: func.jacrev(f, chunk_size=2)])
def test_jacobians_of_nothing_are_empty(transform):
    assert transform(lambda x: x * 2)(ingot.ones(0)).numel() == 0


def test_one_tensor_has_one_value():
    """The names of a shared tensor are replaced together, so they cannot get different values."""
    net = nn.Module()
    net.a, net.b = nn.Linear(2, 2), nn.Linear(2, 2)
    net.b.weight = net.a.weight
    net.forward = lambda x: net.b(net.a(x))
    w = ingot.ones(2, 2)
    with pytest.raises(ValueError, match=r"different values for \['a.weight', 'b.weight'\]"):
        func.functional_call(net, {"a.weight": w, "b.weight": 2 * w}, ingot.ones(2))
    same = func.functional_call(net, {"a.weight": w, "b.weight": w}, ingot.ones(2))
    assert (same == func.functional_call(net, {"a.weight": w}, ingot.ones(2))).all()
    func.functional_call(net, {"a.weight": w, "b.weight": 2 * w}, ingot.ones(2), tie_weights=False)


# The steps of vmap that libraries replace.


class Named:
    """A container unknown to pytree, whose tensors share their first dims."""

    def __init__(self, **tensors):
        self.tensors = tensors

    def map(self, function):
        return Named(**{k: function(v) for k, v in self.tensors.items()})


def test_libraries_replace_steps_of_vmap(monkeypatch):
    steps = importlib.import_module("ingot._functorch.vmap")
    enter, leave = steps._create_batched_inputs, steps._unwrap_batched
    monkeypatch.setattr(steps, "_process_batched_inputs",
                        lambda in_dims, args, func: (3, [0] * len(args), list(args), steps.tree_flatten(args)[1]))
    monkeypatch.setattr(steps, "_create_batched_inputs", lambda dims, args, level, spec: steps.tree_unflatten(
        [a.map(lambda t: steps._add_batch_dim(t, 0, level)) if isinstance(a, Named) else enter([d], [a], level, LEAF)
         for a, d in zip(args, dims)], spec))
    monkeypatch.setattr(steps, "_unwrap_batched", lambda out, dims, level, size, func: out.map(
        lambda t: steps._maybe_remove_batch_dim("f", t, level, size, 0)) if isinstance(out, Named)
        else leave(out, dims, level, size, func))
    LEAF = steps.tree_flatten(0)[1]
    x, y = ingot.arange(6.0).reshape(3, 2), ingot.arange(3.0)
    found = ingot.vmap(lambda named, t: named.map(lambda v: v.sum() * t))(Named(a=x, b=x + 1), y)
    assert ingot.equal(found.tensors["a"], x.sum(1) * y) and ingot.equal(found.tensors["b"], (x + 1).sum(1) * y)
    assert ingot.equal(ingot.vmap(lambda t: t * 2)(y), y * 2)


@pytest.mark.parametrize("out_dims", [0, 1, -1])
def test_parts_of_a_batch_are_put_together_where_it_is_wanted(out_dims):
    x = ingot.arange(30.0).reshape(3, 5, 2)
    whole = ingot.vmap(lambda t, s: (t * s, t.sum()), (1, None), (out_dims, 0))
    parts = ingot.vmap(lambda t, s: (t * s, t.sum()), (1, None), (out_dims, 0), chunk_size=2)
    for found, want in zip(parts(x, 3), whole(x, 3)):
        assert ingot.equal(found, want)


def test_modules_as_functions_of_their_state():
    f, params = functional.make_functional(ingot.nn.Linear(3, 2))
    x = ingot.ones(4, 3)
    grads = ingot.func.grad(lambda p: f(p, x).sum())(params)
    assert grads[0].tolist() == [[4] * 3] * 2 and grads[1].tolist() == [4, 4]
    net = ingot.nn.BatchNorm1d(3)
    g, params, buffers = functional.make_functional_with_buffers(net, disable_autograd_tracking=True)
    assert not params[0].requires_grad and net.weight.requires_grad and g(params, buffers, x).shape == (4, 3)
    assert buffers[0].any() and not net.running_mean.any()
    nets = [ingot.nn.Linear(3, 2) for _ in range(5)]
    h, params, buffers = functional.combine_state_for_ensemble(nets)
    both = ingot.vmap(h, (0, 0, None))(params, buffers, x)
    assert ingot.allclose(both, ingot.stack([n(x) for n in nets]))
    with pytest.raises(ValueError, match="make_functional_with_buffers"):
        functional.make_functional(net)
    with pytest.raises(ValueError, match="takes 2 parameters and 0 buffers, got 1 and 0"):
        f(params[:1], x)


# Refusals.

OUTSIDE = ingot.ones(3, requires_grad=True)


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: func.jacrev(lambda v: ingot.complex(v, v))(x), "result 0 is complex64"),
    (lambda x: func.jacfwd(lambda v: (v, ingot.complex(v, v)))(x), "result 1 is complex64"),
    (lambda x: func.jacrev(lambda v: v * v)(x + 0j), "argument 0 is complex64"),
    (lambda x: func.jacfwd(lambda v, w: w.abs(), argnums=(0, 1))(x, x + 0j), "argument 1 is complex64"),
    (lambda x: func.hessian(lambda z: z.abs().sum())(x + 0j), "argument 0 is complex64"),
    (lambda x: func.jacrev(ingot.sin, argnums=())(x), "argnums is the number"),
    (lambda x: func.grad(ingot.sum, argnums=0.0)(x), "argnums is the number"),
    (lambda x: func.grad(ingot.sum, argnums=("0",))(x), "argnums is the number"),
    (lambda x: func.grad(lambda v, w: v.sum(), argnums=(1, -1))(x, x), "twice"),
    (lambda x: func.jvp(lambda v: (v, ingot.ones(3)), (x,), (x,), strict=True), "result 1 does not depend"),
    (lambda x: func.jvp(lambda v: OUTSIDE * 2, (x,), (x,), strict=True), "result 0 does not depend"),
    (lambda x: func.jvp(lambda v: func.jvp(lambda u: v * 2, (v,), (v,), strict=True)[1], (x,), (x,)), "does not depend"),
])
def test_wrong_calls_of_transforms_raise(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(ingot.randn(3))


def test_strict_asks_of_results_alone():
    x = ingot.randn(3)
    _, along = func.jvp(lambda v, w: (v * 2, v), (x, x), (x, x), strict=True)
    assert ingot.equal(along[0], x * 2) and ingot.equal(along[1], x)
    assert func.jvp(lambda v: ingot.ones(3), (x,), (x,))[1].tolist() == [0, 0, 0]


X = ingot.arange(12.0).reshape(4, 3)
ONE_FOR_ALL = {      # function, out_dims, and the value shared by all samples
    "text": (lambda x: (x * 2, "a"), (0, None), "a"), "nothing": (lambda x: (x * 2, None), (0, None), None),
    "a number": (lambda x: (x * 2, 3.5), (0, None), 3.5),
}


@pytest.mark.parametrize("chunk_size", [None, 3])
@pytest.mark.parametrize("name", ONE_FOR_ALL)
def test_results_that_are_one_for_all_samples(name, chunk_size):
    f, out_dims, expected = ONE_FOR_ALL[name]
    each, rest = vmap(f, out_dims=out_dims, chunk_size=chunk_size)(X)
    assert (each == X * 2).all() and rest == expected
    assert vmap(lambda x: ingot.ones(2), out_dims=None, chunk_size=chunk_size)(X).shape == (2,)


@pytest.mark.parametrize("f, out_dims", [(lambda x: x, None), (lambda x: (x, x.sum()), (0, None)), (lambda x: (x, None), 0),
                                         (lambda x: 3.5, 0), (lambda x: x, "0"), (lambda x: (x, x), (0, "1"))])
def test_results_that_do_not_fit_their_out_dims(f, out_dims):
    with pytest.raises(ValueError, match=r"vmap: .*(out_dim|must return tensors)"):
        vmap(f, out_dims=out_dims)(X)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 4, None])
@pytest.mark.parametrize("draw", [ingot.rand_like, lambda x: ingot.randn(3), lambda x: ingot.nn.functional.dropout(x, 0.5)])
def test_numbers_that_are_the_same_for_all_samples_are_so_for_all_chunks(draw, chunk_size):
    """The next random numbers continue the sequence."""
    found = []
    for size in (chunk_size, None):
        ingot.manual_seed(5)
        ones = ingot.ones(4, 3)
        found += [vmap(lambda x: x * draw(x), randomness="same", chunk_size=size)(ones), ingot.rand(3)]
    assert (found[0] == found[0][0]).all() and (found[0] == found[2]).all() and (found[1] == found[3]).all()


@pytest.mark.parametrize("of", ["tangents", "primals", "both", "neither"])
def test_what_jvp_gives_has_the_history_of_all_that_it_takes(of):
    x = ingot.tensor([0.3, -1.2], dtype=ingot.float64, requires_grad=of in ("primals", "both"))
    v = ingot.tensor([2.0, 0.5], dtype=ingot.float64, requires_grad=of in ("tangents", "both"))
    out, moved = jvp(lambda t: t.sin() * t.sum(), (x,), (v,))
    assert moved.requires_grad is (of != "neither") and out.requires_grad is x.requires_grad
    if v.requires_grad:
        jacobian = ingot.diag(x.detach().cos() * x.detach().sum()) + x.detach().sin().reshape(2, 1)
        found, = ingot.autograd.grad(moved, v, ingot.tensor([1.0, 3.0], dtype=ingot.float64))
        assert ingot.allclose(found, jacobian.T @ ingot.tensor([1.0, 3.0], dtype=ingot.float64))
