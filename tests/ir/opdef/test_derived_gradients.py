"""Derived gradient rules: the rule derived from a composite's body equals its handwritten rule."""

import numpy as np
import pytest

from ingot.ir.opdef.derived_gradients import derived_vjp
from ingot.ir.opdef.op import OPS, Composite
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core import reduce as rd
from ingot.ir.ops.core.shape import expand
from samples import (
    rows,
    table,  # noqa: F401  (fills the samples)
)

COMPOSITES = ["layer_norm", "layer_norm_grad", "rms_norm", "rms_norm_grad", "group_norm", "batch_norm", "batch_norm_train",
              "batch_norm_grad"]


def listed(x):
    return list(x) if isinstance(x, tuple) else [x]


def quietly(fn, *args, **params):
    with np.errstate(all="ignore"):
        return fn(*args, **params)


@pytest.mark.parametrize("name", COMPOSITES)
def test_bodies_equal_their_references(name):
    op = OPS[name]
    assert type(op.lower) is Composite
    for i, s in enumerate(rows(name)):
        want, got = (listed(quietly(fn, *s.args, **s.params)) for fn in (op.ref, op.lower.body))
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert g.dtype == w.dtype and g.shape == w.shape, f"{name} sample {i}"
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9, err_msg=f"{name} sample {i}")


@pytest.mark.parametrize("name", COMPOSITES)
def test_derived_gradients_equal_written_ones(name):
    op, rng = OPS[name], np.random.default_rng(2)
    for i, s in enumerate(rows(name)):
        out = quietly(op.ref, *s.args, **s.params)
        g = tuple(rng.standard_normal(o.shape) for o in listed(out))
        g = g if len(g) > 1 else g[0]
        needs = tuple(a is not None for a in s.args)
        written = quietly(op.vjp, g, out, *s.args, needs=needs, **s.params)
        derived = quietly(derived_vjp(op.lower.body), g, out, *s.args, needs=needs, **s.params)
        for need, w, d in zip(needs, written, derived):
            assert (d is not None) == need
            if need:
                np.testing.assert_allclose(d, w, rtol=1e-8, atol=1e-8, err_msg=f"{name} sample {i}")


def test_an_argument_without_a_path_gets_zeros():
    rule = derived_vjp(lambda x, y: ew.mul(x, expand(ew.floor(y), shape=x.shape)))
    x, y = np.array([1.0, 2.0]), np.array([3.5])
    dx, dy = rule(np.ones(2), None, x, y, needs=(True, True))
    np.testing.assert_array_equal(dx, [3, 3])
    np.testing.assert_array_equal(dy, [0])
    assert rule(np.ones(2), None, x, y, needs=(True, False))[1] is None


def test_several_results_and_shared_values():
    def body(x):
        total = rd.sum_(x, dim=(0,), keepdim=True)
        return ew.mul(x, expand(total, shape=x.shape)), ew.exp(total)

    x = np.array([0.5, -1.0, 2.0])
    g = (np.array([1.0, 2.0, 3.0]), np.array([0.25]))
    dx, = derived_vjp(body)(g, None, x, needs=(True,))
    np.testing.assert_allclose(dx, g[0] * x.sum() + (g[0] * x).sum() + 0.25 * np.exp(x.sum()))
