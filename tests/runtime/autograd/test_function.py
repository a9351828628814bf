"""User-defined operations."""

import gc
import weakref

import numpy as np
import pytest

import ingot
from ingot.autograd import Function, grad, gradcheck, gradgradcheck
from ingot.autograd.function import once_differentiable
from ingot.ir.errors import AutogradError


def leaf(*values):
    return ingot.tensor(list(values), dtype=ingot.float64).requires_grad_()


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x * x


class Exp(Function):
    """Function that saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Scale(Function):
    """Function with a non-tensor argument and setup_context."""

    @staticmethod
    def forward(x, factor=2.0):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


@pytest.mark.parametrize("fn", [Cube.apply, Exp.apply, Scale.apply, lambda x: Exp.apply(Cube.apply(x))])
def test_gradients_to_second_order(fn):
    x = leaf(0.3, -0.7, 1.1)
    assert gradcheck(fn, (x,))
    assert gradgradcheck(fn, (x,))


def test_result_has_history_and_ctx_is_visible_on_it():
    x = leaf(2.0)
    y = Scale.apply(x, factor=5.0)
    assert y.grad_fn.name() == "ScaleBackward"
    assert y.grad_fn.factor == 5.0
    assert not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [5.0]


def test_nothing_is_recorded_inside_forward():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((x * 2).requires_grad)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    Look.apply(leaf(1.0))
    assert seen == [False]


@pytest.mark.parametrize("wanted", [False, True])
def test_values_that_are_no_tensors_are_saved_without_gradient(wanted):
    class Scaled(ingot.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)
            return x * factor

    x = ingot.ones(2, requires_grad=wanted)
    if not wanted:
        assert Scaled.apply(x, 3.0).tolist() == [3, 3]
        return
    with pytest.raises(TypeError, match="takes tensors and None, got float"):
        Scaled.apply(x, 3.0)


def test_needs_input_grad_and_several_outputs():
    seen = []

    class Both(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y, x * 1

        @staticmethod
        def backward(ctx, g, h):
            seen.append((ctx.needs_input_grad, g.tolist(), h.tolist()))
            return g + h, None

    x = leaf(1.0)
    a, _ = Both.apply(x, ingot.tensor([2.0], dtype=ingot.float64))
    a.sum().backward()
    assert seen == [((True, False), [1.0], [0.0])]


def test_gradients_are_not_materialized_on_request():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h)
            return g

    x = leaf(1.0)
    Two.apply(x)[0].sum().backward()
    assert seen == [None]
    assert x.grad.tolist() == [1.0]


def test_mark_non_differentiable():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            index = ingot.tensor(np.argsort(x.detach().numpy()))
            marked = x * 0
            ctx.mark_non_differentiable(index, marked)
            return x * 2, index, marked

        @staticmethod
        def backward(ctx, g, _, m):
            assert m.tolist() == [0.0, 0.0]
            return g * 2

    x = leaf(2.0, 1.0)
    y, index, marked = Sort.apply(x.detach().requires_grad_())
    assert y.requires_grad and not index.requires_grad and not marked.requires_grad
    y, _, _ = Sort.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


class Double_(Function):
    @staticmethod
    def forward(ctx, x):
        x.detach().numpy()[...] *= 2
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_mark_dirty_rewrites_history_and_counts_a_version():
    x = leaf(1.0, 2.0)
    h = x * 1
    before = h._version
    out = Double_.apply(h)
    assert out is h and h._version == before + 1
    h.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_mark_dirty_on_a_view_renews_its_base():
    x = leaf(1.0, 2.0)
    base = x * 1
    Double_.apply(base[:1])
    base.sum().backward()
    assert x.grad.tolist() == [2.0, 1.0]


def test_mark_dirty_refuses_leaves():
    with pytest.raises(RuntimeError, match="leaf"):
        Double_.apply(leaf(1.0))


def test_a_returned_input_becomes_a_new_tensor():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [7.0]


class Part(Function):
    @staticmethod
    def forward(ctx, x, pick):
        return pick(x)

    @staticmethod
    def backward(ctx, g):
        return g.reshape(2), None


@pytest.mark.parametrize("pick", [lambda x: x, lambda x: x.view(1, 2), lambda x: x.detach()], ids=["all", "view", "detached"])
@pytest.mark.parametrize("write", ["result", "view of the result", "argument", "view of the argument"])
def test_writes_to_views_passed_on_by_a_function_raise(pick, write):
    x = leaf(1.0, 2.0)
    h = x * 1
    seen, y = h[:1], Part.apply(h, pick)
    if "result" in write:
        with pytest.raises(AutogradError, match=r"mul_: Part.forward returned an argument.*clone\(\)"):
            (y.view(-1) if "view" in write else y).mul_(3)
        with ingot.no_grad():
            y.mul_(1)
        (h + y.reshape(2)).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        return
    (seen if "view" in write else h).mul_(3)
    h.sum().backward(retain_graph=True)          # the nodes that know of the write continue
    assert x.grad.tolist() == [3.0, 1.0 if "view" in write else 3.0]
    with pytest.raises(AutogradError, match=r"Part.forward returned an argument.*mul_ then wrote to"):
        y.sum().backward()


@pytest.mark.parametrize("pick", [lambda x: x * 2, lambda x: (x * 2).view(1, 2), ingot.clone], ids=["new", "view", "copy"])
def test_computed_results_of_a_function_may_be_written(pick):
    x = leaf(1.0, 2.0)
    Part.apply(x * 1, pick).mul_(3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert not (x * 2).requires_grad
            return g * 2 * x

    x = leaf(3.0)
    (g,) = grad(Once.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


@pytest.mark.parametrize("returned, message", [
    (lambda g: (g, g), "incorrect number of gradients"),
    (lambda g: (), "incorrect number of gradients"),
    (lambda g: ingot.ones(5, dtype=ingot.float64), r"got shape \[5\]"),
    (lambda g: 3.0, "expected a tensor or None"),
])
def test_wrong_gradients_are_named(returned, message):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return returned(g)

    with pytest.raises((RuntimeError, TypeError), match=message):
        Wrong.apply(leaf(1.0, 2.0)).sum().backward()


def test_gradients_fit_shape_and_dtype_of_the_argument():
    class Broadcast(Function):
        @staticmethod
        def forward(ctx, x):
            return ingot.ones(4, 3) * x

        @staticmethod
        def backward(ctx, g):
            return g.to(ingot.float64)

    x = ingot.ones(3).requires_grad_()
    Broadcast.apply(x).sum().backward()
    assert x.grad.dtype is ingot.float32
    assert x.grad.tolist() == [4.0] * 3


def test_overwritten_saved_tensor_is_an_error():
    x = leaf(2.0)
    h = x * 1
    y = Cube.apply(h)
    h.add_(1)
    with pytest.raises(RuntimeError, match=r"Cube saved a tensor.*overwritten by add_"):
        y.sum().backward()


def test_second_backward_is_an_error():
    y = Cube.apply(leaf(2.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"second time|freed"):
        y.backward()


def test_no_cycles():
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(leaf(1.0))
        refs = [weakref.ref(y), weakref.ref(y.grad_fn)]
        del y
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


def test_without_grad_mode_nothing_is_recorded():
    with ingot.no_grad():
        assert not Cube.apply(leaf(2.0)).requires_grad


def test_creating_an_instance_raises():
    with pytest.raises(RuntimeError, match=r"Cube\.apply"):
        Cube()


def test_missing_backward_raises():
    class Forward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match="backward"):
        Forward.apply(leaf(1.0)).sum().backward()


def test_traced_functions_equal_eager_ones():
    class CubeOfBoth(Function):
        """Function that saves an input and an output."""

        @staticmethod
        def forward(ctx, x):
            y = x * x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 3 * y / x

    def training(step_of):
        w = leaf(1.0, 2.0, 3.0)

        def step(x):
            w.grad = None
            loss = CubeOfBoth.apply(w * x).sum()
            loss.backward()
            with ingot.no_grad():
                w.sub_(w.grad * 0.01)
            return loss

        step = step_of(step)
        x = ingot.tensor([0.5, 1.0, 0.1], dtype=ingot.float64)
        return [step(x).item() for _ in range(4)], w.tolist()

    assert training(ingot.jit.trace) == training(lambda f: f)


def test_traced_backward_may_delete_attributes_of_ctx():
    class Checkpointed(Function):
        """Function that runs its block again in backward, as programs' own checkpoints do."""

        @staticmethod
        def forward(ctx, block, x, *weights):
            ctx.block, ctx.inputs, ctx.weights = block, [x], list(weights)
            with ingot.no_grad():
                return ctx.block(*ctx.inputs)

        @staticmethod
        def backward(ctx, g):
            ctx.inputs = [x.detach().requires_grad_() for x in ctx.inputs]
            with ingot.enable_grad():
                y = ctx.block(*[x.view_as(x) for x in ctx.inputs])
            grads = ingot.autograd.grad(y, ctx.inputs + ctx.weights, g)
            del ctx.inputs, ctx.weights
            return None, *grads

    def training(step_of):
        w, scale = leaf(1.0, 2.0, 3.0), [1.0]

        def step(x):
            w.grad = None
            h = Checkpointed.apply(lambda v: (v * w).tanh() * scale[0], x * w, w)
            loss = Checkpointed.apply(lambda v: v.sin(), h).sum()
            loss.backward()
            with ingot.no_grad():
                w.sub_(w.grad * 0.1)
            return loss

        step, x, losses = step_of(step), ingot.tensor([0.5, 1.0, 0.1], dtype=ingot.float64), []
        for scale[0] in (1.0, 1.0, 1.0, 2.0, 3.0):
            losses.append(step(x).item())
        return losses, w.tolist()

    assert training(ingot.jit.trace) == training(lambda f: f)
