"""Laws of `ingot.func` for every operator over the table of samples.

jvp          a directional derivative and a gradient are one linear map: <c, jvp(t)> == <vjp(c), t>
vmap         gradients and derivatives of a batch are those of its samples, for all mapped dimensions, and nested
hvp          forward over reverse is the slope of the gradient
traced       the same under `jit.trace`
"""

import zlib
from contextlib import suppress

import numpy as np
import pytest

import ingot
from ingot import func, jit
from ingot.func import grad, jvp, vjp, vmap
from ingot.ir.errors import IngotError
from ingot.ir.opdef.op import OPS
from ingot.runtime.core.tensor import wrap
from samples import (
    SAMPLES,
    direction,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

FACTORS = (1.0, 1 - 2.0 ** -10, 1 + 2.0 ** -9)       # of the samples in a batch: close to each other, none at a kink
MOST = 4                                            # samples of an operator
ONCE = {"ctc_loss"}                                 # no second derivative, so no directional one
FREE_SIGNS = {"eig", "eigh", "svd", "qr"}           # results are unique up to signs or phases


def is_float(a):
    return isinstance(a, np.ndarray) and a.dtype == np.float64


def differentiable(op, position):
    return not isinstance(op.vjp, tuple) or (position < len(op.vjp) and op.vjp[position] is not None)


def cases(name, order=1):
    """Return (sample, positions to differentiate by) of an operator."""
    op, found = OPS[name], []
    for s in rows(name):
        at = [i for i, a in enumerate(s.args) if is_float(a) and differentiable(op, i) and a.size]
        if s.grad and at and (order == 1 or s.order2) and len(found) < MOST:
            found.append((s, at))
    return found


def names(order=1):
    return [n for n in sorted(SAMPLES) if OPS[n].differentiable and "random" not in OPS[n].traits and cases(n, order)]


def some(listed, count):
    """Return a fixed pseudo-random choice of names."""
    return sorted(sorted(listed, key=lambda n: zlib.crc32(n.encode()))[:count])


def function_of(op, s, at):
    """Return the operator as a function of some arguments, with its floating point results."""
    def f(*values):
        args = [wrap(a) if isinstance(a, np.ndarray) else a for a in s.args]
        for i, v in zip(at, values):
            args[i] = v
        found = op(*args, **s.params)
        return tuple([o for o in (found if type(found) is tuple else (found,)) if o.dtype.is_floating_point])

    return f


def loss_of(f):
    """Return a weighted sum of results with distinct weights."""
    def loss(*values):
        outs = f(*values)
        total = ingot.zeros((), dtype=ingot.float64)
        for o in outs:
            n = o.numel()
            total = total + (o * ingot.linspace(0.5, 1.5, n, dtype=ingot.float64).reshape(o.shape)).sum()
        return total

    return loss


def values_of(s, at):
    return tuple([wrap(np.array(s.args[i])) for i in at])


def like(tensors, rng):
    return tuple([wrap(rng.standard_normal(t.shape)) for t in tensors])


def dot(a, b):
    return sum(float((x * y).sum()) for x, y in zip(a, b))


def batch(values, dims):
    """Return some samples near given ones, along a dimension of each."""
    return tuple([wrap(np.stack([v._a * f for f in FACTORS], d)) for v, d in zip(values, dims)])


def samples_of(full, dims):
    return [tuple([t.select(d, i) for t, d in zip(full, dims)]) for i in range(len(FACTORS))]


def agree(found, expected, tol, label):
    for a, b in zip(found, expected, strict=True):
        a, b = a.detach().numpy(), b.detach().numpy()
        assert a.shape == b.shape, label
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1, np.abs(b[np.isfinite(b)]).max(initial=0)), err_msg=label)


@pytest.mark.drawn
@pytest.mark.parametrize("name", [n for n in names() if n not in ONCE])
def test_jvp_and_vjp_are_one_map(name):
    rng = np.random.default_rng([3, *name.encode()])
    for s, at in cases(name):
        f, values = function_of(OPS[name], s, at), values_of(s, at)
        directions = like(values, rng)
        outs, pushed = jvp(f, values, directions)
        cotangents = like(outs, rng)
        pulled = vjp(f, *values)[1](*cotangents)
        forward, backward = dot(cotangents, pushed), dot(pulled, directions)
        assert abs(forward - backward) <= 1e-9 * max(1, abs(backward)), (name, s.params, forward, backward)


@pytest.mark.drawn
@pytest.mark.parametrize("name", [n for n in names() if n not in FREE_SIGNS])
def test_gradients_of_a_batch_are_those_of_its_samples(name):
    rng = np.random.default_rng([4, *name.encode()])
    for s, at in cases(name):
        f, values = function_of(OPS[name], s, at), values_of(s, at)
        gradient = grad(loss_of(f), argnums=tuple(range(len(at))))
        dims = tuple([int(rng.integers(0, v.ndim + 1)) for v in values])
        full = batch(values, dims)
        label = f"{name} {s.params} in_dims={dims}"
        expected = [gradient(*one) for one in samples_of(full, dims)]
        agree(vmap(gradient, dims)(*full), [ingot.stack(list(c)) for c in zip(*expected)], 1e-9, label)
        nested = vmap(vmap(gradient, dims))(*[ingot.stack([t, t]) for t in full])
        agree([t[1] for t in nested], [ingot.stack(list(c)) for c in zip(*expected)], 1e-9, label)
        # One argument mapped, the others shared by all samples.
        lone = (0, *(None,) * (len(at) - 1))
        front = (full[0].movedim(dims[0], 0), *values[1:])
        expected = [gradient(x, *values[1:]) for x in front[0]]
        agree(vmap(gradient, lone)(*front), [ingot.stack(list(c)) for c in zip(*expected)], 1e-9, label)


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("name", names())
def test_gradients_of_a_batch_at_corners(name, value):
    """For zeros or ones the gradient comes from the operator's own rule, not from its steps."""
    s, at = cases(name)[0]
    loss = loss_of(function_of(OPS[name], s, at))
    one = [wrap(np.full_like(s.args[i], value)) for i in at]
    batch = [ingot.stack([x, x]) for x in one]
    with suppress(IngotError):           # no such sample
        expected = grad(loss, tuple(range(len(at))))(*one)
        found = grad(lambda *xs: vmap(loss)(*xs).sum(), tuple(range(len(at))))(*batch)
        for e, f in zip(expected, found):
            for each in f:
                np.testing.assert_allclose(each.numpy(), e.numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.drawn
@pytest.mark.parametrize("name", [n for n in names() if n not in FREE_SIGNS | ONCE])
def test_derivatives_of_a_batch_are_those_of_its_samples(name):
    rng = np.random.default_rng([5, *name.encode()])
    for s, at in cases(name)[:2]:
        f, values = function_of(OPS[name], s, at), values_of(s, at)
        dims = (0,) * len(at)
        full, directions = batch(values, dims), like(batch(values, dims), rng)

        def pushed(xs, ts, f=f):
            return jvp(f, xs, ts)[1]

        expected = [pushed(*pair) for pair in zip(samples_of(full, dims), samples_of(directions, dims))]
        found = vmap(pushed)(full, directions)
        agree(found, [ingot.stack(list(c)) for c in zip(*expected)], 1e-8, f"{name} {s.params}")


@pytest.mark.drawn
@pytest.mark.parametrize("name", names(order=2))
def test_forward_over_reverse_is_the_slope_of_the_gradient(name):
    rng = np.random.default_rng([6, *name.encode()])
    for s, at in cases(name, order=2)[:2]:
        f, values = function_of(OPS[name], s, at), values_of(s, at)
        gradient = grad(loss_of(lambda *v, f=f: tuple([o.sin() for o in f(*v)])), argnums=tuple(range(len(at))))
        directions = tuple([wrap(direction(name, v.shape, rng)) for v in values])
        _, found = jvp(gradient, values, directions)
        eps = 1e-5
        up, down = (gradient(*[v + sign * eps * d for v, d in zip(values, directions)]) for sign in (1, -1))
        for h, a, b in zip(found, up, down):
            slope = (a - b).numpy() / (2 * eps)
            most = max(1, np.abs(slope).max())
            np.testing.assert_allclose(h.numpy(), slope, rtol=2e-4, atol=2e-4 * most, err_msg=f"{name} {s.params}")


@pytest.mark.parametrize("name", [n for n in some(names(), 48) if n not in FREE_SIGNS])
def test_traced_is_eager(name):
    for s, at in cases(name)[:1]:
        f, values = function_of(OPS[name], s, at), values_of(s, at)
        work = vmap(grad(loss_of(f), argnums=tuple(range(len(at)))))
        full = batch(values, (0,) * len(at))
        traced = ingot.jit.trace(work)
        expected = work(*full)
        for _ in range(2):
            agree(traced(*full), expected, 1e-12, f"{name} {s.params}")


def wave(z):
    return (z * z).sin()


def energy(z):
    return wave(z).sum()


OF_ANY_SIZE = {
    "vmap": func.vmap(energy),
    "vmap of grad": func.vmap(func.grad(energy)),
    "vmap of grad of grad": func.vmap(func.grad(lambda z: func.grad(energy)(z)[1])),
    "vmap of jacrev": func.vmap(func.jacrev(wave)),
    "vmap of jacfwd": func.vmap(func.jacfwd(wave)),
    "vmap of hessian": func.vmap(func.hessian(energy)),
    "vmap over the second dim": func.vmap(energy, in_dims=1),
    "vmap over two": lambda z: func.vmap(lambda a, b: (a * b).sum())(z, z + 1),
    "vmap in vmap": lambda z: func.vmap(lambda a: func.vmap(lambda b: (a * b).sum())(z))(z),
    "jacrev": lambda z: func.jacrev(wave)(z[:, 0]),
    "jacfwd": lambda z: func.jacfwd(wave)(z[:, 0]),
    "hessian": lambda z: func.hessian(energy)(z[:, 0]),
}


@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_traces_of_transforms_take_sizes_that_change(name):
    traced = jit.trace(OF_ANY_SIZE[name])
    for size in (8, 5, 9, 4, 12, 7, 6):
        z = ingot.randn(size, 3)
        assert traced(z).equal(OF_ANY_SIZE[name](z))
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


def test_a_model_with_transforms_inside_is_exported_for_any_batch(tmp_path):
    path = tmp_path / "model.ingot"
    jit.export(OF_ANY_SIZE["vmap of hessian"], (ingot.randn(8, 3),), path, dynamic={"z": {0: "batch"}}, targets=())
    z = ingot.randn(21, 3)
    ingot.testing.assert_close(jit.load(path)(z), OF_ANY_SIZE["vmap of hessian"](z))
