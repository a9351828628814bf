"""Writes in place to arguments whose history goes on: values, versions and gradients are eager's."""

import pytest

import ingot
from ingot import jit


def step(f):
    STEPS[f.__name__] = f
    return f


STEPS: dict = {}
LINES = {
    "update": lambda x, w: (x.mul_(w), None)[1],
    "update and use": lambda x, w: x.mul_(2) * w,
    "return it": lambda x, w: x.mul_(w),
    "three writes": lambda x, w: x.mul_(w).add_(w).exp_().sum(),
    "replace": lambda x, w: (x.copy_(w * w), None)[1],
    "clear": lambda x, w: x.zero_() + w,
    "through data": lambda x, w: (x.data.mul_(2), x * w)[1],
    "through detach": lambda x, w: (x.detach().mul_(2), x * w)[1],
    "without history": lambda x, w: (ingot.no_grad()(x.mul_)(2), x * w)[1],
    "two results": lambda x, w: (x.mul_(w) * 3, x.add_(1)),
}
STEPS.update(LINES)


@step
def write_to_a_view(x, w):
    x[1:].mul_(w[1:])
    return x * 2


@step
def write_to_a_reshaped_view(x, w):
    v = x.view(2, 2)
    v.mul_(w.view(2, 2))
    return v.sum(0)


@step
def return_a_view_made_before(x, w):
    v = x[1:]
    x.mul_(w)
    return v


@step
def write_an_item(x, w):
    x[0] = w[0] * 2
    return x.sum()


@step
def write_its_own_result(x, w):
    y = (x * w).exp()
    x.add_(y)
    return y


@step
def write_what_was_saved(x, w):
    y = (x * w).exp()
    x.mul_(2)
    return y


@step
def keep_the_old_value(x, w):
    y = x.clone()
    x.mul_(w)
    return y * x


ORIGINS = {                     # an argument of a leaf, and what else reads it
    "product": lambda a: (a * 1.5, None),
    "no history": lambda a: (a.detach(), None),
    "leaf": lambda a: (a, None),
    "saved result": lambda a: (a.exp(), None),
    "rescued result": lambda a: (a.sqrt(), None),
    "view outside": lambda a: (lambda x: (x, x[1:3]))(a * 1.5),
    "used before": lambda a: (lambda x: (x, x * x))(a * 1.5),
    "view": lambda a: (a.repeat(2)[2:6], None),
}


def outcome(f, origin, call, with_argument):
    a = (ingot.linspace(0.5, 2, 4) + 0.1 * call).requires_grad_(True)
    w = ingot.linspace(0.5, 1.5, 4).requires_grad_(True)
    x, other = origin(a)
    try:
        made = f(x, w)
        made = [t for t in (made if type(made) is tuple else (made,)) if t is not None]
        found = [*made, *([x] if with_argument else []), *([] if other is None else [other])]
        losses = [(t * (i + 1.5)).sum() for i, t in enumerate(found) if t.requires_grad]
        if losses:
            sum(losses).backward()
    except jit.TraceError:
        return "refused"
    except RuntimeError as error:
        return type(error).__name__
    return [t.tolist() for t in (*found, x)], a.grad, w.grad, x.requires_grad, x.is_leaf, x._version


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("name", STEPS)
def test_writes_to_an_argument_are_those_of_eager(name, origin):
    f = STEPS[name]
    for with_argument in (False, True):
        traced = jit.trace(f)
        for call in range(4):
            found = outcome(traced, ORIGINS[origin], call, with_argument)
            if found == "refused":
                assert origin == "view"
                continue
            expected = outcome(f, ORIGINS[origin], call, with_argument)
            assert str(found) == str(expected), (call, with_argument)


def test_a_captured_tensor_gets_its_new_history_at_each_call():
    def run(wrap):
        a, w = ingot.ones(3, requires_grad=True), ingot.full((3,), 2.0, requires_grad=True)
        state = a * 3
        f = wrap(lambda x: state.mul_(w).add_(x).sum())
        found = [f(ingot.full((3,), float(i))).item() for i in range(4)]
        state.sum().backward()
        return found, a.grad.tolist(), w.grad.tolist()

    assert run(jit.trace) == run(lambda f: f)


def test_a_view_of_a_leaf_is_refused_as_in_eager():
    f = jit.trace(lambda x, w: (x.mul_(w), None)[1])
    for _ in range(2):
        a, w = ingot.ones(4, requires_grad=True), ingot.ones(4, requires_grad=True)
        f(a * 2, w)
    with pytest.raises(RuntimeError, match="a view of a leaf tensor that requires grad was written in place"):
        f(ingot.ones(8, requires_grad=True)[:4], w)
