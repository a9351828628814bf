"""Gradients of gradients through a traced call, and transforms of functions around it and inside of it."""

import pytest

import ingot
from ingot import autograd, func, jit, nn
from ingot.autograd import forward_ad
from ingot.ir.errors import AutogradError
from ingot.nn import functional as F


class Power(autograd.Function):
    """x ** n with an attribute, a saved argument and a saved result."""

    @staticmethod
    def forward(ctx, x, n):
        y = x ** n
        ctx.save_for_backward(x, y, None)
        ctx.n, ctx.shape = n, x.shape
        return y

    @staticmethod
    def backward(ctx, g):
        x, y, _ = ctx.saved_tensors
        return (g * ctx.n * y / x).view(ctx.shape), None


class Straight(autograd.Function):
    """A rounding whose gradient passes, in the form with setup_context and jvp."""

    @staticmethod
    def forward(x, scale):
        return (x * scale).round() / scale, x * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, scale = ctx.saved_tensors
        return g * x + h * scale, (h * x).sum().view(scale.shape)

    @staticmethod
    def jvp(ctx, x_t, scale_t):
        x, scale = ctx.saved_tensors
        return x_t * x, x_t * scale + (0 if scale_t is None else x * scale_t)


WEIGHTS = ingot.linspace(-1, 1, 16).view(4, 4)
FUNCTIONS = {
    "cube": lambda x: x ** 3,
    "exp": lambda x: (x * x).exp(),
    "tanh": lambda x: x.tanh() * x,
    "softmax": lambda x: F.softmax(x, 0) * x,
    "detach": lambda x: x * x * x.detach(),
    "norm": lambda x: x / x.norm(),
    "views": lambda x: (x.view(2, 2) @ x.view(2, 2).t()).view(4),
    "product": lambda x: F.gelu(x @ WEIGHTS) * x,
    "layer norm": lambda x: F.layer_norm(x, (4,)) * x,
    "relu": lambda x: F.relu(x - 1) ** 3,
    "where": lambda x: ingot.where(x > 1.5, x ** 3, x * x),
    "cat": lambda x: ingot.cat([x * x, x ** 3])[1:5],
    "write": lambda x: (x * x).mul_(x).add_(x.exp()),
    "no grad": lambda x: x * x * ingot.no_grad()(lambda: x * x)(),
    "broadcast": lambda x: (x ** 3).sum() * x,
    "split": lambda x: ingot.cat([a * b for a, b in [(x ** 2).split(2)] for _ in range(2)]),
    "own function": lambda x: Power.apply(x, 3) * x,
    "function with two results": lambda x: sum(Straight.apply(x * x, x[:1])) * x,
    "complex": lambda x: ingot.fft.fft(x * x).abs(),
}


def three_orders(f, x):
    a, = autograd.grad(f(x).sum(), x, create_graph=True)
    b, = autograd.grad((a * a).sum(), x, create_graph=True)
    c, = autograd.grad((b * b).sum(), x)
    return a.detach(), b.detach(), c


def behind_another_step(f, x):
    f(x * 2).sum().backward(create_graph=True)
    g, x.grad = x.grad, None
    (g ** 2).sum().backward()
    return x.grad


def penalty(f, x):
    a, = autograd.grad(f(x).sum(), x, create_graph=True)
    (a.pow(2).sum() + f(x).sum()).backward()
    return x.grad


def dual(f, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x.detach(), ingot.ones(4)))).tangent


USES = {
    "three orders": three_orders,
    "behind another step": behind_another_step,
    "penalty": penalty,
    "dual": dual,
    "grad": lambda f, x: func.grad(lambda z: f(z).sum())(x.detach()),
    "grad of grad": lambda f, x: func.grad(lambda z: func.grad(lambda q: f(q).sum())(z).sum())(x.detach()),
    "hessian": lambda f, x: func.hessian(lambda z: f(z).sum())(x.detach()),
    "jacrev": lambda f, x: func.jacrev(f)(x.detach()),
    "jacfwd": lambda f, x: func.jacfwd(f)(x.detach()),
    "jvp": lambda f, x: func.jvp(f, (x.detach(),), (ingot.ones(4),))[1],
    "vjp": lambda f, x: func.vjp(f, x.detach())[1](ingot.ones(4))[0],
    "vmap": lambda f, x: func.vmap(f)(ingot.stack([x.detach(), x.detach() + 1])),
    "vmap of grad": lambda f, x: func.vmap(func.grad(lambda z: f(z).sum()))(ingot.stack([x.detach(), x.detach() + 1])),
    "linearize": lambda f, x: func.linearize(f, x.detach())[1](ingot.ones(4)),
    "functional hessian": lambda f, x: autograd.functional.hessian(lambda z: f(z).sum(), x.detach()),
}


def points():
    return [(ingot.linspace(0.5, 2.0, 4) + 0.25 * call).requires_grad_(True) for call in range(3)]


def check(found, expected):
    for a, b in zip(found, expected, strict=True):
        for one, other in zip(a if type(a) is tuple else (a,), b if type(b) is tuple else (b,), strict=True):
            ingot.testing.assert_close(one, other, equal_nan=True)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_around_a_traced_function_are_those_of_the_function(name, use):
    f, apply = FUNCTIONS[name], USES[use]
    traced = jit.trace(f)
    check([apply(traced, x) for x in points()], [apply(f, x) for x in points()])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["cube", "detach", "views", "write"])
def test_derivatives_inside_of_a_traced_function_are_eager_ones(name, use):
    f, apply = FUNCTIONS[name], USES[use]
    traced = jit.trace(lambda x: apply(f, x))
    check([traced(x) for x in points()], [apply(f, x) for x in points()])


def test_gradient_penalties_of_a_traced_network_train_as_in_eager():
    def losses(wrap):
        ingot.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 1))
        f, opt, found = wrap(net), ingot.optim.SGD(net.parameters(), 0.05), []
        for n in (3, 3, 5, 4, 6):                   # sizes become symbolic
            x = ingot.randn(n, 4).requires_grad_(True)
            g, = autograd.grad(f(x).sum(), x, create_graph=True)
            loss = (g.norm(dim=1) - 1).pow(2).mean() + f(x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            found.append(loss.item())
        return found

    assert losses(jit.trace) == pytest.approx(losses(lambda net: net), rel=1e-5)


def test_a_plain_backward_goes_through_restored_nodes_too():
    f = jit.trace(lambda x: x.exp() * x)
    for _ in range(3):
        x = ingot.ones(2, requires_grad=True)
        y = f(x).sum()
        g, = autograd.grad(y, x, create_graph=True)
        y.backward(retain_graph=True)
        ingot.testing.assert_close(x.grad, g.detach())
        y.backward()
        with pytest.raises(AutogradError, match="second time"):
            y.backward()


FREED = {
    "largest": lambda x: (x.max(0)[0], x.t()),
    "product": lambda x: (x * x.sin(),),
    "sort": lambda x: (x.sort(0)[0], x.cumsum(0)),
    "index": lambda x: (x[x.detach().argmax(0)],),
    "plain": lambda x: (x.sum(0), x * 2),
    "function": lambda x: (Number.apply(x),),
}


@pytest.mark.parametrize("name", FREED)
def test_a_backward_through_restored_nodes_uses_up_what_it_does_in_eager_code(name):
    f, traced = FREED[name], jit.trace(FREED[name])
    for order in ("higher plain plain", "keep higher plain higher", "plain higher", "higher higher plain keep plain"):
        found = []
        for g in (f, traced):
            x, ends = points()[0].reshape(-1, 2).detach().requires_grad_(), []
            total = sum([(y * (3 + y.detach())).sum() for y in g(x)])
            for way in order.split():
                try:
                    grad, = autograd.grad(total, x, create_graph=way == "higher", retain_graph=way != "plain")
                    ends.append(grad.tolist())
                except AutogradError:
                    ends.append("raises")
            found.append(ends)
        assert found[0] == found[1], order


def test_a_gradient_of_a_gradient_reaches_a_result_from_which_others_are_computed():
    def f(x):
        h = x.sin()
        return h, h.exp()

    traced = jit.trace(f)
    for call, higher in enumerate((False, True, False, True)):
        found = []
        for g in (f, traced):
            x = (ingot.linspace(0.5, 1.5, 3) + call).requires_grad_()
            h, y = g(x)
            first, = autograd.grad(y.sum(), [x], create_graph=True)
            found.append([t.tolist() for t in autograd.grad(first.sum(), [h, x], create_graph=higher)])
        assert found[0] == found[1], call


def test_an_overwritten_value_is_an_error_of_the_second_order_too():
    f = jit.trace(lambda x: x.exp())
    for _ in range(3):
        x = ingot.ones(2, requires_grad=True)
        y = f(x)
        g, = autograd.grad(y.sum(), x, create_graph=True)
        y.detach().zero_()
        with pytest.raises(AutogradError, match="overwritten"):
            g.sum().backward()


class Attributes(autograd.Function):
    """A square that keeps its argument, its result and containers as attributes."""

    @staticmethod
    def forward(ctx, x, factors):
        ctx.x, ctx.y, ctx.parts, ctx.double = x, x * x, [{"factor": factors[0]}, x.shape], lambda g: g * 2
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return ctx.double(g) * ctx.x * ctx.parts[0]["factor"] + ctx.y.sum(), None


def hooked(x):
    h, factor = x * x, 1.5
    h.register_hook(lambda g: g * h * factor)
    h.retain_grad()
    return h * x


def hooked_node(x):
    h = x * x
    h.grad_fn.register_prehook(lambda grads: (grads[0] * x,))
    h.grad_fn.register_hook(lambda grads, given: tuple([g if g is None else g * given[0] for g in grads]))
    return h.exp()


def hooked_by_later_results(x):
    h = x * x
    later = h.tanh()
    h.grad_fn.register_prehook(lambda grads: (grads[0] + later * (later.grad_fn is not None),))
    return later.exp()


class Number(autograd.Function):
    """A square that keeps a number which it reads out of a tensor."""

    @staticmethod
    def forward(ctx, x):
        ctx.total = x.sum().item()
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.total


INSIDE = {
    "number": lambda x: Number.apply(x) * x,
    "hook": hooked,
    "hooks of a node": hooked_node,
    "hooks with later results": hooked_by_later_results,
    "hook on a result": lambda x: (lambda h: (h.register_hook(lambda g: g * 3), h * x)[1])(x * x),
    "attributes": lambda x: Attributes.apply(x, [3.0]) * x,
    "attributes of no leaf": lambda x: Attributes.apply(x.exp(), [3.0]).exp(),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_hooks_and_functions_hold_is_made_again(name):
    f, traced = INSIDE[name], jit.trace(INSIDE[name])
    for call in range(3):
        found = []
        for g in (f, traced):
            x = (ingot.linspace(0.5, 1.5, 4, dtype=ingot.float64) + 0.1 * call).requires_grad_(True)
            first, = autograd.grad(g(x).sum(), x, create_graph=True)
            second, = autograd.grad((first * first).sum(), x)
            found.append((first.tolist(), second.tolist()))
        assert found[0] == found[1], call


def test_objects_that_calls_cannot_make_again_keep_gradients_from_being_differentiated():
    class Held:
        """An object made inside."""

    class Keeps(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.held = Held()
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    f = jit.trace(lambda x: Keeps.apply(x))
    for call in range(2):
        x = ingot.ones(2, requires_grad=True)
        if call:
            with pytest.raises(AutogradError, match="attribute held of the ctx of Keeps holds a Held that calls"):
                autograd.grad(f(x).sum(), x, create_graph=True)
        else:
            autograd.grad(f(x).sum(), x, create_graph=True)


def test_functions_of_changing_sizes():
    f = jit.trace(lambda x: Power.apply(x, 2) * x)
    for n in (2, 3, 5, 4, 7, 3):
        x = ingot.linspace(0.5, 2, n).requires_grad_(True)
        a, = autograd.grad(f(x).sum(), x, create_graph=True)
        b, = autograd.grad(a.sum(), x)
        ingot.testing.assert_close(b, 6 * x.detach())
