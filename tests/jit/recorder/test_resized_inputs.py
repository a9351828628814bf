"""Inputs whose sizes, strides or memory a traced function changes: `out=` that grows, `t_()`, `resize_()`, `set_()`."""

import pytest

import ingot
from ingot import jit, nn, optim
from side_by_side import plain


def lies(t):
    """Return a tensor's values and layout; strides of single elements do not count."""
    return plain(t), tuple(s for n, s in zip(t.shape, t.stride()) if n > 1)


def sum_into(o, x):
    return ingot.add(x, 1, out=o) * 2


def several_into(o, x):
    ingot.mul(x, x, out=o)
    ingot.sin(o, out=o)
    return o.sum()


def joined_into(o, x):
    ingot.cat([x, x], out=o)
    return ingot.stack([o, o]).sum(0)


def into_and_written(o, x):
    ingot.exp(x, out=o)
    o.mul_(2)
    return o


def turned(o, x):
    o.t_() if o.ndim == 2 else o.unsqueeze_(0)
    return o * x.sum()


def turned_and_written(o, x):
    o.add_(x.sum())
    o.transpose_(0, -1)
    o.mul_(2)
    return o.sum(-1)


def without_its_ones(o, x):
    o.squeeze_()
    return o + x.sum()


def with_one_more(o, x):
    if o.ndim < 5:
        o.unsqueeze_(1)
    return o + x.sum()


def smaller(o, x):
    o.resize_(2)
    o.add_(x.sum())
    return o * 2


def larger(o, x):
    o.resize_(3, 4)
    o[1].add_(x.sum())
    return o * 2


def other_memory(o, x):
    o.set_(x * 3)
    return o + 1


def memory_of_the_argument(o, x):
    o.set_(x)
    o.add_(1)
    return o * 2


def none(o, x):
    o.set_()
    return x * 2


def other_data(o, x):
    o.data = x.view(-1, 1) * 2
    return o.sum()


PROGRAMS = [sum_into, several_into, joined_into, into_and_written, turned, turned_and_written, without_its_ones, with_one_more,
            smaller, larger, other_memory, memory_of_the_argument, none, other_data]


def start(shape):
    return ingot.arange(12.0)[: max(ingot.zeros(shape).numel(), 0)].reshape(shape).clone()


def life(wrap, program, shape, place, sizes=(3, 3, 3, 3, 3)):
    """Return results of calls and layouts of tensors afterwards; `place` is the source of the tensor."""
    o, module, got = start(shape), nn.Module(), []
    module.register_buffer("b", o)
    if place == "captured":
        step = wrap(lambda x: program(o, x))
    elif place == "buffer":
        step = wrap(lambda x: program(module.b, x))
    else:
        step = wrap(lambda x, o: program(o, x))
    for i, n in enumerate(sizes):
        x = ingot.full((n,), i / 4 + 0.1)
        if place == "fresh":
            o = start(shape)
        given = (x, o) if place in ("argument", "fresh") else (x,)
        found = step(*given)
        got.append((lies(found), lies(o), lies(x), found is o))
    return got, step


@pytest.mark.parametrize("place", ["captured", "buffer", "argument", "fresh"])
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 1, 3), (2, 3)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_tensors_from_outside_get_other_sizes(program, shape, place):
    want, _ = life(lambda f: f, program, shape, place)
    got, traced = life(jit.trace, program, shape, place)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    assert traced.stats()["compiles"] <= 5, traced.stats()["misses"]


@pytest.mark.parametrize("program", [sum_into, several_into, joined_into, into_and_written])
@pytest.mark.parametrize("place", ["captured", "fresh"])
def test_results_of_other_sizes_at_each_call(program, place):
    sizes = (3, 5, 4, 3, 5, 4, 7)
    assert life(jit.trace, program, (0,), place, sizes)[0] == life(lambda f: f, program, (0,), place, sizes)[0]


def test_several_results_into_what_grows():
    def run(wrap):
        values, places, got = ingot.empty(0), ingot.empty(0, dtype=ingot.int64), []

        def step(x):
            ingot.topk(x, 2, out=(values, places))
            return values.sum()
        step = wrap(step)
        for i in range(5):
            got.append((plain(step(ingot.arange(5.0) * (-1) ** i)), plain(values), plain(places)))
        return got
    assert run(jit.trace) == run(lambda f: f)


def test_a_step_of_training_with_a_workspace():
    def run(wrap):
        ingot.manual_seed(0)
        net, work, got = nn.Linear(3, 2), ingot.empty(0), []
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x):
            loss = net(x).square().mean()
            opt.zero_grad()
            loss.backward()
            with ingot.no_grad():
                ingot.cat([p.grad.flatten() for p in net.parameters()], out=work)
            opt.step()
            return loss, work.norm()
        step = wrap(step)
        for i in range(5):
            got.append((plain(step(ingot.full((2, 3), i / 4))), plain(work), plain([*net.parameters()])))
        return got
    assert run(jit.trace) == run(lambda f: f)


def test_views_that_were_made_before_look_at_what_was_there():
    def run(wrap):
        o = ingot.zeros(2, 3)
        row, got = o[0], []

        def step(x):
            o.t_()
            o.add_(x)
            return o * 1
        step = wrap(step)
        for i in range(4):
            try:
                got.append((lies(step(ingot.full((1,), float(i)))), lies(o), plain(row)))
            except jit.TraceError as e:
                got.append("view" in str(e))
        return got
    got, want = run(jit.trace), run(lambda f: f)
    assert all(a is True or a == b for a, b in zip(got, want))


@pytest.mark.parametrize("change", [lambda o: o.t_(), lambda o: o.set_(ingot.ones(2))])
def test_views_and_tensors_with_gradients_are_refused(change):
    for o in (ingot.zeros(3, 2)[1:], (ingot.ones(2, 2, requires_grad=True) * 2)):
        with pytest.raises((jit.TraceError, ingot.ir.errors.AutogradError)):
            jit.trace(lambda x, o=o: (change(o), x * 2)[1])(ingot.ones(2))
