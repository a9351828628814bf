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


# Optimizers whose plain lists of groups and parameters are changed.

def weights():
    return nn.Parameter(ingot.ones(3)), nn.Parameter(ingot.ones(3))


@program
def a_group_is_added_and_taken_away(wrap):
    w, v = weights()
    opt = ingot.optim.SGD([w], lr=0.1)

    def f(x):
        opt.zero_grad()
        (w * x * v).sum().backward()
        opt.step()
    f = wrap(f)
    for i in range(8):
        if i == 2:
            opt.add_param_group({"params": [v], "lr": 0.01})
        if i == 5:
            opt.param_groups.pop()
        f(vec(i))
        yield w.detach().clone(), v.detach().clone(), v.grad


@program
def a_parameter_joins_a_group(wrap):
    w, v = weights()
    opt = ingot.optim.SGD([w], lr=0.1)

    def f(x):
        opt.zero_grad()
        (w * x * v).sum().backward()
    f = wrap(f)
    for i in range(6):
        if i == 2:
            opt.param_groups[0]["params"].append(v)
        f(vec(i))
        yield w.grad, v.grad
        opt.step()


@program
def states_are_dropped(wrap):
    w, _ = weights()
    opt = ingot.optim.Adam([w], lr=0.1)

    def f(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
    f = wrap(f)
    for i in range(6):
        if i == 3:
            opt.state.clear()
        f(vec(i))
        yield w.detach().clone(), opt.state[w]["exp_avg"].clone()


# Attributes that are private, in slots, or properties.

class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self._scale, self._offset, self._log = 2.0, ingot.ones(3), [1.0]

    def forward(self, x):
        return x * self._scale + self._offset * self._log[0]


@program
def private_attributes_of_a_module(wrap):
    net = Counting()
    f = wrap(net)
    for i in range(6):
        if i == 2:
            net._scale, net._offset = 9.0, ingot.ones(3) * 3
        if i == 4:
            net._log[0] = 7.0
        yield f(vec(i))


class Accumulating(nn.Module):
    def __init__(self):
        super().__init__()
        self._scale, self._sum = 2.0, ingot.zeros(3)

    def forward(self, x):
        self._scale = self._scale * 0.5 + 3
        self._sum = self._sum + x * self._scale
        return self._sum


@program
def private_attributes_that_are_written(wrap):
    net = Accumulating()
    f = wrap(net)
    for i in range(6):
        if i == 3:
            net._sum = ingot.ones(3)
        yield f(vec(i)), net._scale, net._sum


class WithProperty(nn.Module):
    def __init__(self):
        super().__init__()
        self._rate = 1.0

    @property
    def rate(self):
        return self._rate * 2

    @rate.setter
    def rate(self, value):
        self._rate = value + 1

    def forward(self, x):
        self.rate = self.rate * 0.5
        return x * self.rate


@program
def a_property_that_is_set(wrap):
    net = WithProperty()
    f = wrap(net)
    for i in range(6):
        if i == 3:
            net.rate = 9.0
        yield f(vec(i)), net._rate


class Slotted:
    __slots__ = ("count", "total")


@program
def slots_that_are_written(wrap):
    held = Slotted()
    held.count, held.total = 1, ingot.ones(3)

    def f(x):
        held.count += 1
        held.total = held.total + x
        return held.total * held.count
    f = wrap(f)
    for i in range(6):
        if i == 3:
            held.count, held.total = 10, ingot.zeros(3)
        yield f(vec(i)), held.count, held.total
