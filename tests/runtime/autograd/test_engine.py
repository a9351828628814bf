"""Backward engine: order, accumulation, errors, released memory, and gradients that are never shared."""

import gc
import weakref

import numpy as np
import pytest

import ingot
import interrupts
from ingot import jit
from ingot.autograd import backward, grad
from ingot.ir.ops.core.shape import pad
from ingot.runtime.autograd import engine
from ingot.runtime.core import dispatch


def leaf(*values, dtype=ingot.float64):
    return ingot.tensor(list(values), dtype=dtype).requires_grad_()


def random_leaf(*shape, seed=0):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape)).requires_grad_()


# Values.


def test_shared_subgraph_is_walked_once():
    calls = []
    x = leaf(2.0)
    shared = x * x
    shared.register_hook(lambda g: calls.append(float(g)))
    (shared * 3 + shared * 4).sum().backward()
    assert calls == [7.0]
    assert x.grad.tolist() == [28.0]


def test_wide_graph_adds_all_branches():
    x = leaf(1.0, 2.0)
    total = sum((x * k for k in range(500)), start=x * 0)
    total.sum().backward()
    assert x.grad.tolist() == [sum(range(500))] * 2


@pytest.mark.parametrize("length", [100_000])
def test_deep_graph_neither_recurses_nor_leaks(length):
    x = leaf(1.0)
    y = x
    for _ in range(length):
        y = y + 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y      # freeing 100,000 linked nodes must not recurse either


def test_unused_deep_graph_frees_without_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y


PARTS = {
    "beside each other": [np.s_[:, 0:2], np.s_[:, 2:5], np.s_[:, 5:6]],
    "over each other": [np.s_[:, 0:4], np.s_[:, 1:5], np.s_[2], np.s_[:, 3]],
    "with steps": [np.s_[0:4:3], np.s_[:, 1:6:2], np.s_[1:4:2]],
    "nothing, and everything": [np.s_[:, 2:2], np.s_[:, 0:6], np.s_[3:3], np.s_[0:4]],
    "one element": [np.s_[1, 2], np.s_[1, 2], np.s_[3, 5]],
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("also", ["before", "after", "never"])
@pytest.mark.parametrize("inner", [True, False])
def test_gradients_of_parts_add_up(parts, also, inner):
    x, rng, terms = random_leaf(4, 6), np.random.default_rng(1), []
    y = x * 1.0 if inner else x
    expected = np.zeros((4, 6)) + (also != "never")
    for part in parts:
        factor = rng.standard_normal(np.zeros((4, 6))[part].shape)
        expected[part] += factor
        terms.append((y[part] * ingot.tensor(factor)).sum())
    terms = {"before": [y.sum(), *terms], "after": [*terms, y.sum()], "never": terms}[also]
    sum(terms[1:], terms[0]).backward(retain_graph=True)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-13)
    sum(terms[1:], terms[0]).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * expected, rtol=1e-13)


def test_zeros_are_created_once_for_all_parts(monkeypatch):
    made = []
    x = random_leaf(4, 6)
    y = x * 2.0
    loss = sum(p.square().sum() for p in y.split(2, 1))
    kernel = dispatch.kernel_of(pad)
    monkeypatch.setitem(dispatch.KERNELS, pad, lambda *a, **k: made.append(1) or kernel(*a, **k))
    loss.backward()
    assert len(made) == 1
    np.testing.assert_allclose(x.grad.numpy(), 8 * x.detach().numpy())


def test_backward_of_several_tensors_with_gradients():
    x = leaf(1.0, 2.0)
    backward([x * 2, x * 3], [ingot.tensor([1.0, 10.0], dtype=ingot.float64), ingot.tensor([1.0, 1.0], dtype=ingot.float64)])
    assert x.grad.tolist() == [5.0, 23.0]


def test_random_programs_agree_with_differences():
    seed = 5
    rng = np.random.default_rng(seed)
    a, b = random_leaf(4, seed=1), random_leaf(4, seed=2)

    def program(a, b):
        values = [a, b]
        picks = np.random.default_rng(seed)
        for _ in range(12):
            i, j = picks.integers(len(values), size=2)
            kind = picks.integers(4)
            x, y = values[i], values[j]
            values.append([lambda: x * y, lambda: x + y, lambda: x.sin(), lambda: (x * 0.5).tanh()][kind]())
        return sum(v.sum() for v in values)

    program(a, b).backward()
    direction = rng.standard_normal(4)
    eps = 1e-6
    high = program(ingot.tensor(a.detach().numpy() + eps * direction), b.detach())
    low = program(ingot.tensor(a.detach().numpy() - eps * direction), b.detach())
    expected = (float(high) - float(low)) / (2 * eps)
    assert float((a.grad * ingot.tensor(direction)).sum()) == pytest.approx(expected, rel=1e-6), f"seed {seed}"


# grad().


def test_grad_leaves_dot_grad_alone_and_reaches_intermediates():
    x = leaf(3.0)
    h = x * x
    y = (h * 2).sum()
    gh, gx = grad(y, [h, x])
    assert (gh.tolist(), gx.tolist()) == ([2.0], [12.0])
    assert x.grad is None


def test_grad_of_an_intermediate_stops_at_it():
    ran = []
    x = leaf(3.0)
    before = x * x
    before.register_hook(lambda g: ran.append(g))
    h = before * 2
    (g,) = grad((h * h).sum(), [h], retain_graph=False)
    assert g.tolist() == [36.0]
    assert not ran
    h.sum().backward()       # its own history was not consumed
    assert x.grad.tolist() == [12.0]


def test_grad_of_a_tensor_by_itself():
    x = leaf(3.0)
    y = x * 2
    assert grad(y.sum(), y)[0].tolist() == [1.0]
    assert grad(x, x, ingot.tensor([5.0], dtype=ingot.float64))[0].tolist() == [5.0]


def test_unused_inputs():
    x, z = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="not used"):
        grad((x * 2).sum(), [x, z])
    assert grad((x * 2).sum(), [x, z], allow_unused=True)[1] is None
    assert grad((x * 2).sum(), [x, z], materialize_grads=True)[1].tolist() == [0.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_batched_gradients(create_graph):
    x = random_leaf(3)
    y = x * x
    eye = ingot.eye(3, dtype=ingot.float64)
    (jacobian,) = grad(y, x, eye, create_graph=create_graph, is_grads_batched=True)
    np.testing.assert_allclose(jacobian.detach().numpy(), np.diag(2 * x.detach().numpy()))
    if create_graph:
        (second,) = grad(jacobian.sum(), x)
        np.testing.assert_allclose(second.numpy(), 2.0)


def test_backward_with_inputs_accumulates_only_in_them():
    x, z = leaf(2.0), leaf(3.0)
    h = x * z
    (h * h).sum().backward(inputs=[x, h])
    assert x.grad.tolist() == [36.0]
    assert h.grad.tolist() == [12.0]
    assert z.grad is None and h.retains_grad


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("retains", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_with_a_computed_input_adds_its_gradient_once(retains, create_graph, trace):
    def twice(x):
        h, seen = x * 3, []
        if retains:
            h.retain_grad()
        for _ in range(2):
            (h * h).sum().backward(inputs=[h], create_graph=create_graph, retain_graph=True)
            seen.append(h.grad.detach().clone())
        return seen

    x = leaf(2.0)
    for _ in range(3):
        assert [g.tolist() for g in (ingot.jit.trace(twice) if trace else twice)(x)] == [[12.0], [24.0]]
    assert x.grad is None


def test_backward_with_an_input_that_is_named_twice_adds_its_gradient_once():
    x = leaf(2.0)
    (x * x).sum().backward(inputs=[x, x])
    assert x.grad.tolist() == [4.0]


def test_third_derivative():
    x = leaf(2.0)
    y = (x ** 4).sum()
    for expected in (32.0, 48.0, 48.0):
        (g,) = grad(y, x, create_graph=True)
        assert g.tolist() == [expected]
        y = g.sum()


# Errors.


def test_non_scalar_needs_a_gradient():
    with pytest.raises(RuntimeError, match=r"backward of float64\[2\] needs the gradient of each of its 2 elements"):
        (leaf(1.0, 2.0) * 2).backward()


def test_no_history():
    with pytest.raises(RuntimeError, match="does not require grad"):
        ingot.tensor([1.0]).backward()


def test_second_backward_names_the_operation():
    y = (leaf(2.0) * leaf(3.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"mul.*retain_graph=True"):
        y.backward()


def test_second_backward_where_nothing_was_saved():
    x = leaf(2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_retain_graph():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8.0]


def test_overwritten_value_names_both_places():
    x = leaf(2.0)
    h = x * 1
    y = h * h
    h.add_(1)      # the line that wrote
    with pytest.raises(RuntimeError, match=r"mul saved a tensor.*overwritten by add_ at .*test_engine\.py:\d+") as e:
        y.sum().backward()
    assert "MulBackward0" in "".join(e.value.__notes__)


def test_gradient_of_another_shape_is_refused():
    with pytest.raises(RuntimeError, match="must agree"):
        (leaf(1.0, 2.0) * 2).backward(ingot.ones(3, dtype=ingot.float64))


def test_inputs_that_require_no_grad():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad((x * 2).sum(), ingot.tensor([1.0]))


# Memory: nothing shared, nothing left.


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_never_share_memory(create_graph):
    a, b = random_leaf(4, seed=1), random_leaf(4, seed=2)
    seed = ingot.ones(4, dtype=ingot.float64)
    (a + b).backward(seed, create_graph=create_graph)
    arrays = [a.grad.detach().numpy(), b.grad.detach().numpy(), seed.numpy(), a.detach().numpy()]
    for i, x in enumerate(arrays):
        for y in arrays[i + 1:]:
            assert not np.shares_memory(x, y)


def test_a_saved_value_returned_as_gradient_is_copied():
    a, b = random_leaf(4, seed=1), random_leaf(4, seed=2)
    (a * b).sum().backward(retain_graph=True)
    a.grad.zero_()
    np.testing.assert_array_equal(b.detach().numpy(), random_leaf(4, seed=2).detach().numpy())


def test_gradient_through_backward_inputs_is_not_the_callers_tensor():
    x = leaf(1.0, 2.0)
    seed = ingot.ones(2, dtype=ingot.float64)
    x.backward(seed, inputs=[x])
    assert not np.shares_memory(x.grad.numpy(), seed.numpy())


def test_hook_result_that_the_user_keeps_is_copied():
    x = leaf(1.0)
    mine = ingot.tensor([5.0], dtype=ingot.float64)
    x.register_hook(lambda g: mine)
    (x * 2).sum().backward()
    x.grad.zero_()
    assert mine.tolist() == [5.0]


@pytest.mark.parametrize("wrap", [lambda f: f, jit.trace], ids=["eager", "traced"])
def test_gradients_of_which_elements_share_memory_are_not_added_into(wrap):
    p, one = ingot.ones(3, requires_grad=True), ingot.ones(1)
    p.grad = one.expand(3)
    wrap(lambda: (p * ingot.tensor([1.0, 2.0, 3.0])).sum().backward())()
    assert p.grad.tolist() == [2, 3, 4] and one.tolist() == [1]


def test_accumulation_is_in_place():
    x = leaf(1.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5.0]


def test_a_sum_to_be_differentiated_is_not_in_place():
    x = leaf(3.0)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not first
    (second,) = grad(x.grad.sum(), x)
    assert second.tolist() == [4.0]


@pytest.fixture
def without_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_graphs_have_no_cycles(without_gc):
    x = random_leaf(5)
    h = (x.sin() * x).tanh()
    y = (h.exp() + h).sum()
    alive = [weakref.ref(t) for t in (h, y)] + [weakref.ref(h.grad_fn), weakref.ref(y.grad_fn)]
    y.backward(retain_graph=True)
    del h, y
    assert [r() for r in alive] == [None] * 4


def test_saved_memory_ends_with_backward(without_gc):
    x = random_leaf(5)
    h = x.exp()
    array = weakref.ref(h._a)
    y = (h * h).sum()
    del h
    assert array() is not None
    y.backward()
    assert array() is None


def test_a_dead_branch_frees_itself(without_gc):
    x = random_leaf(5)
    dead = (x * 2).exp()
    node = weakref.ref(dead.grad_fn)
    live = x.sum()
    del dead
    assert node() is None
    live.backward()


def test_views_have_no_cycles(without_gc):
    x = random_leaf(4, 4)
    base = x * 1
    view = base.reshape(16)
    view.mul_(2)
    refs = [weakref.ref(base), weakref.ref(view)]
    del base, view
    assert [r() for r in refs] == [None, None]


def test_grad_modes_around_generators_hold_only_inside_a_step():
    @ingot.no_grad()
    def steps(seen):
        try:
            sent = yield ingot.is_grad_enabled()
            seen.append((sent, ingot.is_grad_enabled()))
            yield ingot.is_grad_enabled()
        except KeyError:
            seen.append(("thrown", ingot.is_grad_enabled()))
            yield ingot.is_grad_enabled()
        finally:
            seen.append(("closed", ingot.is_grad_enabled()))

    seen: list = []
    generator = steps(seen)
    assert next(generator) is False and ingot.is_grad_enabled()
    assert generator.send(7) is False and ingot.is_grad_enabled()
    assert generator.throw(KeyError()) is False and ingot.is_grad_enabled()
    generator.close()
    assert seen == [(7, False), ("thrown", False), ("closed", False)] and ingot.is_grad_enabled()


def test_a_seed_gradient_takes_the_dtype_of_its_tensor():
    x = ingot.ones(2, 2, requires_grad=True)
    (x @ x).backward(ingot.ones(2, 2, dtype=ingot.float64))
    assert x.grad.dtype is ingot.float32
    x.grad = None
    (x @ x).backward(ingot.ones(2, 2).to(ingot.bfloat16))
    assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


@pytest.mark.filterwarnings("error")
def test_sums_that_are_no_numbers_make_no_noise():
    x = leaf(0.0, 0.0)
    y = x * 1
    (y * np.inf + y * -np.inf).sum().backward()
    assert x.grad.isnan().all()


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float32"])
def test_a_cast_saves_no_operand(dtype):
    leaf = ingot.randn(4).requires_grad_()
    x = leaf * 1.5
    y = x.to(getattr(ingot, dtype))
    x.add_(ingot.ones(4, dtype=ingot.float64))
    (x.sum() + y.sum()).backward()
    assert leaf.grad.tolist() == [3.0] * 4


@pytest.mark.parametrize("pick", [
    lambda x: x.sort(0)[0], lambda x: x.gather(0, ingot.tensor([0, 1])), lambda x: x[ingot.tensor([0, 1])],
    lambda x: x.topk(2)[0], lambda x: x.max(0)[0], lambda x: x.median(0)[0], lambda x: x.kthvalue(1)[0],
    lambda x: x.index_select(0, ingot.tensor([0]))])
def test_selections_save_positions_alone(pick):
    leaf = ingot.tensor([3.0, 1.0, 2.0]).requires_grad_()
    x = leaf * 1.5
    y = pick(x)
    x.add_(1)
    y.sum().backward()
    assert leaf.grad.sum() == 1.5 * y.numel()


@pytest.mark.parametrize("kind", interrupts.KINDS)
def test_an_exception_from_outside_reaches_the_caller(kind):
    def call():
        x = leaf(1.0, 2.0)
        y = (x * x + x.exp()).sum()
        return lambda: y.backward()

    points = interrupts.points_of(call(), engine.__name__)
    assert points > 20
    for number in range(points):
        _, error, reached = interrupts.raised_at(number, call(), kind, engine.__name__)
        assert type(error) is kind and interrupts.is_from_outside(error) and reached, (number, error)
