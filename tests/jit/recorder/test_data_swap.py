"""Tensors that get other memory, sizes or strides in a trace: `.data`, `out=` that grows, `t_()`, `resize_()`, `set_()`."""

import copy

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim
from ingot.ir import errors
from ingot.nn.utils import parameters_to_vector, vector_to_parameters
from side_by_side import plain, same_or_refused


def inputs(calls):
    return [ingot.tensor(np.random.default_rng(i).standard_normal((5, 3))) for i in range(calls)]


def model():
    ingot.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def scales(net):
    """Make parameters parts of a vector that is created inside."""
    def step(x):
        vector_to_parameters(parameters_to_vector(net.parameters()) * 0.9, net.parameters())
        return net(x).sum()
    return step


def descends(net):
    def step(x):
        loss = (net(x) ** 2).mean()
        gradient = parameters_to_vector(ingot.autograd.grad(loss, list(net.parameters())))
        vector_to_parameters(parameters_to_vector(net.parameters()) - 0.1 * gradient, net.parameters())
        return loss
    return step


def perturbs(net):
    """Evaluate several parameter vectors in one call, as evolution strategies do."""
    def step(x):
        vector, losses = parameters_to_vector(net.parameters()), []
        for shift in (0.1, -0.1):
            vector_to_parameters(vector + shift, net.parameters())
            losses.append(net(x).sum())
        vector_to_parameters(vector, net.parameters())
        return losses[0] - losses[1]
    return step


def follows(net):
    """Make parameters parts of a vector from outside, which is written in place."""
    vector = parameters_to_vector(net.parameters()).detach().clone()

    def step(x):
        vector.mul_(0.9)
        vector_to_parameters(vector, net.parameters())
        return net(x).sum()
    return step


def splits(net):
    def step(x):
        parts = (parameters_to_vector(net.parameters()) * 0.9).split([p.numel() for p in net.parameters()])
        for p, part in zip(net.parameters(), parts):
            p.data = part.view_as(p)
        return net(x).sum()
    return step


def trained(net, optimizer, before=lambda: None):
    """Run a step of an optimizer after something else."""
    def step(x):
        before()
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss
    return step


def trains_after(net):
    """Train parameters that were made parts of one vector outside."""
    vector_to_parameters(parameters_to_vector(net.parameters()) * 0.5, net.parameters())
    return trained(net, ingot.optim.Adam(net.parameters(), lr=0.1))


def trains_inside(net):
    return trained(net, ingot.optim.SGD(net.parameters(), lr=0.1), lambda: vector_to_parameters(
        parameters_to_vector(net.parameters()).detach() * 0.5, net.parameters()))


def adapts(make):
    """Take two steps on a copy of the network by a new optimizer, whose state and schedule begin anew at each call."""
    def of(net):
        outer = ingot.optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            outer.zero_grad()
            learner = copy.deepcopy(net)
            inner = make(learner.parameters())
            rates = ingot.optim.lr_scheduler.ExponentialLR(inner, 0.5)
            for _ in range(2):
                inner.zero_grad()
                (learner(x) ** 2).mean().backward()
                inner.step()
                rates.step()
            loss = ((learner(x) - 1) ** 2).mean()
            for p, g in zip(net.parameters(), ingot.autograd.grad(loss, list(learner.parameters()))):
                p.grad = g
            outer.step()
            return loss
        return step
    return of


def run(program, wrap, calls=5):
    net = model()
    step, found = wrap(program(net)), []
    for x in inputs(calls):
        found.append([step(x).item(), *[p.detach().numpy() for p in net.parameters()]])
    return found, step


class Counting(ingot.optim.Optimizer):
    """A user optimizer whose state has an int."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @ingot.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            state["step"] = state.get("step", 0) + 1
            state["mean"] = state["mean"] * 0.9 + p.grad if "mean" in state else p.grad.clone()
            p.sub_(state["mean"] * (self.param_groups[0]["lr"] / state["step"]))


OPTIMIZERS = {
    "one of the user's": Counting,
    "SGD": lambda p: ingot.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: ingot.optim.Adam(p, lr=0.1, amsgrad=True),
    "Adagrad": lambda p: ingot.optim.Adagrad(p, lr=0.1, lr_decay=0.5),
    "NAdam": lambda p: ingot.optim.NAdam(p, lr=0.1),
    "Rprop": lambda p: ingot.optim.Rprop(p, lr=0.1),
}
PROGRAMS = {f.__name__: f for f in (scales, descends, perturbs, follows, splits, trains_after, trains_inside)}
PROGRAMS |= {f"adapts by {name}": adapts(make) for name, make in OPTIMIZERS.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_leave_the_state_of_eager_ones_and_are_replayed(name):
    want, _ = run(PROGRAMS[name], lambda step: step)
    got, traced = run(PROGRAMS[name], ingot.jit.trace)
    for a, b in zip(got, want):
        for x, y in zip(a, b):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    assert traced.stats()["compiles"] <= 2


def test_a_differentiable_optimizer_of_the_function_is_recorded():
    def losses(wrap):
        start, rate = (ingot.tensor(v, dtype=ingot.float64, requires_grad=True) for v in ([1.0, 2.0, 3.0], 0.1))

        @wrap
        def step(x):
            start.grad = rate.grad = None
            weights = start.clone()
            optimizer = ingot.optim.Adam([weights], lr=rate, differentiable=True)
            weights.grad = ingot.autograd.grad((weights * x[0]).pow(2).sum(), weights, create_graph=True)[0]
            optimizer.step()
            loss = (weights * x[1]).sum()
            loss.backward()
            return loss

        return [(step(x).item(), start.grad.tolist(), rate.grad.item()) for x in inputs(4)], step

    want, _ = losses(lambda step: step)
    got, traced = losses(ingot.jit.trace)
    for (loss, gradient, by_rate), (loss_, gradient_, by_rate_) in zip(got, want):
        np.testing.assert_allclose([loss, *gradient, by_rate], [loss_, *gradient_, by_rate_], rtol=1e-12)
    assert traced.stats()["compiles"] <= 2


def lose_memory(wrap, part):
    """Read a parameter in memory that it loses then; from the second call on, that memory was written before."""
    p, vector = ingot.ones(3, requires_grad=True), ingot.arange(3.0 + part)

    @wrap
    def step(x):
        with ingot.no_grad():
            vector.mul_(0.5)
            total = (p * x).sum()
            p.data = vector[:3] if part else vector
        return total

    return [(step(ingot.ones(3)).item(), p.tolist()) for _ in range(4)]


def test_memory_that_is_read_and_lost_may_be_memory_that_is_written():
    assert lose_memory(ingot.jit.trace, 0) == lose_memory(lambda step: step, 0)
    with pytest.raises(ingot.jit.TraceError, match="memory that came in as several tensors"):
        lose_memory(ingot.jit.trace, 2)


def test_a_returned_vector_over_the_parameters_is_refused():
    net = model()

    @ingot.jit.trace
    def step():
        vector = parameters_to_vector(net.parameters()).detach() * 0.5
        vector_to_parameters(vector, net.parameters())
        return vector

    with pytest.raises(ingot.jit.TraceError, match="clone, or return one"):
        step()


@pytest.mark.parametrize("captured", [False, True])
def test_memory_that_is_lost_and_a_gradient_that_is_added_to(captured):
    def life(wrap):
        w, x, seen = ingot.ones(3, requires_grad=True), ingot.arange(3.0), []

        @wrap
        def step(given):
            t = x if captured else given
            y = t * 1
            t.data = t.data * 2
            (y * w).sum().backward()

        for n in (2, 3, 5, 4, 4):
            given = ingot.ones(n, 3)
            step(given)
            seen.append((w.grad.tolist(), x.tolist(), given.tolist()))
        return seen

    assert life(ingot.jit.trace) == life(lambda step: step)


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


RESIZED = [sum_into, several_into, joined_into, into_and_written, turned, turned_and_written, without_its_ones, with_one_more,
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
@pytest.mark.parametrize("program", RESIZED)
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


def test_several_results_into_growing_tensors():
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


def test_earlier_views_keep_the_earlier_memory():
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


WINDOWS = {
    "view": lambda x, y: y[1:],
    "view of the same shape": lambda x, y: y.view_as(y),
    "whole": lambda x, y: y,
    "made inside": lambda x, y: y * 2,
    "detached": lambda x, y: y.detach(),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("origin", [lambda y: y, lambda y: y[..., 1:], lambda y: y.view(-1)[2:8]])
def test_views_before_and_behind_set_have_the_bases_of_eager(origin, window):
    """An argument becomes a window on memory; its older views keep theirs."""
    def life(wrap):
        fn, found = wrap(lambda x, y: (x.set_(WINDOWS[window](x, y)), None)[1]), []
        for call in range(3):
            memory, x = ingot.arange(12.0).view(3, 4) + call, ingot.zeros(2, 3)
            y = origin(memory)
            older = [x[0], x.t()]
            fn(x, y)
            newer = x[:1]
            newer.add_(1)
            everything = [memory, y, x, *older, newer]
            found.append([(plain(t), t._version, [k for k, b in enumerate(everything) if t._base is b],
                           t._base is None, t.storage_offset()) for t in everything])
        return found
    assert life(jit.trace) == life(lambda f: f)


@pytest.mark.parametrize("change", [lambda t, x: setattr(t, "data", x[0]), lambda t, x: ingot.no_grad()(t.set_)(x)])
@pytest.mark.parametrize("make", [lambda x: x * 2, lambda x: x[1:]])
def test_other_memory_under_a_history_made_inside_is_refused(change, make):
    def f(x):
        t = make(x)
        change(t, x.detach())
        return t * 2

    with pytest.raises(jit.TraceError, match=r"it sets \.data of a tensor|set_ changes the memory of a tensor that requires"):
        jit.trace(f)(ingot.ones(2, 3, requires_grad=True))


@pytest.mark.parametrize("change", [lambda x, y: x.set_(y), lambda x, y: x.resize_(7)])
def test_data_set_behind_a_window_is_refused(change):
    def both(x, y):
        change(x, y)
        x.data = y * 2

    with pytest.raises(jit.TraceError, match=r"sets \.data of a tensor behind set_\(\)"):
        jit.trace(both)(ingot.zeros(3), ingot.ones(3))


def test_a_view_of_a_tensor_with_other_data_has_its_history():
    kept = ingot.ones(2, 3)

    def f(x):
        x.data = kept.data
        return x[..., 0]

    def run(wrap):
        fn, found = wrap(f), []
        for i in range(3):
            kept.fill_(i)
            leaf = ingot.zeros(2, 3, requires_grad=True)
            x = leaf * 2
            row = fn(x)
            row.mul_(3)
            gradient, = ingot.autograd.grad(row.sum() + x.sum(), leaf)
            found.append((plain(row), plain(x), row._base is x, row.requires_grad, plain(gradient)))
        return found

    assert run(jit.trace) == run(lambda fn: fn)


TURNS = {"t_": lambda t: t.t_(), "transpose_": lambda t: t.transpose_(0, 1), "squeeze_": lambda t: t.squeeze_(),
         "unsqueeze_": lambda t: t.unsqueeze_(0), "swapaxes_": lambda t: t.swapaxes_(0, 1)}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("turn", TURNS)
def test_an_argument_that_is_turned_beside_a_view_of_it_is_recorded_once(turn, requires_grad):
    """The base that such an operation makes is no input."""
    def turned(row, x):
        TURNS[turn](x)
        return row.reshape(-1).sum(), x.requires_grad_() if requires_grad else x

    def life(wrap):
        step, found = wrap(turned), []
        for i in range(4):
            x = ingot.arange(6.0).reshape(3, 2).t() + i
            with ingot.no_grad():
                row = x[0]
            total, t = step(row, x)
            found.append((total.tolist(), t.tolist(), t is x, t.requires_grad, x.stride(), row.tolist()))
        return found, step

    got, step = life(jit.trace)
    assert got == life(lambda fn: fn)[0]
    assert step.stats()["compiles"] == 1, step.stats()["misses"]


def _from_made(v, net):
    vector_to_parameters(v * 2, net.parameters())


def _from_argument(v, net):
    vector_to_parameters(v, net.parameters())
    v.add_(1)


def _from_own(v, net):
    vector_to_parameters(parameters_to_vector(net.parameters()) * v.sum(), net.parameters())


def _twice(v, net):
    vector_to_parameters(v, net.parameters())
    vector_to_parameters(v * 3, net.parameters())


def _turned(v, net):
    made = v.view(3, 2).t() * 2
    net.weight.data, net.bias.data = made.t()[:2], made[:, 2]


def _trained(v, net):
    _from_made(v, net)
    net(ingot.ones(2)).pow(2).sum().backward()


@pytest.mark.parametrize("assign", [_from_made, _from_argument, _from_own, _twice, _turned, _trained])
def test_parameters_that_get_parts_of_one_vector_share_its_memory(assign):
    """A vector made inside lived on as a copy for each parameter."""
    lives = []
    for wrap in (lambda f: f, jit.trace):
        net, found = nn.Linear(2, 2), []
        for p in net.parameters():
            ingot.nn.init.constant_(p, 0.5)

        def step(v):
            assign(v, net)
            return net(ingot.ones(2)).sum().detach()

        function = wrap(step)
        for i in range(4):
            v = ingot.arange(6.0) + i
            net.zero_grad()
            y, parameters = function(v), [*net.parameters()]
            places = [t.untyped_storage().data_ptr() for t in (v, *parameters)]
            found.append([[a == b for a in places for b in places], y.item()])
            for p in parameters:
                found.append((p.storage_offset(), p.stride(), p.untyped_storage().nbytes(), p._version, p._base is None))
            with ingot.no_grad():
                ingot.as_strided(net.bias.detach(), (1,), (1,), 0).mul_(3)       # the start of the memory
            found.append([(p.tolist(), None if p.grad is None else p.grad.tolist()) for p in (v, *parameters)])
        lives.append(found)
    assert lives[0] == lives[1]


def ended(run):
    try:
        return run()
    except errors.AutogradError:
        return "AutogradError"


def over(x, part):
    """Return a new tensor over a part of the memory of another one."""
    y = ingot.zeros(1, dtype=x.dtype)
    y.data = part(x.data)
    return y


GIVEN = {
    "plain": lambda x, w: x,
    "with a history": lambda x, w: w * x,
    "a leaf": lambda x, w: x.requires_grad_(),
    "a part": lambda x, w: x[:, 1:],
    "made inside": lambda x, w: x,
}
TAKEN = {"a row": lambda x: x[0], "all": lambda x: x[...], "turned": lambda x: x.t(),
         "a row without history": lambda x: x.detach()[1]}
# Functions of a tensor `x` and one over a part of it, `y`.
PARTS_USED = {
    "returned": lambda x, y, w: y,
    "written": lambda x, y, w: (y.mul_(2), None)[1],
    "written and returned": lambda x, y, w: y.mul_(2),
    "a view written": lambda x, y, w: (y[..., :1].mul_(2), y)[1],
    "a view returned": lambda x, y, w: y.mul_(2)[..., :1],
    "detached as well": lambda x, y, w: (y.mul_(3), y.detach(), y.data[..., 1:], y[..., 2:]),
    "beside it": lambda x, y, w: (y.mul_(3), x.detach()),
    "both written": lambda x, y, w: (y.mul_(2), ingot.no_grad()(x.mul_)(2))[0],
    "unseen": lambda x, y, w: (y.data.add_(1), y)[1],
    "saved before": lambda x, y, w: (x.detach() * w, y.mul_(3)),
    "saved before, of it": lambda x, y, w: ((y * w[:1, :1]).sum(), y.mul_(3)),
    "gradient inside": lambda x, y, w: (z := x.detach() * w, y.mul_(3), ingot.autograd.grad(z.sum(), w)[0])[2],
}


@pytest.mark.parametrize("used", PARTS_USED)
@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("given", GIVEN)
def test_a_part_of_memory_that_a_tensor_got_counts_its_own_writes(given, taken, used):
    def life(wrap):
        w, found = ingot.arange(1.0, 7.0).reshape(2, 3).requires_grad_(), []

        def body(x):
            x = x * 1 if given == "made inside" else x
            return PARTS_USED[used](x, over(x, TAKEN[taken]), w[:, :x.shape[1]])

        fn = wrap(body)
        for i in range(4):
            x = GIVEN[given](ingot.arange(6.0).reshape(2, 3) + i, w)
            result = ended(lambda x=x: fn(x))
            if result == "AutogradError":
                found.append(result)
                continue
            tensors = [x, *(result if type(result) is tuple else () if result is None else (result,))]
            found += [[t._version for t in tensors], [t.tolist() for t in tensors]]
            for t in tensors[1:]:
                if t.requires_grad:
                    found.append(ended(lambda t=t: ingot.autograd.grad(t.sum(), [w], retain_graph=True)[0].tolist()))
                else:
                    t.add_(1)
                found += [[t._version for t in tensors], [t.tolist() for t in tensors]]
        return found

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("part", [lambda v: None, lambda v: v.mul_(2)[:0], lambda v: (v, v[1:])])
def test_a_tensor_from_outside_over_a_part_of_another_counts_its_own_writes(part):
    def life(wrap):
        def body(x, v):
            v.data = x.data[0]
            return part(v.mul_(2))

        fn, found = wrap(body), []
        for i in range(4):
            tensors = [ingot.arange(6.0).reshape(2, 3) + i, ingot.zeros(3)]
            result = fn(*tensors)
            tensors += result if type(result) is tuple else ()
            for t in tensors:
                found += [t.add_(1).tolist(), [t._version for t in tensors]]
        return found

    assert life(jit.trace) == life(lambda fn: fn)


def test_a_result_over_the_part_that_a_tensor_from_outside_got_is_refused():
    def body(x, v):
        v.data = x.data[0]
        return v.detach()

    with pytest.raises(jit.TraceError, match="lies over"):
        jit.trace(body)(ingot.ones(2, 3), ingot.zeros(3))


OWN_PARTS = {"a row": lambda t: t[0], "a column": lambda t: t[..., :1], "turned": lambda t: t.t(),
             "itself": lambda t: t.view(-1)}


@pytest.mark.parametrize("begin", [lambda t: None, lambda t: t.detach_(), lambda t: t.add_(1)])
@pytest.mark.parametrize("part", OWN_PARTS)
@pytest.mark.parametrize("given", ["plain", "with a history", "saved"])
def test_earlier_views_of_a_tensor_that_got_a_part_of_its_own_memory_stay(given, part, begin):
    def life(wrap):
        w, found = ingot.arange(6.0).reshape(2, 3).requires_grad_(), []

        def body(t):
            with ingot.no_grad():
                begin(t)
            t.data = OWN_PARTS[part](t.data)

        fn = wrap(body)
        for i in range(4):
            t = w * (i + 1) if given == "with a history" else w.detach() + i
            views = [t[0], *t.split(1), t.detach(), t.data]
            saved = (t * w).sum() if given == "saved" else None
            try:
                fn(t)
            except errors.AutogradError:
                found.append("AutogradError")
            seen = [t, *views]
            found.append([(v.tolist(), v._version, v._base is t, v.requires_grad, v.stride()) for v in seen])
            if saved is not None:
                found.append(ended(lambda saved=saved: ingot.autograd.grad(saved, [w])[0].tolist()))
            with ingot.no_grad():
                found.append([ended(lambda v=v: v.mul_(2).tolist()) for v in seen])
            found.append([v._version for v in seen])
        return found

    try:
        assert life(jit.trace) == life(lambda fn: fn)
    except jit.TraceError as error:
        assert given == "with a history" and "keep its kind" in str(error)


@pytest.mark.parametrize("part", [lambda t: t[..., :1], lambda t: t[0], lambda t: t[...]])
@pytest.mark.parametrize("view", [lambda t: t.squeeze(), lambda t: t[0], lambda t: t.view(-1)])
def test_a_view_of_a_tensor_that_lost_elements_is_that_of_eager_or_refused(view, part):
    def life(wrap):
        def body(x):
            t = x * 2
            v = view(t)
            t.data = part(t.data)
            return v, t

        fn, found = wrap(body), []
        for i in range(4):
            v, t = fn(ingot.arange(6.0).reshape(2, 3) + i)
            found += [v.tolist(), t.tolist(), v._base is t, v.add_(1).tolist(), t.tolist()]
        return found

    want = life(lambda fn: fn)
    try:
        assert life(jit.trace) == want
    except jit.TraceError as error:
        assert part(ingot.ones(2, 3)).numel() < 6 and "lies over" in str(error)


@pytest.mark.parametrize("given", [lambda w: w.data, lambda w: w.detach(), lambda w: w.view(2, 3).data],
                         ids=["data", "detach", "view"])
def test_data_that_a_tensor_has_already_count_as_no_write(given):
    """Also where a node has saved the memory meanwhile."""
    def life(wrap):
        w, kept, found = ingot.ones(2, 3, requires_grad=True), ingot.zeros(2, 3), []

        def step(x):
            kept.data = given(w)
            return x * 2

        step = wrap(step)
        for _ in range(4):
            saved = w * w
            step(ingot.ones(2))
            saved.sum().backward()
            found.append((w._version, kept._version, w.grad.tolist()))
        return found

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("result", [lambda t, v: v, lambda t, v: (t, v), lambda t, v: (v.detach().requires_grad_(), v)],
                         ids=["view", "both", "its data"])
@pytest.mark.parametrize("data", [lambda x: x.new_zeros(5), lambda x: x.t(), lambda x: x.new_zeros(2, 3), lambda x: W],
                         ids=["longer", "turned", "same kind", "outside"])
@pytest.mark.parametrize("view", [lambda t: t.reshape(-1), lambda t: t.t(), lambda t: t[0], lambda t: t.detach()[1],
                                  lambda t: t * 2], ids=["reshape", "t", "row", "detached", "none"])
def test_tensors_with_views_that_get_other_data(view, data, result):
    """Views keep the memory of their base from before. A trace may refuse that."""
    def life(wrap):
        def fn(x):
            t = x.detach() * 2
            v = view(t)
            t.data = data(x)
            v.add_(1)
            return result(t, v)

        fn = wrap(fn)
        return [plain(fn(ingot.ones(2, 3) + k)) for k in range(3)]

    same_or_refused(life, "sets .data of a tensor")


W = ingot.ones(3, 4)
