"""Functions of lists of tensors: what the function of one tensor gives for each, out of place and in place."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.errors import AutogradError
from ingot.runtime.foreach.foreach_functions import UNARY
from side_by_side import plain

TABLE = [(name, ()) for name in (*UNARY, "max", "clone")]
TABLE += [(name, (operand,)) for name in ("add", "sub", "mul", "div", "pow", "clamp_min", "clamp_max", "minimum", "maximum")
          for operand in (0.4, [0.4, 0.6], "list")]
TABLE += [("add", ("tensor",)), ("mul", ("tensor",)), ("lerp", ("list", 0.3)), ("lerp", ("list", [0.2, 0.3])),
          ("lerp", ("list", "list")), ("addcmul", ("list", "list")), ("addcdiv", ("list", "list")), ("copy", ("list",)),
          ("zero", ())]
ONE = {"minimum": "clamp_max", "maximum": "clamp_min"}


def tensors(shift=0.0):
    return [ingot.tensor(v, dtype=ingot.float64) + shift for v in ([0.3, 0.7], [[0.2, 0.5, 0.9]])]


def operands(rest):
    return [tensors(0.05) if r == "list" else ingot.tensor(0.5, dtype=ingot.float64) if r == "tensor" else r for r in rest]


def one_by_one(name, rest, ending):
    found = []
    for i, t in enumerate(tensors()):
        row = [r[i] if isinstance(r, list) else r for r in operands(rest)]
        found.append(getattr(t, ONE.get(name, name) + ending)(*row))
    return found


@pytest.mark.parametrize(("name", "rest"), TABLE, ids=str)
def test_lists_are_gone_through(name, rest):
    if hasattr(ingot, "_foreach_" + name):
        found = getattr(ingot, "_foreach_" + name)(tensors(), *operands(rest))
        assert plain(list(found)) == plain(one_by_one(name, rest, ""))
    if hasattr(ingot, f"_foreach_{name}_"):
        written = tensors()
        getattr(ingot, f"_foreach_{name}_")(written, *operands(rest))
        assert plain(written) == plain(one_by_one(name, rest, "_"))
    assert hasattr(ingot, "_foreach_" + name) or hasattr(ingot, f"_foreach_{name}_")


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("factors", [{"value": 2.0}, {"scalars": [2.0, 2.0]}, {"scalars": ingot.tensor([2.0, 2.0])}], ids=str)
def test_factors_are_one_for_all_or_one_for_each(name, factors):
    want = [getattr(t, name)(a, b, value=2.0) for t, a, b in zip(tensors(), tensors(1), tensors(2))]
    assert plain(list(getattr(ingot, "_foreach_" + name)(tensors(), tensors(1), tensors(2), **factors))) == plain(want)


def test_norms_and_powers():
    ts = tensors()
    assert plain(list(ingot._foreach_norm(ts, 1))) == plain([t.norm(1) for t in ts])
    assert plain(list(ingot._foreach_pow(2.0, ts))) == plain([2.0 ** t for t in ts])
    assert plain(list(ingot._foreach_add(ts, ts, alpha=2))) == plain([t + 2 * t for t in ts])
    assert ingot.allclose(ingot._foreach_powsum(ts, 3)[0], ts[0].pow(3).sum())


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ingot._foreach_add([], 1), ValueError, "at least one"),
    (lambda: ingot._foreach_sqrt(ingot.ones(2)), TypeError, "list of tensors, got Tensor"),
    (lambda: ingot._foreach_sqrt_([1, 2]), TypeError, "int in it"),
    (lambda: ingot._foreach_mul_(tensors(), [1.0]), ValueError, "got 2 and 1"),
    (lambda: ingot._foreach_addcmul(tensors(), tensors()[:1], tensors()), ValueError, "got 2 and 1")])
def test_lists_that_do_not_fit(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_an_optimizer_of_lists_is_traced():
    def make():
        params, moments = tensors(), [t * 0 for t in tensors()]

        def step(scale):
            grads = [p * scale for p in params]
            ingot._foreach_lerp_(moments, grads, 0.1)
            scales = ingot._foreach_add(ingot._foreach_sqrt(ingot._foreach_abs(moments)), 1e-3)
            ingot._foreach_addcdiv_(params, grads, scales, -0.1)
            return [p.clone() for p in params]

        return step

    eager, traced = make(), jit.trace(make())
    for i in range(4):
        assert plain(traced(ingot.tensor(1.0 + i))) == plain(eager(ingot.tensor(1.0 + i)))
    assert traced.stats()["compiles"] <= 2


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name, operands", [("mul", (0.3,)), ("add", (1,)), ("div", (3,)), ("sub", ("list",)),
                                            ("add", ("list",)), ("lerp", ("list", 0.01)), ("lerp", ("list", 0.7))])
def test_lists_on_the_host_have_the_bits_of_their_tensors(name, operands, dtype):
    """Also where tensors share memory, lie in another order, are single numbers, or stand in a list twice."""
    def lists():
        rng = np.random.default_rng(3)
        base = ingot.tensor(rng.standard_normal((40, 50))).to(getattr(ingot, dtype))
        once = [base[:10], base[10:20].clone(), base[20:].t(), base[5, 5], ingot.zeros(0, 3, dtype=base.dtype), base[0]]
        other = [t.clone() * 2 + 1 for t in once]
        other[0] = base[2:12]
        return [*once, once[1]], [*other, other[1]]

    many, ends = lists()
    given = [ends if v == "list" else v for v in operands]
    getattr(ingot, f"_foreach_{name}_")(many, *given)
    one_by_one, ends = lists()
    for t, end in zip(one_by_one, ends):
        getattr(t, name + "_")(*[end if v == "list" else v for v in operands])
    for got, want in zip(many, one_by_one):
        assert got.double().numpy().tobytes() == want.double().numpy().tobytes(), f"{name} of {dtype}, seed 3"


def test_writes_of_lists_are_counted():
    w = [ingot.ones(3, requires_grad=True), ingot.ones(3)]
    with pytest.raises(AutogradError):
        ingot._foreach_mul_(w, 2.0)
    w, x = [ingot.ones(3), ingot.ones(3)], ingot.ones(3, requires_grad=True)
    y = (x * w[1]).sum()
    ingot._foreach_mul_(w, 2.0)
    with pytest.raises(AutogradError, match="_foreach_mul_"):
        y.backward()
