"""Transforms of functions inside traces, two of them nested. Results have the values, layout and history of eager code."""

import pytest

import ingot
from ingot import jit
from ingot.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

W = ingot.tensor(1.5, requires_grad=True)


def pulled(f):
    def gradient(x):
        out, pull = vjp(f, x)
        return pull(ingot.ones_like(out))[0]

    return gradient


def summed(jacobian):
    return lambda f: lambda x: jacobian(f)(x).sum(tuple(range(x.ndim)))


def differentiated(f):
    def gradient(x):
        z = x if x.requires_grad else x.detach().requires_grad_()
        out = f(z)
        if not out.requires_grad:
            return out
        return ingot.autograd.grad((out * out).sum(), z, create_graph=True, allow_unused=True, materialize_grads=True)[0]

    return gradient


TRANSFORMS = {
    "vmap": vmap, "vmap last": lambda f: vmap(f, in_dims=-1, out_dims=-1), "vmap turned": lambda f: vmap(f, in_dims=-1),
    "chunks": lambda f: vmap(f, chunk_size=2),
    "one for all": lambda f: lambda x: vmap(lambda a, b: f(a * b.sum()), (0, None))(x, x),
    "grad": lambda f: grad(lambda x: f(x).sum()), "value": lambda f: lambda x: grad_and_value(lambda a: f(a).sum())(x)[1] * x,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x * 0.5,))[1], "vjp": pulled,
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "jacrev": summed(jacrev), "jacfwd": summed(jacfwd), "hessian": lambda f: summed(hessian)(lambda x: f(x).sum()),
    "autograd": differentiated, "nothing": lambda f: f,
}
BODIES = {
    "linear": lambda x: x * 3, "sum": lambda x: x + x.sum(), "square": lambda x: x * x, "weighted": lambda x: x.sin() * W,
    "first": lambda x: x * x.reshape(-1)[0], "constant": lambda x: ingot.ones(x.shape) + 0 * x, "itself": lambda x: x,
    "written": lambda x: (x * 2).mul_(x), "branch": lambda x: ingot.where(x > 1, x, x * W),
    "detached": lambda x: x * x.detach(),
}


def seen(t) -> tuple:
    """Return what a program can see of a result; last, whether it may be written."""
    told = t.tolist(), t.shape, t.stride(), t.is_contiguous(), t.requires_grad, t.is_leaf, t._version
    try:
        with ingot.no_grad():
            t.add_(1)
    except ingot.IngotError as error:
        return *told, type(error)
    return *told, t.tolist()


def life(wrap, body, transforms, requires_grad):
    f = body
    for t in transforms:
        f = TRANSFORMS[t](f)
    step, found = wrap(f), []
    for rows in (2, 2, 4, 2):
        x = (ingot.arange(rows * 3.0).reshape(rows, 3) / 4).requires_grad_(requires_grad)
        y = step(x)
        found.append(y.requires_grad)
        if y.requires_grad:
            (y * y).sum().backward()
            found += [x.grad, W.grad]
            W.grad = None
        found += [*seen(y), x.tolist()] if y is not x else []
    return [v.tolist() if isinstance(v, ingot.Tensor) else v for v in found]


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("inner", TRANSFORMS)
@pytest.mark.parametrize("outer", TRANSFORMS)
def test_nested_transforms_give_what_eager_code_gives(outer, inner, name, requires_grad):
    """A seed gradient inside of vmap was one for each sample while recording, so results had no dims of stride 0."""
    eager, traced = [life(wrap, BODIES[name], (inner, outer), requires_grad) for wrap in (lambda f: f, jit.trace)]
    assert traced == eager


class Kept(ingot.autograd.Function):
    """A function whose gradient is in the memory of an argument, or that writes there."""

    @staticmethod
    def forward(ctx, w, x, writes):
        ctx.save_for_backward(x)
        ctx.writes = writes
        return w * 1

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        if ctx.writes:
            x.detach().mul_(2)
        return (g if ctx.writes else x), None, None


def given(x, form, seen):
    """Return a gradient that is the tensor `x`, or lies in its memory."""
    w = ingot.ones(3, requires_grad=True)
    for t in (w, v := Kept.apply(w, x, form == "written") if form in ("saved", "written") else w.view(3)):
        t.register_hook(lambda g: seen.append((g is x, g.requires_grad, g.is_leaf)))
    if form == "backward":
        v.backward(x)
        return w.grad
    g, = ingot.autograd.grad(w if form == "itself" else v, w, x if form != "written" else ingot.ones(3))
    return g


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("form", ["itself", "view", "saved", "written", "backward"])
def test_gradients_in_memory_of_others_are_tensors_of_their_own(form, requires_grad):
    """Rules run on tensors while a call is recorded, so a gradient was the tensor that came in, with its history."""
    lives = []
    for wrap in (lambda f: f, jit.trace):
        def step(x):
            seen: list = []
            g = given(x, form, seen)
            return g, g is x, str(seen)

        function, found = wrap(step), []
        for _ in range(4):
            x = ingot.arange(3.0).requires_grad_(requires_grad)
            g, same, seen = function(x)
            with ingot.no_grad():
                g.add_(1)
            found.append((g.tolist(), x.tolist(), g is x, same, g.requires_grad, seen))
        lives.append(found)
    assert lives[1] == lives[0]


def test_names_of_histories_that_a_backward_used_up():
    w = ingot.tensor(1.5, requires_grad=True)

    def step(x):
        y = x * w
        y.sum().backward()
        return y

    traced = jit.trace(step)
    for _ in range(4):
        assert traced(ingot.ones(3)).grad_fn.name() == step(ingot.ones(3)).grad_fn.name()


def test_gradients_of_each_sample_by_the_parameters_of_a_module():
    net = ingot.nn.Linear(3, 2)

    def of_each(x):
        parameters = {k: p.detach() for k, p in net.named_parameters()}
        return vmap(grad(lambda p, a: functional_call(net, p, (a,)).sum()), (None, 0))(parameters, x)

    step = jit.trace(of_each)
    for rows in (2, 2, 4, 2):
        x = ingot.arange(rows * 3.0).reshape(rows, 3)
        eager, traced = of_each(x), step(x)
        assert [seen(t) for t in traced.values()] == [seen(t) for t in eager.values()]
