"""Parameters that get other memory in a trace (`vector_to_parameters`, `p.data = part`), and optimizers created in a trace."""

import copy

import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.nn.utils import parameters_to_vector, vector_to_parameters


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
def test_calls_leave_what_eager_ones_do_and_are_replayed(name):
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


def test_a_vector_that_is_handed_out_over_the_parameters_is_refused():
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
