"""Rarer behaviour of PyTorch: swapped tensors, parameters that an optimizer has twice, values that nodes keep."""

import weakref

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import func, nn
from ingot.utils import swap_tensors


def test_swapped_tensors_are_each_other():
    a, b = nn.Parameter(ingot.ones(2)), ingot.zeros(3)
    a.grad, a.note, memory = ingot.full((2,), 5.0), "here", a.data_ptr()
    table = {"weight": a}
    swap_tensors(a, b)
    assert type(b) is nn.Parameter and type(a) is ingot.Tensor and table["weight"] is a
    assert b.data_ptr() == memory and b.grad.tolist() == [5.0, 5.0] and b.note == "here"
    assert a.tolist() == [0.0] * 3 and not a.requires_grad and not hasattr(a, "note")
    (b * 2).sum().backward()
    assert b.grad.tolist() == [7.0, 7.0]

    def forget(p):
        p.grad.zero_()

    handle = b.register_post_accumulate_grad_hook(forget)
    (b * 2).sum().backward()
    assert b.grad.tolist() == [0.0, 0.0]
    handle.remove()


@pytest.mark.parametrize("known", [lambda t: weakref.ref(t), lambda t: t[1:]], ids=["weak reference", "view"])
def test_tensors_that_are_known_otherwise_are_not_swapped(known):
    t = ingot.ones(3)
    kept = known(t)
    with pytest.raises(RuntimeError, match="cannot swap t2"):
        swap_tensors(ingot.ones(3), t)
    with pytest.raises(TypeError, match="float as t1"):
        swap_tensors(1.0, t)
    del kept


@pytest.mark.parametrize("options, want", [
    ({"momentum": 0.9}, [0.8, 0.339, -0.41441]), ({"momentum": 0.9, "nesterov": True}, [0.62, 0.0051, -0.87297]),
    ({}, [0.8, 0.6, 0.4])])
def test_momentum_of_a_parameter_that_is_there_twice(options, want):
    p = nn.Parameter(ingot.ones(2))
    with pytest.warns(UserWarning, match="names a parameter twice"):
        opt = ingot.optim.SGD([p, p], lr=0.1, **options)
    for value in want:
        p.grad = ingot.ones(2)
        opt.step()
        assert p[0].item() == pytest.approx(value, abs=1e-5)


def test_nodes_show_what_they_keep():
    x = ingot.full((2,), 2.0).requires_grad_()
    y = x.exp()
    assert y.grad_fn._saved_result.tolist() == y.tolist() and (x * 3).grad_fn.name() == "MulBackward0"
    assert x.sin().grad_fn._saved_self.tolist() == [2.0, 2.0] and (x * y).grad_fn._saved_other.tolist() == y.tolist()
    for node, name in ((x.sum().grad_fn, "_saved_self"), (y.grad_fn, "_saved_self"), (y.grad_fn, "other")):
        assert not hasattr(node, name)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        _ = y.grad_fn._saved_result


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("fn", [ingot.matrix_exp, func.grad(lambda m: ingot.matrix_exp(m).sum())], ids=["itself", "gradient"])
def test_exponentials_of_many_matrices(fn, levels):
    a = ingot.arange(24.0, dtype=ingot.float64).reshape(2, 3, 2, 2) / 4
    mapped = func.vmap(fn) if levels == 1 else func.vmap(func.vmap(fn))
    found = mapped(a[0])[None] if levels == 1 else mapped(a)
    want = np.stack([[fn(m).numpy() for m in some] for some in (a[:1] if levels == 1 else a)])
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-10)


def test_names_of_types():
    assert [ingot.ones(1, dtype=d).type() for d in (ingot.float32, ingot.complex64, ingot.complex128)] == [
        "ingot.FloatTensor", "ingot.ComplexFloatTensor", "ingot.ComplexDoubleTensor"]
