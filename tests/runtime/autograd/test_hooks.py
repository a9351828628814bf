"""Hooks on tensors, nodes and saved values; anomaly mode."""

import gc
import weakref

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot.autograd import Function, detect_anomaly, grad, graph, set_detect_anomaly


def leaf(*values):
    return ingot.tensor(list(values), dtype=ingot.float64).requires_grad_()


# Order of nodes.


def _grown(random):
    """Return the sum of a random program's results from some leaves; each step uses old or new values."""
    made = [leaf(*random.uniform(0.5, 1.5, 4)) for _ in range(3)]
    for _ in range(30):
        a, b = (made[i] for i in random.integers(len(made), size=2))
        made += [lambda: (a + b,), lambda: (a * a[0],), lambda: ingot.frexp(a)[:1], lambda: (ingot.stack(a.unbind()).cos(),),
                 lambda: a.reshape(2, 2).sort(0).values.flatten().split(4), lambda: (ingot.cat(b.split([1, 3])) - a,),
                 lambda: (a.clone().add_(b),)][random.integers(7)]()
    return sum(t.sum() for t in made)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_backward_takes_the_newest_node_of_those_that_are_ready(seed, create_graph):
    end = _grown(np.random.default_rng(seed))
    todo, met, order = [end.grad_fn], set(), []
    while todo:
        node = todo.pop()
        if node is not None and node not in met:
            met.add(node)
            todo += [source for source, _ in node.next_functions]
            if node.next_functions:
                node.register_prehook(lambda g, node=node: order.append(node._sequence_nr()))
    end.backward(create_graph=create_graph)
    # Nodes are newer than those behind them, so the newest remaining node is always ready.
    assert len(order) > 30 and order == sorted(order, reverse=True)


def test_hooks_of_a_layer_that_is_used_several_times_run_from_the_last_use_to_the_first():
    order = []
    first, second = ingot.nn.Linear(3, 3), ingot.nn.Linear(3, 3)
    state = ingot.zeros(2, 3)
    for step in range(3):
        a, b = first(state), second(ingot.ones(2, 3))
        state = ingot.tanh(b + a)
        for name, t in (("a", a), ("b", b), ("state", state)):
            t.register_hook(lambda g, name=f"{name}{step}": order.append(name))
    state.sum().backward()
    assert order == ["state2", "b2", "a2", "state1", "b1", "a1", "state0", "b0", "a0"]


def test_parameters_of_a_layer_get_their_gradients_in_the_order_of_its_arguments():
    order = []
    layer = ingot.nn.LayerNorm(3)
    for name, p in layer.named_parameters():
        p.register_post_accumulate_grad_hook(lambda p, name=name: order.append(name))
    layer(ingot.rand(2, 3, requires_grad=True)).sum().backward()
    assert order == ["weight", "bias"]


# Tensor hooks.


def test_a_leaf_that_stops_and_starts_again_keeps_hooks_and_histories():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    before = (x * 2).sum()
    x.requires_grad_(False)
    between = (x * 5).requires_grad
    x.requires_grad_()
    before.backward()
    assert not between and x.grad.tolist() == [20.0]


def test_a_leaf_that_has_stopped_takes_no_gradient_and_keeps_its_own():
    x = leaf(1.0)
    kept, later = (x * 2).sum(), (x * 3).sum()
    kept.backward()
    x.requires_grad_(False)
    later.backward()
    assert x.grad.tolist() == [2.0]
    x.requires_grad_()
    assert x.grad.tolist() == [2.0]


def test_hooks_see_and_replace_in_order():
    x = leaf(1.0)
    seen = []
    h = x * 2
    h.register_hook(lambda g: (seen.append(("first", g.tolist())), g * 10)[1])
    h.register_hook(lambda g: seen.append(("second", g.tolist())))
    x.register_hook(lambda g: (seen.append(("leaf", g.tolist())), g + 1)[1])
    (h * 3).sum().backward()
    assert seen == [("first", [3.0]), ("second", [30.0]), ("leaf", [60.0])]
    assert x.grad.tolist() == [61.0]


def test_removed_hooks_are_silent():
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 100):
        pass
    handle = x.register_hook(lambda g: g * 100)
    handle.remove()
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_hook_on_one_of_several_results():
    x = leaf(3.0, 1.0)
    top, rest = x.unbind(0)
    top.register_hook(lambda g: g * 10)
    (top + rest).backward()
    assert x.grad.tolist() == [10.0, 1.0]


def test_leaf_hooks_apply_to_grad_as_well():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 5)
    assert grad((x * 2).sum(), x)[0].tolist() == [10.0]


@pytest.mark.parametrize("bad, message", [(lambda g: 3, "tensor or None"), (lambda g: ingot.ones(7), "shape"),
                                          (lambda g: g.to(ingot.float32), "float64")])
def test_bad_hook_results(bad, message):
    x = leaf(1.0)
    x.register_hook(bad)
    with pytest.raises((RuntimeError, TypeError), match=message):
        (x * 2).sum().backward()


def test_hooks_need_requires_grad():
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(RuntimeError, match="does not require grad"):
            getattr(ingot.tensor([1.0]), name)(print)
    with pytest.raises(RuntimeError, match="leaf"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)


def test_post_accumulate_hook_sees_the_tensor_with_its_gradient():
    x = leaf(1.0)
    seen = []

    def step(t):
        seen.append((t is x, t.grad.tolist()))
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert seen == [(True, [2.0])] and x.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_retain_grad(create_graph):
    x = leaf(3.0)
    h = x * x
    h.retain_grad()
    h.retain_grad()
    h.register_hook(lambda g: g * 2)      # retain_grad sees the result of hooks, whenever they were registered
    assert h.retains_grad and not x.retains_grad
    y = (h * h).sum()
    y.backward(create_graph=create_graph)
    assert h.grad.tolist() == [36.0]


def test_retain_grad_makes_no_cycle():
    gc.collect()
    gc.disable()
    try:
        h = leaf(1.0) * 2
        h.retain_grad()
        ref = weakref.ref(h)
        del h
        assert ref() is None
    finally:
        gc.enable()


# Node hooks.


def test_node_hooks():
    x = leaf(2.0)
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.grad_fn.register_hook(lambda gin, gout: seen.append((gin[0].tolist(), gout[0].tolist())))
    y.sum().backward()
    assert seen == [([30.0], [10.0])]
    assert x.grad.tolist() == [30.0]


def test_post_hook_replaces_gradients():
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda gin, gout: tuple(None if g is None else g * 2 for g in gin))
    y.sum().backward()
    assert x.grad.tolist() == [6.0]


def test_next_functions_lead_to_the_leaf():
    x = leaf(2.0)
    y = (x * 3).exp()
    (mul, _), = y.grad_fn.next_functions
    assert mul.name() == "MulBackward0"
    accumulate = mul.next_functions[0][0]
    assert accumulate.name() == "AccumulateGrad"
    tripled = ingot.jit.trace(lambda v: v * 3)
    assert [tripled(x).grad_fn.name() for _ in range(2)][1] == "MulBackward0"


@pytest.mark.parametrize("mode, expected", [("all", [[2.0, 3.0]]), ("any", [[3.0]])])
def test_multi_grad_hook(mode, expected):
    a, b = leaf(1.0), leaf(1.0)
    seen = []
    handle = graph.register_multi_grad_hook(
        (a, b), lambda gs: seen.append([float(g) for g in gs] if mode == "all" else [3.0]), mode=mode)
    (a * 2 + b * 3).sum().backward()
    handle.remove()
    (a * 2 + b * 3).sum().backward()
    assert seen == expected


def test_multi_grad_hook_gets_the_gradients_that_backward_reaches():
    a, b, seen = leaf(1.0), leaf(1.0), []
    c, d = a * b, a * b
    graph.register_multi_grad_hook((a, b, c, d), lambda grads: seen.append([g is not None for g in grads]))
    c.backward(retain_graph=True)
    c.backward(inputs=(a,), retain_graph=True)
    (c + d).backward(retain_graph=True)
    assert seen == [[True, True, True, False], [True, False, True, False], [True] * 4]


def test_hooks_of_unneeded_gradients_are_not_called():
    a, b, seen = leaf(1.0), leaf(1.0), []
    c, d = a * 2, b * 3
    for t in (a, b, c, d):
        t.register_hook(lambda g, t=t: seen.append(t))
    ingot.autograd.grad((c * d).sum(), a, retain_graph=True)
    assert [any(t is s for s in seen) for t in (a, b, c, d)] == [True, False, True, False]
    del seen[:]
    ingot.autograd.grad((c * d).sum(), c)
    assert len(seen) == 1 and seen[0] is c


@pytest.mark.parametrize("traced", [False, True])
def test_saved_values_may_be_overwritten_where_that_is_allowed(traced):
    def gradient(x):
        with graph.allow_mutation_on_saved_tensors():
            y = x.clone()
            total = (y ** 2).sum()
            y.sin_()
            z = y.exp()
            z.mul_(2)
            (total + z.sum()).backward()
        return x.grad

    run = ingot.jit.trace(gradient) if traced else gradient
    for _ in range(2):
        x = leaf(0.5, -1.0)
        want = 2 * x + 2 * x.sin().exp() * x.cos()
        np.testing.assert_allclose(run(x).numpy(), want.detach().numpy(), rtol=1e-6)


def test_handles_of_all_hooks_are_of_one_class():
    x, kind = leaf(1.0), ingot.utils.hooks.RemovableHandle
    y = x * 2
    handles = [x.register_hook(print), y.register_hook(print), x.register_post_accumulate_grad_hook(print),
               y.grad_fn.register_hook(print), y.grad_fn.register_prehook(print), ingot.nn.ReLU().register_forward_hook(print)]
    assert all(type(handle) is kind for handle in handles) and len({handle.id for handle in handles}) == len(handles)


def test_gradient_edge():
    x = leaf(1.0)
    y = x * 2
    edge = graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0


def test_gradients_from_and_to_edges():
    x = leaf(1.0, 2.0, 5.0)
    y = x.exp()
    rank, low = graph.get_gradient_edge(y), graph.get_gradient_edge(y.topk(2).values)
    total = (y * y).sum()
    want = ingot.autograd.grad(total, y, retain_graph=True)[0]
    del y
    for edge in (rank, graph.GradientEdge(rank.node, 0)):
        assert ingot.equal(ingot.autograd.grad(total, edge, retain_graph=True)[0], want)
    found = ingot.autograd.grad([rank], [x, low], ingot.ones(3, dtype=x.dtype), retain_graph=True, materialize_grads=True)
    assert ingot.equal(found[0], x.exp()) and found[1].tolist() == [0, 0]
    ingot.autograd.backward(low, ingot.ones(2, dtype=x.dtype), inputs=[graph.get_gradient_edge(x)])
    assert x.grad.tolist() == [0, *x.exp()[1:].tolist()]
    with pytest.raises(RuntimeError, match=r"backward of float64\[3\] needs the gradient of each of its 3 elements"):
        ingot.autograd.grad(rank, x)


def test_gradients_at_edges_that_name_a_result_of_any_shape():
    """`next_functions` gives nodes alone; their gradients reveal the shapes."""
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product = x.reshape(1, 2) @ w.reshape(2, 1)
    product.register_hook(lambda g: g * 2)
    total = (product.sum(0) + 1).sum()
    node = total.grad_fn
    while node.name() != "MatmulBackward0":
        node = node.next_functions[0][0]
    edge = graph.GradientEdge(node, 0)
    at_product, at_x = ingot.autograd.grad(total, [edge, x], retain_graph=True)
    assert at_product.tolist() == [[2]] and at_x.tolist() == [6, 8]
    other = graph.GradientEdge(((x * w).reshape(2, 1) @ w.reshape(1, 2)).sum().grad_fn.next_functions[0][0], 0)
    assert ingot.autograd.grad(total, other, retain_graph=True, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match=r"Backward0, 0\) was not used"):
        ingot.autograd.grad(total, other, retain_graph=True)
    for refused in (lambda: ingot.autograd.grad(total, other, retain_graph=True, materialize_grads=True),
                    lambda: ingot.autograd.grad(other, x, ingot.ones(2, 2, dtype=x.dtype))):
        with pytest.raises(RuntimeError, match="get_gradient_edge"):
            refused()


# Saved values.


def test_saved_tensors_hooks_pack_and_unpack():
    x = leaf(2.0)
    packed = []

    def pack(t):
        assert not t.requires_grad
        packed.append(t.tolist())
        return t.numpy().copy()

    with graph.saved_tensors_hooks(pack, lambda a: ingot.from_numpy(a * 10)):
        y = (x * x).exp()
    y.sum().backward()
    assert [2.0] in packed
    assert x.grad.tolist() == pytest.approx([np.exp(4.0) * 10 * 2 * 20])


def test_saved_tensors_hooks_reach_functions():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    with graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = Square.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [60.0]


def test_hooks_end_with_their_block_and_nest():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t * 100):
            y = x * x
        z = x * x
    (z + x * x).sum().backward()
    assert x.grad.tolist() == [8.0]
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [400.0]


def test_unpack_hook_may_use_tensors_freely():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: (t * 2).clone().mul_(0.5)):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [4.0]


def test_save_on_cpu_and_disable():
    x = leaf(2.0)
    with graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [4.0]
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"), graph.save_on_cpu():
        pass


def test_increment_version_invalidates_saved_values():
    x = leaf(2.0)
    h = x * 1
    y = (h * h).sum()
    graph.increment_version(h)
    with pytest.raises(RuntimeError, match="increment_version"):
        y.backward()


# Anomaly mode.


def test_anomaly_mode_stops_at_nan_and_names_the_line():
    x = leaf(0.0)
    with detect_anomaly():
        y = (x / x * 0).sum()      # the line
        with pytest.raises(RuntimeError, match=r"DivBackward0 recorded at .*test_hooks\.py:\d+ returned nan"):
            y.backward()
    assert not ingot.is_anomaly_enabled()


def test_anomaly_mode_without_nan_check_still_names_lines_in_errors():
    x = leaf(1.0)
    with set_detect_anomaly(True, check_nan=False):
        h = x * 1
        y = (h * h).sum()
        h.add_(1)
    with pytest.raises(RuntimeError, match=r"recorded at .*test_hooks\.py"):
        y.backward()


def test_without_anomaly_mode_nan_passes():
    x = leaf(0.0)
    (x / x).sum().backward()
    assert np.isnan(x.grad.numpy()).all()


def test_value_changing_hooks_are_refused_in_a_trace():
    def step(x):
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t * 10):
            return (x * x).sum()

    with pytest.raises(RuntimeError, match="traced"):
        ingot.jit.trace(step)(leaf(2.0))


def test_retain_grad_follows_a_write_in_place():
    x = ingot.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]      # of y's present value, not of the one before the write
    assert x.grad.tolist() == [6.0, 6.0]


def test_retain_grad_of_a_view_follows_a_write_to_its_base():
    x = ingot.ones(3, requires_grad=True)
    y = x * 1
    v = y[1:]
    v.retain_grad()
    y.mul_(4)
    (v * v).sum().backward()
    assert v.grad.tolist() == [8.0, 8.0]
    assert x.grad.tolist() == [0.0, 32.0, 32.0]


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 2, lambda x: x.sort().values], ids=["leaf", "one", "of two"])
def test_hooks_of_one_tensor_get_one_object(make):
    y, seen = make(ingot.ones(3, requires_grad=True)), []
    y.register_hook(lambda g: setattr(g, "noted", 5))
    y.register_hook(lambda g: seen.append(g.noted))
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: seen.append(hasattr(g, "noted")))
    y.sum().backward()
    assert seen == [5, False]


# Names of nodes.


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


NAMED = {"MulBackward0": lambda x: x * 2, "ExpBackward0": lambda x: x.exp(),
         "DoubledBackward": Doubled.apply, "AddBackward0": lambda x: ingot.complex(x, x) + 1j}


@pytest.mark.parametrize("name", NAMED)
def test_classes_of_nodes_have_their_names(name):
    x = leaf(1.0, 2.0)
    node = NAMED[name](x).grad_fn
    assert type(node).__name__ == node.name() == name and isinstance(node, graph.Node)
    want = grad(NAMED[name](x).abs().sum(), x)[0]
    y = NAMED[name](x)
    assert type(y.grad_fn) is type(node)                # and an inspected node is differentiated as usual
    assert ingot.equal(grad(y.abs().sum(), x)[0], want)


def test_a_result_with_an_inspected_node_may_be_overwritten():
    x = leaf(0.5, 2.0)
    y = x.sin().atan()
    assert y.grad_fn.next_functions[0][0].name() == "SinBackward0"
    y.mul_(2)
    assert ingot.allclose(grad(y.sum(), x)[0], 2 * x.cos() / (1 + x.sin() ** 2))


def test_the_end_of_a_path_names_its_tensor_and_calls_hooks_after_it_accumulated():
    x, seen = leaf(1.0, 2.0), []
    end = x.expand_as(x).grad_fn.next_functions[0][0]
    assert type(end).__name__ == "AccumulateGrad" and end.variable is x
    handle = end.register_hook(lambda *given: seen.append((given, x.grad.tolist())))
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    ((nothing, (g,)), accumulated), = seen
    assert nothing == () and g is x.grad and accumulated == [3.0, 3.0]


# Forward mode: hooks belong to backward.


def _hooked_tensor(x):
    y = x * 3
    y.register_hook(lambda g: g * 2)
    return y * y


def _hooked_argument(x):
    x.register_hook(lambda g: g * 2)
    return (x * 3) ** 2


def _hooked_node(x):
    y = x * 3
    y.grad_fn.register_hook(lambda gave, got: (gave[0] * 2,))
    y.grad_fn.register_prehook(lambda got: (got[0] * 2,))
    return y * y


def _retained(x):
    y = x * 3
    y.retain_grad()
    _retained.y = y
    return y * y


def _hooked_module(x):
    net = ingot.nn.Identity()
    net.register_full_backward_pre_hook(lambda m, got: (got[0] * 2,))
    net.register_full_backward_hook(lambda m, gave, got: (gave[0] * 2,))
    return net(x * 3) ** 2


def _by_dual(f, x, v):
    with ingot.autograd.forward_ad.dual_level():
        dual = ingot.autograd.forward_ad.make_dual(x, v)
        return ingot.autograd.forward_ad.unpack_dual(f(dual)).tangent


FORWARD = {
    "jvp": lambda f, x, v: ingot.func.jvp(f, (x,), (v,))[1],
    "linearize": lambda f, x, v: ingot.func.linearize(f, x)[1](v),
    "jacfwd": lambda f, x, v: ingot.func.jacfwd(f)(x) @ v,
    "dual": _by_dual,
    "jacobian": lambda f, x, v: ingot.autograd.functional.jacobian(f, x, strategy="forward-mode", vectorize=True) @ v,
}


@pytest.mark.parametrize("f", [_hooked_tensor, _hooked_argument, _hooked_node, _hooked_module, _retained])
@pytest.mark.parametrize("way", FORWARD)
def test_derivatives_along_directions_run_no_hooks(way, f):
    x, v = ingot.tensor([1.0, 2.0], dtype=ingot.float64), ingot.tensor([1.0, -1.0], dtype=ingot.float64)
    assert FORWARD[way](f, x, v).tolist() == [18.0, -36.0]
    traced = ingot.jit.trace(lambda x, v: FORWARD[way](f, x, v))
    for _ in range(3):
        assert traced(x, v).tolist() == [18.0, -36.0]
    if f is _retained:
        assert f.y.grad is None


def test_hooks_of_an_inner_gradient_run_under_forward_derivatives():
    x, v = ingot.tensor([1.0, 2.0]), ingot.tensor([1.0, 1.0])
    total = lambda x: _hooked_tensor(x).sum()
    gradient, along = ingot.func.jvp(ingot.func.grad(total), (x,), (v,))
    assert gradient.tolist() == [36.0, 72.0] and along.tolist() == [36.0, 36.0]
    assert ingot.func.hessian(total)(x).tolist() == [[36.0, 0.0], [0.0, 36.0]]
    assert ingot.autograd.functional.jvp(_hooked_tensor, x, v)[1].tolist() == [36.0, 72.0]


def test_gradients_under_the_name_that_programs_set_them_by():
    p = ingot.ones(2).requires_grad_()
    p._grad = ingot.full((2,), 3.0)
    assert p.grad is p._grad and p.grad.tolist() == [3, 3]
    (p * 2).sum().backward()
    assert p._grad.tolist() == [5, 5]
    with pytest.raises(RuntimeError, match="grad of a tensor"):
        p._grad = ingot.ones(3)
