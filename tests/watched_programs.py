"""Programs that trace a function, change things between its calls, and yield what can be seen of it: traced or not, the same.

Each takes what wraps a function, `jit.trace` or nothing.
"""

import ingot
from ingot import nn

PROGRAMS = {}
REFUSED = {}        # programs that are refused, with what the error says


def program(fn):
    PROGRAMS[fn.__name__] = fn
    return fn


def refused(match):
    def note(fn):
        REFUSED[fn.__name__] = fn, match
        return fn
    return note


def vec(i, n=3):
    return ingot.arange(n, dtype=ingot.float32) * 0.5 + i


# Results that share memory.

@program
def a_result_and_views_of_it(wrap):
    def f(x):
        y = x * 2
        return y, y[1:], y.view(3, 1)
    f = wrap(f)
    for i in range(4):
        y, tail, column = f(vec(i))
        tail.add_(1)
        yield y, tail, column, tail._base is y


@program
def a_result_twice_and_detached(wrap):
    def f(x):
        y = x * 2
        return y, y, [y.detach()], y.numpy()
    f = wrap(f)
    for i in range(4):
        a, b, (c,), d = f(vec(i))
        b.add_(1)
        yield a is b, a, c, d


@program
def views_of_what_nobody_gets(wrap):
    def f(x):
        y = x * 2
        return y[:2], y[1:], y[1:].detach()
    f = wrap(f)
    for i in range(4):
        a, b, c = f(vec(i))
        a.add_(1)
        yield a, b, c
        b.fill_(9.0)
        yield a, b, c


@program
def detached_views_of_what_nobody_gets(wrap):
    def f(x):
        y = x * 2
        return y[:2].detach(), y[1:].detach()
    f = wrap(f)
    for i in range(4):
        a, b = f(vec(i))
        a.add_(1)
        yield a, b


@program
def views_that_overlap_for_some_sizes(wrap):
    def f(x):
        y = x * 2
        return y[:4], y[y.shape[0] - 4:]
    f = wrap(f)
    for n in (10, 12, 9, 5, 4, 6, 14):
        a, b = f(vec(1, n))
        a.add_(1)
        yield a, b


@program
def a_result_and_a_view_that_is_stored(wrap):
    held = ingot.nn.Module()
    held.y = held.tail = None

    def f(x):
        held.y = x * 2
        held.tail = held.y[1:]
        return held.y.sum()
    f = wrap(f)
    for i in range(4):
        yield f(vec(i))
        held.y.add_(1)
        yield held.y, held.tail


@program
def views_with_histories(wrap):
    def f(x):
        y = x * 2
        return y, y[1:], y.detach()[:2]
    f = wrap(f)
    for i in range(4):
        x = vec(i).requires_grad_()
        y, tail, head = f(x)
        tail.mul_(3.0)
        y.mul_(2.0)
        (y.sum() + tail.sum() * 5).backward()
        yield y, tail, head, x.grad


@program
def parts_of_a_gradient(wrap):
    w = nn.Parameter(ingot.ones(3))

    def f(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad[1:], w.grad.detach()
    f = wrap(f)
    for i in range(4):
        tail, whole = f(vec(i))
        w.grad.mul_(2)
        yield tail, whole
        tail.zero_()
        yield w.grad
