"""Nested function transforms: values shared by all samples, and histories at several levels."""

import numpy as np
import pytest

import ingot
from ingot.autograd import forward_ad
from ingot.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

A, B, R = (ingot.tensor(np.random.default_rng(7).uniform(0.5, 1.5, s)) for s in [(3,), (3,), (4, 3)])


class Product(ingot.autograd.Function):
    """The function x * y * y."""

    @staticmethod
    def forward(x, y):
        return x * y * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * y, 2 * g * x * y


def of_operators(x, y):
    return x * y * y


def summed(f):
    """Return the sum of f(r) over samples r."""
    return vmap(f)(R).sum(0)


PROGRAMS = {      # of y, with a product
    "unmapped second": lambda y, p: summed(lambda r: p(r, y)),
    "unmapped first": lambda y, p: summed(lambda r: p(y, r)),
    "unmapped result": lambda y, p: summed(lambda r: p(r, y * y.sin())),
    "unmapped by in_dims": lambda y, p: vmap(p, in_dims=(0, None))(R, y).prod(0),
    "two levels": lambda y, p: summed(lambda r: summed(lambda s: p(s * r, y) + p(y, r))),
    "of an outer level": lambda y, p: summed(lambda r: summed(lambda s: p(s, r)) * y),
    "with an inner leaf": lambda y, p: summed(lambda r: grad(lambda q: (p(q, y) * r).sum())(B)),
    "with an inner leaf and the outer one": lambda y, p: summed(lambda r: grad(lambda q: p(r, q * y).sum())(B)),
    "both before the batch": lambda y, p: summed(lambda r: grad(lambda q: (p(q * y, q + y) * r).sum())(B)),
    "the inner leaf of the outer one": lambda y, p: summed(lambda r: grad(lambda q: p(r, q * y).sum())(y)),
}


@pytest.mark.parametrize("product", [of_operators, Product.apply], ids=["operators", "Function"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_reach_values_shared_by_all_samples(name, product):
    """Derivatives agree with differences, and second derivatives with derivatives of the first."""
    f = PROGRAMS[name]
    step = 1e-6 * ingot.eye(3, dtype=ingot.float64)
    expected = ingot.stack([(f(A + d, of_operators) - f(A - d, of_operators)) / 2e-6 for d in step], -1)
    found = jacrev(lambda y: f(y, product))(A)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    second = hessian(lambda y: f(y, product).sum())(A)
    turned = ingot.stack([(jacrev(lambda y: f(y, product).sum())(A + d) - jacrev(lambda y: f(y, product).sum())(A - d)) / 2e-6
                          for d in step], -1)
    np.testing.assert_allclose(second.numpy(), turned.numpy(), rtol=1e-5, atol=1e-6)
    y = A.clone().requires_grad_()
    f(y, product).sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), expected.sum(0).numpy(), rtol=1e-6)


@pytest.mark.parametrize("inner", [
    lambda x: grad(lambda y: (x * y * y).sum())(B), lambda x: jacrev(lambda y: x * y * y)(B).sum(0),
    lambda x: jacfwd(lambda y: x * y * y)(B).sum(0), lambda x: jvp(lambda y: x * y * y, (B,), (A,))[1],
    lambda x: vjp(lambda y: x * y * y, B)[1](A)[0], lambda x: linearize(lambda y: x * y * y, B)[1](A),
    lambda x: summed(lambda r: grad(lambda y: (x * y * r).sum())(B))],
    ids=["grad", "jacrev", "jacfwd", "jvp", "vjp", "linearize", "vmap"])
@pytest.mark.parametrize("outer", [
    jacrev, jacfwd, lambda f: lambda x: grad(lambda q: f(q).sum())(x), lambda f: lambda x: vjp(f, x)[0],
    lambda f: lambda x: jvp(f, (x,), (x,))[1]], ids=["jacrev", "jacfwd", "grad", "vjp", "jvp"])
def test_results_have_no_history_of_transforms_that_are_done(outer, inner):
    assert not outer(inner)(A).requires_grad
    x = A.clone().requires_grad_()
    assert outer(lambda q: inner(q * x))(A).requires_grad


def _scaled(x):
    x.mul_(2)
    return x * x * x


def _first_overwritten(x):
    x[0] = x[1] * x[2]
    return x * x


def _through_a_view(x):
    x[1:].add_(x[:2].clone())
    return x.sin()


WRITERS = [_scaled, _first_overwritten, _through_a_view]
ALONG = {      # derivatives of a function f at x
    "jvp": lambda f, x: jvp(f, (x,), (B,))[1],
    "value of jvp": lambda f, x: jvp(f, (x,), (B,))[0],
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "linearize": lambda f, x: linearize(f, x)[1](B),
    "jvp of jvp": lambda f, x: jvp(lambda y: jvp(f, (y,), (B,))[1], (x,), (A,))[1],
    "jvp of another tensor": lambda f, x: jvp(lambda y: jvp(f, (y * y,), (B,))[1], (x,), (A,))[1],
    "jacrev of jvp": lambda f, x: jacrev(lambda y: jvp(f, (y * y,), (B,))[1])(x),
    "jacrev of grad": lambda f, x: jacrev(lambda y: grad(lambda q: f(q).sum())(y * y))(x),
    "jacrev of jacfwd": lambda f, x: jacrev(lambda y: jacfwd(f)(y + y))(x),
    "vmap": lambda f, x: vmap(lambda r: jvp(f, (r,), (B,))[1])(ingot.stack([x, x + 1])),
}


def _duals(f, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, B))).tangent


@pytest.mark.parametrize("f", WRITERS)
@pytest.mark.parametrize("name", ALONG)
def test_functions_that_write_to_their_argument(name, f):
    """Derivatives are those for a clone; the argument keeps the function's write."""
    given = A.clone()
    found, expected = ALONG[name](f, given), ALONG[name](lambda x: f(x.clone()), A)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)
    if name == "jvp":
        f(left := A.clone())
        assert (given == left).all()


@pytest.mark.parametrize("f", WRITERS)
def test_duals_of_tensors_with_histories_are_written(f):
    tangents = []
    for g in (f, lambda x: f(x.clone())):
        x = A.clone().requires_grad_()
        tangents.append(_duals(g, x * x))
        tangents[-1].sum().backward()
        tangents.append(x.grad)
    for found, expected in zip(tangents[:2], tangents[2:]):
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    x = A.clone().requires_grad_()
    for write in (lambda: jvp(f, (x,), (B,)), lambda: _duals(f, x)):
        with pytest.raises(RuntimeError, match="view of a leaf"):
            write()
