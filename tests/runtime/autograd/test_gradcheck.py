"""gradcheck itself, the functional derivatives, and the function transforms."""

import inspect

import numpy as np
import pytest

import ingot
from ingot import func
from ingot.autograd import Function, GradcheckError, functional, gradcheck, gradgradcheck

RNG_SEED = 3


def data(*shape, seed=RNG_SEED):
    return np.random.default_rng(seed).standard_normal(shape)


def leaf(*shape, seed=RNG_SEED):
    return ingot.tensor(data(*shape, seed=seed)).requires_grad_()


class WrongSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * 2.001


class WrongCurve(Function):
    """Function with a right first derivative and a wrong second one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].detach() * 2


# gradcheck.


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("fn", [lambda x, y: x * y, lambda x, y: (x.sin() + y).tanh().sum(0),
                                lambda x, y: (x.exp(), x * y * y)])
def test_right_gradients_pass(fn, fast_mode):
    inputs = (leaf(3, 2), leaf(3, 2, seed=4))
    assert gradcheck(fn, inputs, fast_mode=fast_mode, check_batched_grad=True, check_grad_dtypes=True)
    assert gradgradcheck(fn, inputs, fast_mode=fast_mode, gen_non_contig_grad_outputs=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradients_fail(fast_mode):
    x = ingot.tensor([5.0, 7.0], dtype=ingot.float64).requires_grad_()
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 0"):
        gradcheck(WrongSlope.apply, x, fast_mode=fast_mode, rtol=1e-5)
    assert not gradcheck(WrongSlope.apply, x, fast_mode=fast_mode, rtol=1e-5, raise_exception=False)


def test_wrong_second_derivative_fails():
    x = leaf(3)
    assert gradcheck(WrongCurve.apply, x)
    assert not gradgradcheck(WrongCurve.apply, x, raise_exception=False)


def test_gradcheck_takes_inputs_expanded_to_their_own_shape():
    x = ingot.eye(3, dtype=ingot.float64).expand(1, 3, 3).requires_grad_()
    assert x.stride()[0] == 0 or x.numpy(force=True).strides[0] == 0
    assert ingot.autograd.gradcheck(lambda x: (x @ x).sum(), x)


@pytest.mark.parametrize("inputs, message", [
    ((ingot.ones(2),), "at least one input"),
    ((ingot.ones(2).requires_grad_(),), "float64"),
    ((ingot.ones(1, dtype=ingot.float64).requires_grad_().expand(3),), "share memory"),
])
def test_unsuitable_inputs_are_named(inputs, message):
    with pytest.raises(GradcheckError, match=message):
        gradcheck(lambda x: x * 2, inputs)


def test_backward_that_changes_its_mind_fails():
    class Noisy(Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            Noisy.calls += 1
            return g * (1 + 1e-6 * (Noisy.calls % 2))

    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(Noisy.apply, leaf(2))
    assert gradcheck(Noisy.apply, leaf(2), nondet_tol=1e-4)


def test_detached_dependence_raises():
    with pytest.raises(GradcheckError, match="do not require grad"):
        gradcheck(lambda x: x.detach() * 2, leaf(2))


# functional: closed forms.

A = data(3, 3, seed=8)


def quadratic(x):
    return (x * (ingot.tensor(A) @ x)).sum()


def test_hessian_of_a_quadratic_form():
    np.testing.assert_allclose(functional.hessian(quadratic, leaf(3)).numpy(), A + A.T, atol=1e-12)
    forward = functional.hessian(quadratic, leaf(3), outer_jacobian_strategy="forward-mode")
    np.testing.assert_allclose(forward.numpy(), A + A.T, atol=1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobian_of_a_linear_map(strategy):
    j = functional.jacobian(lambda x: ingot.tensor(A) @ x, leaf(3), strategy=strategy)
    np.testing.assert_allclose(j.numpy(), A, atol=1e-12)
    assert not j.requires_grad


def test_jacobian_structure_of_tuples():
    j = functional.jacobian(lambda x, y: (x * y, x.sum()), (leaf(2), leaf(2)))
    assert [[tuple(b.shape) for b in row] for row in j] == [[(2, 2), (2, 2)], [(2,), (2,)]]
    assert j[1][1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="strict"):
        functional.jacobian(lambda x, y: (x * y, x.sum()), (leaf(2), leaf(2)), strict=True)


FIRST = {"jacobian": functional.jacobian, "vjp": lambda f, x, **kw: functional.vjp(f, x, x.detach(), **kw)[1],
         "jvp": lambda f, x, **kw: functional.jvp(f, x, x.detach(), **kw)[1]}
SECOND = {"hessian": functional.hessian, "vhp": lambda f, x, **kw: functional.vhp(f, x, x.detach(), **kw)[1],
          "hvp": lambda f, x, **kw: functional.hvp(f, x, x.detach(), **kw)[1]}


@pytest.mark.parametrize("name", FIRST)
def test_strict_first_derivatives_with_graph_depend_on_the_inputs(name):
    for f, is_refused in ((lambda x: 3 * x, True), (lambda x: x ** 3, False)):
        for create_graph in (False, True):
            kept = FIRST[name](f, leaf(3), create_graph=create_graph)
            assert kept.requires_grad == (create_graph and not is_refused)
            if create_graph and is_refused:
                with pytest.raises(RuntimeError, match=r"independent of the inputs.*strict"):
                    FIRST[name](f, leaf(3), create_graph=True, strict=True)
            else:
                ingot.testing.assert_close(FIRST[name](f, leaf(3), create_graph=create_graph, strict=True), kept)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", SECOND)
def test_strict_second_derivatives_need_a_nonlinear_function(name, create_graph):
    with pytest.raises(RuntimeError, match=r"independent of the inputs.*strict"):
        SECOND[name](lambda x: (3 * x).sum(), leaf(3), create_graph=create_graph, strict=True)
    assert not SECOND[name](lambda x: (3 * x).sum(), leaf(3), create_graph=create_graph).any()
    found = SECOND[name](lambda x: (x ** 3).sum(), leaf(3), create_graph=create_graph, strict=True)
    assert found.requires_grad == create_graph and found.any()


def test_strict_second_derivatives_by_several_inputs():
    with pytest.raises(RuntimeError, match=r"independent of input 1.*strict"):
        functional.hessian(lambda x, y: (x ** 3).sum() + (y ** 3).sum(), (leaf(2), leaf(2)), strict=True)
    functional.hessian(lambda x, y: (x ** 2 * y ** 2).sum(), (leaf(2), leaf(2)), strict=True)


def test_jacobian_can_be_differentiated():
    x = leaf(3)
    j = functional.jacobian(lambda x: x ** 3, x, create_graph=True)
    j.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * x.detach().numpy())


def test_products():
    x, v = leaf(3), ingot.tensor(data(3, seed=9))
    value, product = functional.vjp(lambda x: ingot.tensor(A) @ x, x, v)
    np.testing.assert_allclose(product.numpy(), v.numpy() @ A)
    value, product = functional.jvp(lambda x: ingot.tensor(A) @ x, x, v)
    np.testing.assert_allclose(product.numpy(), A @ v.numpy())
    np.testing.assert_allclose(value.numpy(), A @ x.detach().numpy())
    for product_of in (functional.hvp, functional.vhp):
        _, product = product_of(quadratic, x, v)
        np.testing.assert_allclose(product.numpy(), (A + A.T) @ v.numpy())


@pytest.mark.parametrize("call, message", [
    (lambda: functional.vjp(lambda x: x * 2, leaf(3)), "left out"),
    (lambda: functional.vjp(lambda x: x * 2, leaf(3), ingot.ones(2)), "shape"),
    (lambda: functional.hessian(lambda x: x * 2, leaf(3)), "one element"),
    (lambda: functional.jacobian(lambda x: 3, leaf(3)), "int"),
    (lambda: functional.jacobian(lambda x: x, leaf(3), strategy="sideways"), "sideways"),
])
def test_misuse_is_named(call, message):
    with pytest.raises(ingot.IngotError, match=message):
        call()


# func.


def test_nested_grad():
    cube = lambda x: x ** 3
    x = ingot.tensor(2.0, dtype=ingot.float64)
    derivatives = [func.grad(cube)]
    for _ in range(2):
        derivatives.append(func.grad(derivatives[-1]))
    assert [float(f(x)) for f in derivatives] == [12, 12, 6]


def test_grad_over_dicts_and_aux():
    params = {"w": ingot.tensor(data(2)), "b": ingot.tensor(data(2, seed=1))}
    loss = lambda p, x: ((p["w"] * x + p["b"]).sum(), {"n": p["w"] * 2})
    gradient, (value, aux) = func.grad_and_value(loss, has_aux=True)(params, ingot.tensor(data(2, seed=2)))
    np.testing.assert_allclose(gradient["w"].numpy(), data(2, seed=2))
    assert gradient["b"].tolist() == [1.0, 1.0]
    assert not value.requires_grad and not aux["n"].requires_grad


def test_captured_parameters_stay_connected():
    w = leaf(2)
    (g,) = func.grad(lambda x: (x * x * w).sum(), argnums=(0,))(ingot.ones(2, dtype=ingot.float64))
    g.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_jacobians_and_hessian():
    x = ingot.tensor(data(3))
    np.testing.assert_allclose(func.hessian(quadratic)(x).numpy(), A + A.T, atol=1e-12)
    for jac in (func.jacrev, func.jacfwd):
        np.testing.assert_allclose(jac(lambda x: ingot.tensor(A) @ x)(x).numpy(), A, atol=1e-12)


def test_vjp_and_jvp():
    x, v = ingot.tensor(data(3)), ingot.tensor(data(3, seed=5))
    _, pull = func.vjp(lambda x: ingot.tensor(A) @ x, x)
    np.testing.assert_allclose(pull(v)[0].numpy(), A.T @ v.numpy())
    _, pushed = func.jvp(lambda x: ingot.tensor(A) @ x, (x,), (v,))
    np.testing.assert_allclose(pushed.numpy(), A @ v.numpy())


def test_vmap_gives_gradients_per_sample():
    xs, w = ingot.tensor(data(5, 3)), ingot.tensor(data(3, seed=1))
    grads = func.vmap(func.grad(lambda w, x: ((w * x).sum()) ** 2), in_dims=(None, 0))(w, xs)
    expected = 2 * (xs.numpy() @ w.numpy())[:, None] * xs.numpy()
    np.testing.assert_allclose(grads.numpy(), expected)


def test_vmap_dims():
    a, b = ingot.tensor(data(4, 2)), ingot.tensor(data(2, 4))
    out = func.vmap(lambda x, y: x * y, in_dims=(0, 1), out_dims=1)(a, b)
    np.testing.assert_allclose(out.numpy(), (a.numpy() * b.numpy().T).T)
    with pytest.raises(ValueError, match="one size"):
        func.vmap(lambda x, y: x * y)(a, b)


def test_public_paths_of_autograd():
    import ingot.autograd.gradcheck as module
    assert inspect.signature(module) == inspect.signature(module.gradcheck)
    from ingot.autograd.functional import hessian

    assert module.gradcheck is gradcheck and hessian is functional.hessian
    assert ingot.autograd.gradcheck(lambda x: x * x, leaf(2))
    assert isinstance(leaf(1), ingot.autograd.Variable)
    assert ingot.autograd.Variable(ingot.ones(1), requires_grad=True).requires_grad
