"""Dual tensors: tangents against `func.jvp`."""

import numpy as np
import pytest

import ingot
from ingot import autograd, func
from ingot.autograd import forward_ad as fwd
from ingot.ir.errors import IngotError


def test_tangents_are_those_of_jvp():
    x, t = ingot.randn(4), ingot.randn(4)
    f = lambda x: ingot.sin(x) * x.sum()
    with fwd.dual_level():
        dual = fwd.make_dual(x, t)
        assert fwd.unpack_dual(dual).tangent is t
        value, tangent = fwd.unpack_dual(f(dual))
        assert fwd.unpack_dual(x * 2).tangent is None
    _, expected = ingot.func.jvp(f, (x,), (t,))
    np.testing.assert_allclose(tangent.detach().numpy(), expected.numpy(), rtol=1e-5)
    np.testing.assert_allclose(value.detach().numpy(), f(x).numpy(), rtol=1e-6)
    assert fwd.unpack_dual(f(dual)).tangent is None


def test_several_duals_and_parameters_of_a_module():
    net, x = ingot.nn.Linear(3, 2), ingot.randn(5, 3)
    tangents = {n: ingot.randn(*p.shape) for n, p in net.named_parameters()}
    with fwd.dual_level():
        duals = {n: fwd.make_dual(p, tangents[n]) for n, p in net.named_parameters()}
        _, found = fwd.unpack_dual(ingot.func.functional_call(net, duals, x))
    expected = x @ tangents["weight"].T + tangents["bias"]
    np.testing.assert_allclose(found.detach().numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_wrong_calls_raise():
    with pytest.raises(IngotError, match="level"):
        fwd.make_dual(ingot.ones(2), ingot.ones(2))
    with fwd.dual_level():
        with pytest.raises(IngotError, match="shape"):
            fwd.make_dual(ingot.ones(2), ingot.ones(3))
        with ingot.no_grad(), pytest.raises(IngotError, match="no_grad"):
            fwd.make_dual(ingot.ones(2), ingot.ones(2))
        with pytest.raises(IngotError, match="nested"), fwd.dual_level():
            pass


@pytest.mark.parametrize(("tensor", "tangent"), [((1, 2), (1.0, 2.0)), ((1.0, 2.0), (1, 2)), ((True,), (1.0,))])
def test_only_floating_point_numbers_have_tangents(tensor, tangent):
    with fwd.dual_level(), pytest.raises(ValueError, match=r"must be floating point or complex, got (int64|bool)$"):
        fwd.make_dual(ingot.tensor(tensor), ingot.tensor(tangent))


WRITES = {
    "whole": (lambda d: d.mul_(3), lambda x: x * 3), "twice": (lambda d: d.exp_().mul_(d), lambda x: x.exp() ** 2),
    "a part": (lambda d: d[1:].square_(), lambda x: ingot.cat([x[:1], x[1:] ** 2])),
    "over by another": (lambda d: d[:1].copy_(d[1:2] * 2), lambda x: ingot.cat([x[1:2] * 2, x[1:]])),
    "numbers": (lambda d: d[0].fill_(4), lambda x: ingot.cat([ingot.full((1,), 4.0, dtype=x.dtype), x[1:]])),
    "all numbers": (lambda d: d.zero_(), ingot.zeros_like), "sizes": (lambda d: d.unsqueeze_(0), lambda x: x[None]),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("of", ["dual", "result"])
def test_duals_are_written_in_place(name, of):
    write, same = WRITES[name]
    x, t = ingot.randn(3, dtype=ingot.float64), ingot.randn(3, dtype=ingot.float64)
    start = (lambda v: v) if of == "dual" else ingot.sin
    value, along = func.jvp(lambda v: same(start(v)), (x,), (t,))
    with fwd.dual_level():
        dual = start(fwd.make_dual(x, t))
        write(dual)
        found = fwd.unpack_dual(dual)
    np.testing.assert_allclose(found.primal.numpy(), value.numpy(), rtol=1e-14)
    np.testing.assert_allclose((ingot.zeros_like(value) if found.tangent is None else found.tangent).numpy(), along.numpy(),
                               rtol=1e-14)
    if of == "dual" and name != "sizes":
        assert x.tolist() == found.primal.tolist()          # a dual shares the memory of its value


def test_a_dual_tensor_with_its_own_results():
    x, t = ingot.tensor([1.0, 2.0]), ingot.tensor([1.0, 1.0])
    with fwd.dual_level():
        dual = fwd.make_dual(x.clone(), t)
        once = dual * 2
        dual.add_(once)
        assert fwd.unpack_dual(dual).tangent.tolist() == [3, 3] and fwd.unpack_dual(once).tangent.tolist() == [2, 2]
        dual = fwd.make_dual(x, t)
        square = dual * dual
        dual.zero_()                                        # overwrites the source of its tangent
        with pytest.raises(IngotError, match="overwritten"):
            fwd.unpack_dual(square)


def test_internal_histories_are_invisible():
    x = ingot.ones(2)
    w = ingot.ones(2, requires_grad=True)
    with fwd.dual_level():
        dual = fwd.make_dual(x, ingot.tensor([1.0, 2.0]))
        value, tangent = fwd.unpack_dual(dual * 3)
        assert not value.requires_grad and not tangent.requires_grad and tangent.numpy().tolist() == [3, 6]
        value, tangent = fwd.unpack_dual(dual * w)
        assert value.requires_grad and tangent.requires_grad
        value, tangent = fwd.unpack_dual(fwd.make_dual(x, w) * 3)
        assert tangent.requires_grad


# User functions with a jvp.

class ByNumpy(autograd.Function):
    """x * y * k, with a backward that is not differentiable; it saves other tensors for jvp than for backward."""

    @staticmethod
    def forward(x, y, k):
        return x * y * k, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.k = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(y, x, output[1])

    @staticmethod
    @autograd.function.once_differentiable
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return ingot.from_numpy(y.numpy() * g.numpy() * ctx.k + h.numpy()), \
            ingot.from_numpy(x.numpy() * g.numpy() * ctx.k + h.numpy()), None

    @staticmethod
    def jvp(ctx, dx, dy, dk):
        y, x, _ = ctx.saved_tensors
        assert dk is None and dx.shape == x.shape and dy.shape == y.shape
        return (dx * y + x * dy) * ctx.k, dx + dy


def product(x, y):
    return x * y * 3.0, x + y


WAYS = {
    "jvp": lambda f, x, y, t: func.jvp(f, (x, y), (t, 2 * t))[1],
    "jvp of one argument": lambda f, x, y, t: func.jvp(lambda a: f(a, y), (x,), (t,))[1],
    "jvp in a chain": lambda f, x, y, t: func.jvp(lambda a: f(a * a, a.exp())[0].sin(), (x,), (t,))[1:],
    "jacfwd": lambda f, x, y, t: func.jacfwd(lambda a: f(a, y)[0], 0)(x).unbind(),
    "linearize": lambda f, x, y, t: func.linearize(lambda a: f(a, y), x)[1](t),
    "gradient of jvp": lambda f, x, y, t: func.grad(
        lambda b: func.jvp(lambda a: f(a, b)[0], (x,), (t,))[1].square().sum())(y).unbind(),
    "vmap of jvp": lambda f, x, y, t: func.vmap(
        lambda a, b: func.jvp(lambda c: f(c, y)[0], (a,), (b,))[1])(ingot.stack([x, y]), ingot.stack([t, x])).unbind(),
    "jvp of vmap": lambda f, x, y, t: func.jvp(
        lambda a: func.vmap(lambda row: f(row, y)[0])(a), (ingot.stack([x, y]),), (ingot.stack([t, x]),))[1].unbind(),
    "duals": lambda f, x, y, t: duals_of(f, x, y, t),
}


def duals_of(f, x, y, t):
    with fwd.dual_level():
        return [fwd.unpack_dual(o).tangent for o in f(fwd.make_dual(x, t), fwd.make_dual(y, t * t))]


@pytest.mark.parametrize("way", WAYS)
def test_forward_derivatives_call_jvp_of_a_function(way):
    x, y, t = (ingot.randn(3, dtype=ingot.float64) for _ in range(3))
    found, expected = (WAYS[way](f, x, y, t) for f in (lambda a, b: ByNumpy.apply(a, b, 3.0), product))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_results_of_jvp_must_fit_those_of_forward():
    class Short(ByNumpy):
        @staticmethod
        def jvp(ctx, dx, dy, dk):
            return dx

    x = ingot.ones(3)
    with pytest.raises(RuntimeError, match="jvp returned 1 tensors; expected one for each result of forward, which are 2"):
        func.jvp(lambda a: Short.apply(a, x, 1.0), (x,), (x,))


def test_functions_without_materialized_gradients_hear_none_of_arguments_that_stay():
    seen = []

    class Plain(autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx, dx, dy):
            seen.append(dy)
            return dx

    x = ingot.ones(3)
    assert func.jvp(lambda a: Plain.apply(a, x), (x,), (2 * x,))[1].tolist() == [2, 2, 2] and seen == [None]


# gradcheck with forward mode.

class Slope(autograd.Function):
    """x ** 2, with one correct direction of derivatives."""

    right = "backward"

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return (2 if Slope.right == "backward" else 3) * x * g

    @staticmethod
    def jvp(ctx, dx):
        x, = ctx.saved_tensors
        return (2 if Slope.right == "forward" else 3) * x * dx


CHECKED = {
    "one": (lambda x: x.sin() * x.sum(), ["float64"]),
    "both": (lambda x, y: (x * y, x.exp(), y.detach().sign()), ["float64"] * 2),
    "complex": (lambda z: (z * z.conj(), z.abs(), z.real * 2), ["complex128"]),
    "mixed": (lambda x, z: x * z, ["float64", "complex128"]),
    "integers beside": (lambda x: (x.square(), x.detach().argmax()), ["float64"]),
    "not used": (lambda x, y: x * 2, ["float64"] * 2),
    "nothing of it": (lambda x: ingot.zeros(0, dtype=x.dtype) * x.sum(), ["float64"]),
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", CHECKED)
def test_right_derivatives_along_directions_pass(name, fast_mode):
    f, dtypes = CHECKED[name]
    inputs = tuple(ingot.randn(3, dtype=getattr(ingot, d)).requires_grad_() for d in dtypes)
    for backward in (True, False):
        assert autograd.gradcheck(f, inputs, check_forward_ad=True, check_backward_ad=backward, fast_mode=fast_mode)
    if name in ("one", "both"):
        assert autograd.gradgradcheck(f, inputs, check_fwd_over_rev=True, check_rev_over_rev=False, fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("right", ["forward", "backward"])
def test_each_direction_is_checked_by_itself(right, fast_mode, monkeypatch):
    monkeypatch.setattr(Slope, "right", right)
    x = ingot.randn(3, dtype=ingot.float64, requires_grad=True)
    for forward in (True, False):
        asked = {"check_forward_ad": forward, "check_backward_ad": not forward, "fast_mode": fast_mode}
        if forward == (right == "forward"):
            assert autograd.gradcheck(Slope.apply, x, **asked)
        else:
            what = "forward mode mismatch" if forward else "(Jacobian|derivative) mismatch"
            with pytest.raises(autograd.GradcheckError, match=what):
                autograd.gradcheck(Slope.apply, x, **asked)
