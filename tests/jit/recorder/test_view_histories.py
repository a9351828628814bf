"""Views of inputs as results: the history of one goes on from another, or from an argument, where it does so in eager code."""

import pytest

import ingot
from ingot import jit
from outcomes import tried

f64 = ingot.float64
# Arguments, made of a leaf and of a tensor with a history.
GIVEN = {
    "one": lambda w, x: (x, x),
    "a leaf": lambda w, x: (w, w),
    "two parts": lambda w, x: (x[:, :2], x[:, 1:]),
    "a part and all": lambda w, x: (x[:, :2], x),
    "split": lambda w, x: x.split(1),
    "without history": lambda w, x: (x.detach(), x.detach()),
}
BEFORE = {
    "nothing": lambda a, b: None,
    "a write": lambda a, b: a.mul_(2),
    "a write to the other": lambda a, b: b.mul_(2),
    "a write to a view": lambda a, b: a[:1].mul_(3),
    "a write without history": lambda a, b: ingot.no_grad()(b.mul_)(2),
    "other memory": lambda a, b: setattr(b, "data", b.data * 2),
}


def two_levels(a, b, write):
    write(a, b)
    v = a[..., :1]
    return v, v.t()


def top_first(a, b, write):
    write(a, b)
    v = a[..., :1]
    u = v.t()
    return u[:1], u, v, a


def alone(a, b, write):
    write(a, b)
    return a.t(), b[:1]


def around_the_write(a, b, write):
    v = a[..., :1]
    write(a, b)
    return v.t(), v, a.reshape(-1)


def before_the_write(a, b, write):
    v = a[..., :1]
    u = v.t()
    write(a, b)
    return u, v


def beside_values(a, b, write):
    write(a, b)
    v = a[..., :1]
    return v, v.t(), b * 2


def inside(a, b, write):
    y = a * 1
    write(y, b)
    v = y[..., :1]
    return v, v.t(), b.t()


def computed_from(a, b, write):
    write(a, b)
    v = a[..., :1]
    return v.sin(), v, v.t(), a


FUNCTIONS = {f.__name__: f for f in (
    computed_from, two_levels, top_first, alone, around_the_write, before_the_write, beside_values, inside)}


def gradients(found, result):
    pool = [t for t in found if t.requires_grad]
    return [[None if g is None else g.tolist() for g in ingot.autograd.grad((t * t).sum(), pool, allow_unused=True,
                                                                              retain_graph=True)]
            for t in result if t.requires_grad]


def kept(found, result):
    for t in [t for t in found if t.requires_grad]:
        t.retain_grad()
    sum([(t * t).sum() for t in result if t.requires_grad], ingot.zeros((), dtype=f64, requires_grad=True)).backward()
    return [None if t.grad is None else t.grad.tolist() for t in found if t.requires_grad]


def edges(found, result):
    return [[next_to.name() for next_to, _ in t.grad_fn.next_functions if next_to is not None] for t in found
            if t.grad_fn is not None]


def of_all(found, result):
    pool = [t for t in found if t.requires_grad]
    loss = sum([(t * t).sum() for t in result if t.requires_grad], ingot.zeros((), dtype=f64, requires_grad=True))
    return [None if g is None else g.tolist() for g in ingot.autograd.grad(loss, pool, allow_unused=True)]


LOOKS = {"gradients": gradients, "gradients of all": of_all, "kept gradients": kept, "edges": edges}


def life(wrap, function, given, before, look) -> list:
    body, write = FUNCTIONS[function], BEFORE[before]
    fn, seen = wrap(lambda a, b: body(a, b, write)), []
    for i in range(4):
        w = ingot.arange(6.0, dtype=f64).reshape(2, 3).requires_grad_()
        x = w * (i + 1)
        a, b = GIVEN[given](w, x)

        def run(a=a, b=b, x=x, w=w):
            result = fn(a, b)
            return LOOKS[look]([a, b, x, w, *result], result)
        seen.append(tried(run))
    return seen


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_arrive_at_each_view_on_the_way(function, given, before, look):
    want = life(lambda f: f, function, given, before, look)
    try:
        assert life(jit.trace, function, given, before, look) == want
    except jit.TraceError:
        assert before == "other memory"         # of a view, or of one of two tensors over one memory
