"""Edge cases of autograd: hooks of leaf nodes, errors, and results of a Function without history."""

import threading

import pytest

import ingot
from ingot import jit, nn
from ingot.autograd import Function, grad, graph
from ingot.ir.errors import AutogradError, DTypeError, ShapeError


def leaf(*values):
    return ingot.tensor(list(values), dtype=ingot.float64).requires_grad_()


# Results whose data or gradients get another kind.


FUNCTIONS = {
    "mean": lambda x: x.square().mean(), "cumsum": lambda x: x.cumsum(0), "exp": lambda x: x.exp(), "sum": lambda x: x.sum(0),
    "twice": lambda x: x * 2, "matmul": lambda x: x @ x.t(), "row": lambda x: x[0], "parts": lambda x: (x * 2).unbind(0)[1],
}
DATA = {
    "longer": lambda r: ingot.ones(7), "shorter": lambda r: ingot.ones(1), "one dim more": lambda r: ingot.ones(1, *r.shape),
    "empty": lambda r: ingot.ones(0), "float64": lambda r: r.double(), "bfloat16": lambda r: r.bfloat16(),
    "and back": lambda r: r.detach().clone(),
}


def given(r, data, way):
    """Give a result other data; data of its own kind come after some of another shape."""
    for value in (ingot.ones(3, 3, 3), data) if data.shape == r.shape and data.dtype is r.dtype else (data,):
        if way == "data":
            r.data = value.detach()
        else:
            with ingot.no_grad():
                r.set_(value.detach())


@pytest.mark.parametrize("kind, way", [*[(kind, "data") for kind in DATA],
                                       *[(kind, "set_") for kind in DATA if kind not in ("float64", "bfloat16")]])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_have_the_kind_of_the_former_data(name, kind, way):
    """Backward raises for a result that got data of another shape. It casts gradients to the former dtype."""
    for fn in (FUNCTIONS[name], jit.trace(FUNCTIONS[name])):
        for _ in range(3):
            w = ingot.arange(6.0).reshape(2, 3).requires_grad_()
            expected = grad(FUNCTIONS[name](w).sum(), w)[0]
            r = fn(w)
            data = DATA[kind](r)
            is_other = data.shape != r.shape
            label, shape = r.grad_fn.name(), tuple(r.shape)
            given(r, data, way)
            assert r.grad_fn.name() == label
            if is_other:
                with pytest.raises(ShapeError) as found:
                    r.sum().backward()
                assert f"of shape {list(data.shape)} goes" in str(found.value)
                assert f"had shape {list(shape)}:" in str(found.value)
                assert w.grad is None
            else:
                r.sum().backward()
                assert w.grad.dtype is ingot.float32 and ingot.equal(w.grad, expected)


@pytest.mark.parametrize("hook, error", [
    (lambda *found: (ingot.ones(7),), ShapeError), (lambda *found: (ingot.ones(2, 3).double(),), DTypeError),
    (lambda *found: (2.0,), DTypeError), (lambda *found: (), AutogradError), (lambda *found: found * 2, AutogradError),
    (lambda *found: (None,), None)])
@pytest.mark.parametrize("kind", ["register_prehook", "register_hook"])
@pytest.mark.parametrize("name", ["exp", "cumsum"])
def test_hooks_of_nodes_return_gradients_of_the_same_kind(name, kind, hook, error):
    """A gradient that a hook drops goes nowhere."""
    for fn in (FUNCTIONS[name], jit.trace(FUNCTIONS[name])):
        for _ in range(3):
            w = ingot.arange(6.0).reshape(2, 3).requires_grad_()
            r = fn(w)
            getattr(r.grad_fn, kind)(hook)
            if error is None:
                r.sum().backward()
            else:
                with pytest.raises(error):
                    r.sum().backward()
            assert w.grad is None


# Hooks of a leaf and of its node.


def node_of(t):
    return t.expand_as(t).grad_fn.next_functions[0][0]


def told(x, order, calls):
    """Register hooks of all kinds on a leaf, in some order."""
    kinds = {
        "tensor": lambda: x.register_hook(lambda g: calls.append("tensor") or g * 2),
        "prehook": lambda: node_of(x).register_prehook(lambda g: calls.append("prehook") or (g[0] + 1,)),
        "after": lambda: x.register_post_accumulate_grad_hook(lambda t: calls.append("after")),
        "posthook": lambda: node_of(x).register_hook(lambda made, gave: calls.append("posthook")),
    }
    for kind in order:
        kinds[kind]()


KINDS = ("tensor", "prehook", "after", "posthook")


@pytest.mark.parametrize("order", [KINDS, KINDS[::-1]], ids=["in order", "reversed"])
@pytest.mark.parametrize("way", ["backward", "inputs", "create_graph"])
def test_hooks_of_a_leaf_run_in_one_order(order, way):
    x, calls = leaf(1, 2), []
    told(x, order, calls)
    (x * 3).sum().backward(inputs=[x] if way == "inputs" else None, create_graph=way == "create_graph")
    assert calls == list(KINDS) and x.grad.tolist() == [7, 7]
    assert grad((x * 3).sum(), x)[0].tolist() == [6, 6]         # without accumulation its hooks do not run
    assert calls == [*KINDS, "tensor"]


def test_a_gradient_that_a_prehook_keeps_is_not_added_to():
    x, kept = leaf(1, 2), []
    handle = node_of(x).register_prehook(lambda g: kept.append(g[0] * 2) or (kept[-1],))
    for _ in range(2):
        (x * 3).sum().backward()
    assert [k.tolist() for k in kept] == [[6, 6], [6, 6]] and x.grad.tolist() == [12, 12]
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [15, 15]


def test_nodes_of_all_kinds_have_metadata():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.metadata["made"] = 1
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.metadata["factor"]

    x = leaf(1, 2)
    y, z = x * 2, Twice.apply(x)
    assert all(isinstance(node, graph.Node) for node in (y.grad_fn, z.grad_fn, node_of(x)))
    assert not isinstance(x, graph.Node) and issubclass(type(z.grad_fn), graph.Node)
    y.grad_fn.metadata["name"] = "y"
    assert y.grad_fn.metadata == {"name": "y"} and (x * 2).grad_fn.metadata == {}
    z.grad_fn.metadata["factor"] = 2
    z.sum().backward()
    assert z.grad_fn.metadata == {"made": 1, "factor": 2} and x.grad.tolist() == [2, 2]


# Errors.


def overwritten(t):
    t += 1
    return t


def packed_by(pack):
    x = leaf(1, 2)
    with graph.saved_tensors_hooks(pack, lambda t: t):
        return x.exp()


def made_to_require_later():
    with ingot.no_grad():
        y = ingot.zeros(2).view(2)
    return y.requires_grad_().view(2)


def after_accumulation(hook):
    x = leaf(1, 2)
    x.register_post_accumulate_grad_hook(hook)
    x.sum().backward()


REFUSED = {
    "a pack hook that writes": (lambda: packed_by(overwritten), "pack hook .* wrote in place"),
    "a hook after accumulation that returns": (lambda: after_accumulation(lambda t: t.grad), "must return None"),
    "integers as data": (lambda: setattr(leaf(1, 2), "data", ingot.tensor([1, 2])), "floating point or complex, got int"),
    "itself as grad": (lambda: [setattr(x, "grad", x) for x in [leaf(1, 2)]], "own grad"),
    "no inputs of grad": (lambda: grad(leaf(1).sum(), []), "inputs cannot be empty"),
    "no inputs of backward": (lambda: leaf(1).sum().backward(inputs=[]), "inputs cannot be empty"),
    "a view of a view that requires grad later": (lambda: made_to_require_later().mul_(2), "view of a view"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_calls_raise(name):
    call, message = REFUSED[name]
    with pytest.raises(AutogradError, match=message):
        call()


def test_materialize_grads_contradicts_allow_unused_false():
    x, unused = leaf(1), leaf(2)
    assert grad(x.sum(), unused, materialize_grads=True, allow_unused=True)[0].tolist() == [0]
    with pytest.raises(ValueError, match="allow_unused must be True or left out"):
        grad(x.sum(), unused, materialize_grads=True, allow_unused=False)


def test_writes_that_pack_hooks_allow():
    assert packed_by(lambda t: t * 1).grad_fn is not None and packed_by(lambda t: overwritten(t.clone())) is not None
    with ingot.no_grad():
        assert made_to_require_later().mul_(2).tolist() == [0, 0]
    t = ingot.ones(2)
    t.data = ingot.tensor([1, 2])
    assert t.dtype is ingot.int64


def test_nodes_without_saved_values_run_again_under_hooks():
    x = leaf(1, 2)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x + 1).sum()
    assert [grad(y, x)[0].tolist() for _ in range(2)] == [[1, 1], [1, 1]]


def test_backward_takes_edges_built_by_hand():
    x = leaf(1, 2)
    h = x * 2
    out = h * 3
    out.sum().backward(inputs=(graph.GradientEdge(h.grad_fn, h.output_nr), x))
    assert x.grad.tolist() == [6, 6] and h.grad is None


# A Function that records nothing.


class Part(Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1]

    @staticmethod
    def backward(ctx, g):
        return ingot.cat([g, ingot.zeros(1, dtype=g.dtype)])


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize("f", [Part, Same])
def test_writes_to_a_view_of_an_argument_without_gradients_reach_it(f):
    a, b = ingot.zeros(2, dtype=ingot.float64), leaf(3)
    view = f.apply(a)
    assert view is not a
    view += b
    (a * ingot.tensor([1, 10])).sum().backward()
    assert a.tolist() == ([3, 0] if f is Part else [3, 3]) and b.grad.tolist() == [1 if f is Part else 11]


@pytest.mark.parametrize("f", [Part, Same])
def test_a_view_of_a_leaf_from_no_grad_is_not_written_in_grad_mode(f):
    x = leaf(1, 2)
    with ingot.no_grad():
        view = f.apply(x)
        view.mul_(2)
    assert x[0].item() == 2 and not view.requires_grad
    with pytest.raises(AutogradError, match="view of a leaf"):
        view.zero_()
    assert x[0].item() == 2


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, shift=0, factor=2, *more):
        ctx.factor, ctx.count = factor, len(ctx.needs_input_grad)
        return x * factor + shift

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.factor, *[None] * (ctx.count - 1))


class Bare(Scaled):
    @staticmethod
    def forward(ctx, x, shift=0, factor=2):
        return Scaled.forward(ctx, x, shift, factor)


@pytest.mark.parametrize(("args", "kwargs", "value", "count"), [
    ((), {}, 2, 1), ((1,), {}, 3, 2), ((), {"shift": 1}, 3, 2), ((), {"factor": 3}, 3, 3), ((1,), {"factor": 3}, 4, 3),
    ((), {"factor": 3, "shift": 2}, 5, 3)])
def test_arguments_by_name_are_those_by_position(args, kwargs, value, count):
    for f in (Bare, Scaled):
        x = leaf(1)
        y = f.apply(x, *args, **kwargs)
        y.sum().backward()
        assert y.tolist() == [value] and x.grad.tolist() == [kwargs.get("factor", 2)]
        assert len(y.grad_fn.needs_input_grad) == (3 if f is Scaled and kwargs else count)


@pytest.mark.parametrize(("kwargs", "message"), [({"nothing": 1}, "unexpected keyword argument 'nothing'"),
                                                 ({"x": leaf(1)}, "multiple values for argument 'x'")])
def test_arguments_that_forward_does_not_have_are_named(kwargs, message):
    with pytest.raises(TypeError, match=message):
        Bare.apply(leaf(1), **kwargs)


# Backward hooks of modules.


def test_backward_hooks_hear_of_gradients_that_come_by_the_outputs_alone():
    loss, calls = nn.MSELoss(), []
    loss.register_full_backward_hook(lambda module, inner, outer: calls.append((inner, outer)))
    x = leaf(1, 2)
    first, = grad(loss(x, ingot.zeros(2, dtype=ingot.float64)), x, create_graph=True)
    assert len(calls) == 1
    assert grad(first.sum(), x)[0].tolist() == [1, 1] and len(calls) == 1


@pytest.mark.parametrize(("register", "message"), [
    (lambda m: m.register_full_backward_hook(lambda module, inner, outer: inner * 2), "2 gradients in place of grad_input"),
    (lambda m: m.register_full_backward_hook(lambda *given: ()), "0 gradients in place of grad_input, expected 1"),
    (lambda m: m.register_full_backward_pre_hook(lambda module, outer: (outer[0],) * 3), "3 gradients in place of grad_output"),
    (lambda m: m.register_forward_pre_hook(lambda *given: 1, with_kwargs=True), r"must return None or \(args, kwargs\), got 1"),
    (lambda m: m.register_state_dict_post_hook(lambda *given: {}), "returns nothing"),
])
def test_module_hooks_with_wrong_results_raise(register, message):
    m = nn.Linear(2, 2).double()
    register(m)
    with pytest.raises(RuntimeError, match=message):
        m(leaf(1, 2)).sum().backward()
        m.state_dict()


@pytest.mark.parametrize("kind", ["dict", "list"])
def test_backward_hooks_warn_for_other_containers(kind):
    class Made(nn.Module):
        def forward(self, x):
            return {"y": x * 2} if kind == "dict" else [x * 2]

    module, calls, x = Made(), [], leaf(1, 2)
    module.register_full_backward_hook(lambda *args: calls.append(args))
    with pytest.warns(UserWarning, match=f"Made returned {kind}"):
        out = module(x)
    (out["y"] if kind == "dict" else out[0]).sum().backward()
    assert not calls and x.grad.tolist() == [2, 2]


BLOCKS = {
    "no_grad": ingot.no_grad,
    "enable_grad": ingot.enable_grad,
    "inference_mode": ingot.inference_mode,
    "set_grad_enabled": lambda: ingot.set_grad_enabled(False),
    "autocast": lambda: ingot.autocast("cpu"),
}


def modes() -> tuple:
    return ingot.is_grad_enabled(), ingot.is_inference_mode_enabled(), ingot.is_autocast_enabled("cpu")


@pytest.mark.parametrize("leaves_first", [0, 1])
@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_threads_may_share_a_block(make, leaves_first):
    """Each thread gets its own modes back, whichever of them leaves first."""
    with make():
        inside = modes()
    shared, both, left, found = make(), threading.Barrier(2, timeout=20), threading.Event(), {}
    ingot.set_grad_enabled(True)        # (set_grad_enabled acts at once)

    def work(number):
        with ingot.enable_grad():
            outside = modes()
            with shared:
                both.wait()
                if number != leaves_first:
                    left.wait(20)
                found["inside", number] = modes()
            found["left", number] = modes() == outside
            left.set()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {("inside", 0): inside, ("inside", 1): inside, ("left", 0): True, ("left", 1): True}
