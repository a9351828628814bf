"""Gradients through operations in place: equal to the same operation out of place, however the tape saves operands."""

import itertools
import math
import random

import pytest

import ingot
from ingot import jit, nn
from ingot.autograd.graph import saved_tensors_hooks
from ingot.ir.errors import AutogradError
from ingot.utils.checkpoint import checkpoint

OTHER = "other"
TABLE = [(name, ()) for name in ("abs", "acos", "asin", "atan", "cos", "cosh", "digamma", "erf", "exp", "expm1", "lgamma",
                                 "log", "log1p", "logit", "neg", "reciprocal", "rsqrt", "sigmoid", "sin", "sinc", "sinh",
                                 "sqrt", "square", "tan", "tanh")]
TABLE += [(name, (OTHER,)) for name in ("add", "sub", "mul", "div", "pow", "atan2", "hypot", "xlogy", "copysign")]
TABLE += [("pow", (2,)), ("pow", (3.5,)), ("float_power", (2,)), ("clamp", (0.1, 0.6)), ("cumprod", (0,)), ("polygamma", (1,)),
          ("addcmul", (OTHER, OTHER)), ("lerp", (OTHER, 0.3)), ("pow", (3,)), ("pow", (-2,)), ("__ipow__", (3,)),
          ("renorm", (2, 0, 0.5)), ("mvlgamma", (1,)), ("addcdiv", (OTHER, OTHER)), ("fmod", (OTHER,)), ("remainder", (OTHER,)),
          ("logit", (0.4,)), ("i0", ()), ("erfinv", ()), ("sgn", ()), ("nan_to_num", ()), ("cumsum", (1,)),
          ("logaddexp", (OTHER,)), ("float_power", (3,)), ("relu", ()), ("deg2rad", ()), ("tril", ()),
          ("masked_fill", (ingot.tensor([True, False]), 2.0))]


def plain(fn, *args):
    return fn(*args)


def with_hooks(fn, *args):
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        return fn(*args)


def checkpointed(fn, *args):
    return checkpoint(fn, *args, use_reentrant=False)


def gradients(call, name, rest):
    """Return the gradients of a tensor and of the other operand."""
    x = ingot.tensor([[0.3, 0.55], [0.7, 0.2]], dtype=ingot.float64, requires_grad=True)
    other = ingot.tensor([[0.4, 0.25], [0.9, 0.35]], dtype=ingot.float64, requires_grad=True)

    def fn(x, other):
        y = x * 1.0
        if name.rstrip("_") in ("sgn", "pow"):
            y = ingot.complex(y, 0.5 * y)
        return abs(getattr(y, name)(*[other if r is OTHER else r for r in rest]) * 3.0 + 1.0)

    return ingot.autograd.grad(call(fn, x, other).sum(), [x, other], allow_unused=True)


@pytest.mark.parametrize("call", [plain, with_hooks, checkpointed], ids=lambda f: f.__name__)
@pytest.mark.parametrize(("name", "rest"), TABLE, ids=str)
def test_in_place_and_out_of_place_have_the_same_gradients(name, rest, call):
    want = gradients(plain, name.replace("__i", "__"), rest)
    for a, b in zip(gradients(call, name if name.startswith("__") else name + "_", rest), want):
        assert (a is None) == (b is None) and (a is None or ingot.equal(a, b))


def assigned(y, w):
    y[0] = y[0] * w[1]


IN_PLACE = (lambda y, w: y.mul_(w), lambda y, w: y.__imul__(w), lambda y, w: y[0].mul_(w[0]), lambda y, w: y.pow_(w))


@pytest.mark.parametrize(("write", "around"), [(w, c) for w in IN_PLACE for c in (plain, checkpointed)] + [(assigned, plain)])
def test_writes_of_values_computed_from_the_tensor_itself(write, around):
    def loss(x, w):
        y = x * 1.0
        write(y, w)
        return (y * y.detach()).sum()

    def step(x, w):
        return ingot.autograd.grad(around(loss, x, w), [x, w])

    def by_differences(x, w, t, at):
        with ingot.no_grad():
            found = []
            for h in (1e-6, -1e-6):
                t[at] += h
                y = x * 1.0
                write(y, w)
                found.append(y)
                t[at] -= h
            mid = x * 1.0
            write(mid, w)
        return ((found[0] - found[1]) / 2e-6 * mid).sum()

    x = ingot.tensor([[0.3, 0.5], [0.7, 0.2]], dtype=ingot.float64, requires_grad=True)
    w = ingot.tensor([[1.4, 1.2], [0.9, 0.4]], dtype=ingot.float64, requires_grad=True)
    grads = step(x, w)
    for t, g in zip((x, w), grads):
        for at in ((0, 0), (0, 1), (1, 0), (1, 1)):
            assert abs(float(g[at]) - float(by_differences(x, w, t, at))) < 1e-6
    traced = jit.trace(step)
    for _ in range(3):
        assert all(ingot.equal(a, b) for a, b in zip(traced(x, w), grads))


def _overwrites_what_was_saved(x):
    y = x * 1.0
    z = y.sin()
    y.add_(1)
    return z * y


def test_writes_after_another_rule_saved_the_tensor_raise():
    x = ingot.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="overwritten by add_"):
        _overwrites_what_was_saved(x).sum().backward()


def test_recomputed_functions_may_overwrite_saved_values():
    x = ingot.ones(2, requires_grad=True)
    checkpointed(_overwrites_what_was_saved, x).sum().backward()
    ingot.testing.assert_close(x.grad, 2 * ingot.cos(x.detach()) + ingot.sin(x.detach()))


def test_values_without_gradient_may_be_overwritten_in_a_checkpoint():
    def fn(x, c):
        y = c * 1.0
        z = x * y.sin()
        y.add_(1)
        return z

    x = ingot.ones(2, requires_grad=True)
    checkpointed(fn, x, ingot.zeros(2)).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["mul_", "div_", "pow_", "true_divide_"])
def test_factors_of_the_operand_are_for_sums_only(name):
    with pytest.raises(TypeError, match="alpha"):
        getattr(ingot.ones(2), name)(ingot.ones(2), alpha=3)


@pytest.mark.parametrize("kind", ["GRU", "GRUCell", "LSTM", "LSTMCell"])
@pytest.mark.parametrize("write", [lambda y: y.relu_(), lambda y: y[0].mul_(2.0)])
def test_states_of_recurrent_layers_may_be_overwritten(kind, write):
    ingot.manual_seed(0)
    layer = getattr(nn, kind)(4, 3).double()
    x = ingot.randn(*((2, 4) if kind.endswith("Cell") else (5, 2, 4)), dtype=ingot.float64, requires_grad=True)

    def gradient(copied):
        y = layer(x)
        y = y[0] if isinstance(y, tuple) else y
        y = y.clone() if copied else y
        write(y)
        return ingot.autograd.grad(y.square().sum(), [x, *layer.parameters()])

    for a, b in zip(gradient(False), gradient(True)):
        assert ingot.equal(a, b)


TAKEN_OVER = {"copy_": lambda y, x: y.copy_(x), "all": lambda y, x: y.__setitem__(..., x),
              "slice": lambda y, x: y.__setitem__(slice(None), x)}


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 2.0], ids=["leaf", "computed"])
@pytest.mark.parametrize("take", TAKEN_OVER.values(), ids=TAKEN_OVER)
@pytest.mark.parametrize("around", [lambda f: f, jit.trace], ids=["eager", "traced"])
def test_a_tensor_that_took_over_the_values_of_another_is_not_that_tensor(take, make, around):
    def fn(x):
        z, y = make(x), ingot.zeros(2)
        take(y, z)
        y.mul_(5.0)
        y.retain_grad()
        y.register_hook(lambda g: g * 10.0)
        (y * 3.0 + z).sum().backward()
        return y.grad

    fn, factor = around(fn), make(1.0)
    for _ in range(3):
        x = ingot.ones(2, requires_grad=True)
        assert fn(x).tolist() == [30.0, 30.0]
        assert x.grad.tolist() == [151.0 * factor] * 2


@pytest.mark.parametrize("take", [*TAKEN_OVER.values(), lambda y, x: y.copy_(x.sum()), lambda y, x: y.fill_(x.sum())])
def test_tensors_that_took_over_a_leafs_values_are_no_leaves(take):
    y, x = ingot.zeros(2), ingot.ones(2, requires_grad=True)
    take(y, x)
    assert not y.is_leaf and y.grad_fn is not None
    y.sum().backward()
    assert y.grad is None and x.grad is not None


def test_filled_tensors_get_zero_gradients():
    x, s = ingot.ones(2, requires_grad=True), ingot.tensor(2.0, requires_grad=True)
    (x * 3.0).fill_(s).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0] and s.grad.item() == 2.0


def written(at):
    """Return a function that writes zeros, made from their shape, at a key of a square."""
    def write(y, zeros):
        y[at] = zeros(*y[at].shape)
        return y
    return write


# Operations that overwrite elements which then receive infinite gradients.
OVERWRITTEN = {
    "row": written(0), "part": written(slice(0, 1)), "all": written(...), "place": written((0, 1)),
    "mask": lambda y, zeros: y.masked_fill_(y > 2, 0.0), "diagonal": lambda y, zeros: (y.diagonal().zero_(), y)[1],
    "copy_": lambda y, zeros: y.copy_(zeros(2, 2)), "zero_": lambda y, zeros: y.zero_(), "fill_": lambda y, zeros: y.fill_(0.0),
    "fill_ of a tensor": lambda y, zeros: y.fill_(zeros()), "view": lambda y, zeros: (y.view(4).copy_(zeros(4)), y)[1],
    "slice_scatter": lambda y, zeros: ingot.slice_scatter(y, zeros(1, 2), 0, 0, 1),
    "select_scatter": lambda y, zeros: ingot.select_scatter(y, zeros(2), 0, 0),
    "diagonal_scatter": lambda y, zeros: ingot.diagonal_scatter(y, zeros(2)),
    "index_put_": lambda y, zeros: y.index_put_((ingot.tensor(0),), zeros()),
    "padding": lambda y, zeros: nn.functional.embedding(ingot.tensor([0, 1]), y - y[0].detach(), padding_idx=0),
}


@pytest.mark.parametrize("trace", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", OVERWRITTEN)
def test_overwritten_elements_get_no_gradient(name, trace):
    """Infinite gradients are often the reason: the root of zero, the norm of nothing."""
    def fn(x):
        y = OVERWRITTEN[name](x * 1.0, ingot.zeros)
        y.abs().sqrt().sum().backward()
        return x.grad, y.detach()

    grad, y = (jit.trace(fn) if trace else fn)(ingot.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))
    assert ((grad == 0) == (y == 0)).all() and grad.isfinite().all()


def test_a_view_from_no_grad_is_not_written_in_grad_mode():
    x = ingot.ones(2, 2, requires_grad=True)
    h = x * 1
    with ingot.no_grad():
        view = h.view(-1)
        view.mul_(2)
    with pytest.raises(AutogradError, match=r"mul_: a view that was made under no_grad\(\)"):
        view.mul_(3)
    assert h.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    h.argsort(dim=-1).view(-1).add_(1)          # without a history
    ingot.zeros(3)[1:].mul_(2)


def test_a_checked_write_raises_before_and_after_unchecked_ones():
    """Writes through `.data` are unchecked, but they hide no other write."""
    for before, after in ((0, 1), (1, 0), (1, 2), (0, 0)):
        x = ingot.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        loss = y.sum()
        for _ in range(before):
            y.data.mul_(2)
        with ingot.no_grad():
            y.add_(1)
        for _ in range(after):
            y.data.mul_(2)
        with pytest.raises(AutogradError, match="then overwritten"):
            loss.backward()


def test_unchecked_writes_are_read():
    x = ingot.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.data.fill_(3)
    loss = (y * y).sum()
    y.data.fill_(5)
    y.data.add_(1)
    loss.backward()
    assert x.grad.tolist() == [12, 12]


ORDERS = ["".join(kinds) for n in range(5) for kinds in itertools.product("wd", repeat=n)]


@pytest.mark.parametrize("save", [lambda a: a * a, lambda a: Kept.apply(a), lambda a: checkpointed(Kept.apply, a)],
                         ids=["rule", "function", "checkpoint"])
def test_writes_after_a_value_was_saved_are_refused_but_for_those_through_data(save):
    """After a checked write (w) any number of writes through `.data` (d) hide nothing."""
    for order, at in [(kinds, at) for kinds in ORDERS for at in range(len(kinds) + 1)]:
        w = ingot.tensor([2.0, 3.0], requires_grad=True)
        a = w * 1
        for i, kind in enumerate(order + "."):
            if i == at:
                y = save(a)
            if kind != ".":
                (a.detach() if kind == "w" else a.data).mul_(2)
        if "w" in order[at:]:
            with pytest.raises(RuntimeError, match=r"in place|inplace"):
                y.sum().backward()
        else:
            y.sum().backward()
            assert w.grad.tolist() == [4.0 * 2 ** len(order), 6.0 * 2 ** len(order)], f"{order} from {at} on"


class Kept(ingot.autograd.Function):
    """Square whose backward reads what was saved."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return 2 * a * g


@pytest.mark.parametrize("wrap", [lambda fn: fn, jit.trace], ids=["eager", "traced"])
@pytest.mark.parametrize("sizes", [(2, 3), (2, 3, 4), (3, 1, 2, 2)], ids=str)
def test_windows_are_written_where_they_lie_in_memory_of_any_order(sizes, wrap):
    """A window counts elements in memory. The history of its base must too, for a base that is not in row-major order."""
    rng = random.Random(str(sizes))
    for _ in range(20):
        order = rng.sample(range(len(sizes)), len(sizes))
        numel = math.prod(sizes)
        start, step = rng.randrange(numel), rng.randint(1, 3)
        places = range(start, numel, step)[:3]
        way = [order.index(d) for d in range(len(sizes))]

        def written(w, v, order=order, places=places, step=step):
            x = w.permute(order) * 2
            x.as_strided((len(places),), (step,), places[0]).mul_(v[:len(places)])
            return x

        def out_of_place(w, v, order=order, places=places):
            factors = ingot.ones(w.numel(), dtype=w.dtype).index_put((ingot.tensor([*places]),), v[:len(places)])
            return (w * factors.reshape(w.shape) * 2).permute(order)

        w = ingot.arange(1.0, 1 + numel, dtype=ingot.float64).reshape(sizes).requires_grad_()
        v = ingot.tensor([3.0, -5.0, 7.0], dtype=ingot.float64, requires_grad=True)
        found = wrap(written)
        for _ in range(2):
            got, want = found(w, v), out_of_place(w, v)
            assert got.permute(way).is_contiguous() and ingot.equal(got, want), (order, places)
            for a, b in zip(ingot.autograd.grad((got ** 2).sum(), (w, v)), ingot.autograd.grad((want ** 2).sum(), (w, v))):
                assert ingot.equal(a, b), (order, places)
