"""Captured tensors over one memory, one of which requires grad: a parameter and its `detach()`, two parameters over one weight.
Traced calls agree with eager ones, and so do gradients read afterwards."""

import pytest

import ingot
from ingot import jit, nn, optim
from side_by_side import numbers

BARE = {
    "detach": lambda w: w.detach(),
    "data": lambda w: w.data,
    "a view of that": lambda w: w.detach().view(3),
    "a part of that": lambda w: w.detach()[:2],
    "a leaf": lambda w: w.detach().requires_grad_(),
}
ORDERS = {
    "it first": lambda w, d, x: (d * 1.0, w * x),
    "it last": lambda w, d, x: (w * x, d * 1.0)[::-1],
    "it alone, then both": lambda w, d, x: (d.sum(), d.sum() * w * x),
    "it is given": lambda w, d, x: (d, w * x),
}


@pytest.mark.parametrize("bare", BARE)
@pytest.mark.parametrize("order", ORDERS)
def test_gradients_reach_the_one_that_asks(bare, order):
    def life(wrap):
        w = ingot.ones(3).requires_grad_()
        d, seen = BARE[bare](w), []
        fn = wrap(lambda x: ORDERS[order](w, d, x))
        for i in range(5):
            results = fn(ingot.full((3,), i + 1.0))
            results[1].sum().backward()
            seen.append(numbers([*results, w.grad, w, d, results[0].requires_grad]))
            if i == 2:
                w.detach().mul_(2.0)
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("order", ORDERS)
def test_one_that_begins_to_ask_is_seen(order):
    def life(wrap):
        w = ingot.ones(3).requires_grad_()
        d, seen = w.detach(), []
        fn = wrap(lambda x: ORDERS[order](w, d, x))
        for i in range(9):
            if i % 3 == 0 and i:
                d.requires_grad_(i == 3)
            results = fn(ingot.ones(3))
            sum(r.sum() for r in results if r.requires_grad).backward()
            seen.append(numbers([w.grad, d.grad]))
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_a_step_that_reads_weights_through_their_data_first():
    def life(wrap):
        net = nn.Linear(2, 2)
        with ingot.no_grad():
            for p in net.parameters():
                p.fill_(1.0)
        live = [p.detach() for p in net.parameters()]
        mean = [p.clone() for p in live]
        opt, seen = optim.SGD(net.parameters(), lr=0.1), []

        def step(x):
            for m, p in zip(mean, live):
                m.lerp_(p, 0.5)
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()

        step = wrap(step)
        for _ in range(4):
            step(ingot.ones(1, 2))
            seen.append(numbers([*mean, *live, *net.parameters()]))
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_a_step_of_two_parameters_over_one_weight():
    def life(wrap):
        w, v = ingot.ones(3).requires_grad_(), nn.Parameter(ingot.zeros(3))
        v.data = w.data
        opt, seen = optim.SGD([w, v], lr=0.1), []

        def step(x):
            opt.zero_grad()
            (w * x + v * 2 * x).sum().backward()
            opt.step()
            return v * 1

        step = wrap(step)
        for _ in range(4):
            seen.append(numbers([step(ingot.ones(3)), w.grad, v.grad, w, v]))
            v.requires_grad_(len(seen) != 2)
            seen.append(v.requires_grad)
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_arguments_over_one_memory():
    def life(wrap):
        w, seen = ingot.ones(3).requires_grad_(), []
        y = w * 2
        fn = wrap(lambda d, w: d * 3 + w * 2)
        for _ in range(3):
            for pair in ((w.detach(), w), (w, w.detach()), (w, w), (w.data, w), (y, y), (y.detach(), y), (y, y.view(3))):
                fn(*pair).sum().backward(retain_graph=True)
                seen.append(w.grad.tolist())
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def turns(w, x):
    w.requires_grad_(False)
    return x * 2


def turns_an_argument(w, x):
    x.requires_grad_(True)
    return w.detach() * x


@pytest.mark.parametrize("fn", [turns, turns_an_argument])
def test_what_asks_for_gradients_already_counts(fn):
    def life(wrap):
        w, seen = ingot.ones(2).requires_grad_(), []
        call = wrap(lambda x: fn(w, x))
        for begins in (False, False, True, True, False, True):
            w.requires_grad_(begins)
            x = ingot.ones(2).requires_grad_(not begins)
            y = call(x)
            seen.append((w.requires_grad, x.requires_grad, y.requires_grad))
        return seen

    assert life(jit.trace) == life(lambda f: f)


def writes_what_it_holds(w, x):
    w.add_(1)
    return x * 2


def writes_an_argument(w, x):
    x.add_(1)
    return w * 2


@pytest.mark.parametrize("fn", [writes_what_it_holds, writes_an_argument])
def test_memory_that_arguments_come_to_share(fn):
    def life(wrap):
        w, seen = ingot.zeros(3), []
        call, other = wrap(lambda x: fn(w, x)), ingot.zeros(3)
        for x in (other, ingot.zeros(3), other, ingot.zeros(3), ingot.zeros(3)):
            seen.append(numbers([call(x), x, w]))
            w.data = x
            seen += [numbers([call(x), x, w]), numbers([call(other), other, w])]
        return seen

    assert life(jit.trace) == life(lambda f: f)


LEAVES = {"turned": lambda b: b.t(), "rows": lambda b: b[1:], "columns": lambda b: b[:, 1:3], "a row": lambda b: b[1],
          "other dims": lambda b: b.view(2, 6), "a diagonal": lambda b: b.diagonal(),
          "other bits": lambda b: b.view(ingot.float32)}
LOSSES = {"it": lambda p: (p * p).sum(), "a view of it": lambda p: (p[0] * p[-1]).sum() + p.reshape(-1)[1] ** 2,
          "it twice": lambda p: (p * p.detach()).sum()}


@pytest.mark.parametrize("view", LEAVES)
@pytest.mark.parametrize("loss", LOSSES)
def test_leaves_that_are_views_are_trained(view, loss):
    def life(wrap):
        base = ingot.arange(12.0).view(3, 4).view(ingot.int32 if view == "other bits" else ingot.float32)
        p, seen = LEAVES[view](base).requires_grad_(), []
        optimizer = optim.SGD([p], lr=0.125, momentum=0.5)

        def step(scale):
            optimizer.zero_grad()
            (LOSSES[loss](p) * scale).backward()
            optimizer.step()
            return p.detach().clone()

        call = wrap(step)
        for i in range(4):
            seen.append(numbers([call(ingot.tensor(i + 0.5)), p, p.grad, base]))
            if i == 1:
                base.copy_(base.flip(0))
        return seen

    assert life(jit.trace) == life(lambda f: f)
