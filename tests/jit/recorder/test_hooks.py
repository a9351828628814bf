"""Hooks that keep something, around traced calls: objects with `__call__`, methods, closures, registered in every place."""

import functools

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain


class Keeps:
    """Log of the values that a hook has seen."""

    def __init__(self):
        self.calls, self.last, self.table, self.all = 0, None, {}, []

    def note(self, g):
        """Keep the gradient in several ways, and return another one."""
        self.calls += 1
        self.last = g.detach() if self.last is None else self.last * 0.9 + g
        self.table["mean"] = g.mean()
        self.all.append(g.sum())
        return g * self.calls


class OfATensor(Keeps):
    def __call__(self, g):
        return self.note(g)


class Watches(Keeps):
    """A hook that writes what nobody reads."""

    def __call__(self, g):
        self.seen = g.norm()


class OfAParameter(Keeps):
    def __call__(self, p):
        self.note(p.grad)
        with ingot.no_grad():
            p.grad.mul_(self.calls)


class OfASteps(Keeps):
    def __call__(self, optimizer, args, kwargs):
        with ingot.no_grad():
            for p in optimizer.param_groups[0]["params"]:
                p.mul_(1 - 0.01 * len(self.all))
                self.note(p)


class OfABackward(Keeps):
    def __call__(self, module, *gradients):
        (g,), *_ = gradients
        return (self.note(g),)


def by_a_method(keeps):
    return keeps.note


def by_a_closure(keeps):
    calls = 0

    def hook(g):
        nonlocal calls
        calls += 1
        keeps.all.append(g.sum() * calls)
        return g * calls

    return hook


# name: (kind of object, what registers it on (net, optimizer, hook); None: on a tensor of each call)
AT_ONCE = {
    "a parameter": (OfATensor, lambda net, optimizer, hook: net[0].weight.register_hook(hook)),
    "a parameter, unread": (Watches, lambda net, optimizer, hook: net[0].weight.register_hook(hook)),
    "a parameter, by a method": (Keeps, lambda net, optimizer, hook: net[0].weight.register_hook(by_a_method(hook))),
    "a parameter, by a partial": (Keeps, lambda net, optimizer, hook: net[0].weight.register_hook(
        functools.partial(Keeps.note, hook))),
    "a parameter, by a closure": (Keeps, lambda net, optimizer, hook: net[0].weight.register_hook(by_a_closure(hook))),
    "its gradient": (OfAParameter, lambda net, optimizer, hook: net[0].weight.register_post_accumulate_grad_hook(hook)),
    "before steps": (OfASteps, lambda net, optimizer, hook: optimizer.register_step_pre_hook(hook)),
    "after steps": (OfASteps, lambda net, optimizer, hook: optimizer.register_step_post_hook(hook)),
    "after all steps": (
        OfASteps, lambda net, optimizer, hook: ingot.optim.optimizer.register_optimizer_step_post_hook(hook)),
}
ALONG = {
    "a module": (OfABackward, lambda net, optimizer, hook: net[2].register_full_backward_hook(hook)),
    "a module, before": (OfABackward, lambda net, optimizer, hook: net[2].register_full_backward_pre_hook(hook)),
    "a tensor": (OfATensor, None),
    "a tensor, by a method": (lambda: Keeps().note, None),
}


def life(kind, register, wrap, outside=False):
    """Return the state after five training steps; with `outside`, backward and step come after the traced call."""
    ingot.manual_seed(0)
    net, hook = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)), kind()
    optimizer = ingot.optim.SGD(net.parameters(), lr=0.1)
    handle = None if register is None else register(net, optimizer, hook)

    def loss_of(x):
        y = net[0](x)
        if register is None:
            y.register_hook(hook)
        return (net[1:](y) ** 2).mean()

    def step(x, loss=loss_of):
        optimizer.zero_grad()
        value = loss(x)
        value.backward()
        optimizer.step()
        return value

    traced = wrap(loss_of if outside else step)
    found = []
    try:
        for i in range(5):
            x = ingot.tensor(np.random.default_rng(i).standard_normal((4, 3)), dtype=ingot.float32)
            value = step(x, traced) if outside else traced(x)
            kept = vars(getattr(hook, "__self__", hook))
            found.append((value.item(), plain(dict(kept)), net[0].weight.detach().numpy().tobytes()))
    finally:
        if handle is not None:
            handle.remove()
    return found


@pytest.mark.parametrize("name", {**AT_ONCE, **ALONG})
def test_what_hooks_keep_is_what_eager_ones_do(name):
    case = {**AT_ONCE, **ALONG}[name]
    assert life(*case, jit.trace) == life(*case, lambda fn: fn)


@pytest.mark.parametrize("name", AT_ONCE)
def test_hooks_at_leaves_and_steps_run_after_a_traced_forward(name):
    assert life(*AT_ONCE[name], jit.trace, outside=True) == life(*AT_ONCE[name], lambda fn: fn, outside=True)


@pytest.mark.parametrize("name", ALONG)
def test_hooks_within_a_forward_whose_backward_comes_later_may_keep_nothing(name):
    with pytest.raises(jit.TraceError, match=r"hook that runs when backward\(\) comes, after the call, writes to"):
        life(*ALONG[name], jit.trace, outside=True)


def test_a_hook_of_all_modules_is_met():
    def results(wrap):
        hook, net = OfABackward(), nn.Linear(2, 1)
        with ingot.no_grad():
            net.weight.fill_(1.0)
            net.bias.zero_()
        handle = nn.modules.module.register_module_full_backward_hook(hook)
        try:
            step = wrap(lambda x: ingot.autograd.grad(net(x).sum(), x)[0])
            found = [step(ingot.ones(3, 2, requires_grad=True)).tolist() for _ in range(4)]
        finally:
            handle.remove()
        return found, plain(vars(hook))

    assert results(jit.trace) == results(lambda fn: fn)


class SampleGradients:
    """Hooks that lead back to their modules: they store the inputs of a layer for its gradient."""

    def __init__(self, net):
        for m in net:
            m.register_forward_hook(functools.partial(self.keep, among=[net]))
            m.register_full_backward_hook(functools.partial(self.take, among=[net]))

    def keep(self, m, args, out, among):
        if not hasattr(m, "inputs"):
            m.inputs = []
        m.inputs.append(args[0].detach())

    def take(self, m, into, out, among):
        m.samples = self.product(m, out[0])

    def product(self, m, g):
        return g.unsqueeze(2) * m.inputs.pop().unsqueeze(1)


def test_hooks_that_lead_back_to_their_modules_put_things_down_and_take_them_up():
    def weights(wrap):
        ingot.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
        SampleGradients(net)

        def step(x):
            net.zero_grad()
            net(x).square().sum().backward()
            with ingot.no_grad():
                for m in net:
                    m.weight -= 0.1 * m.samples.clamp(-1, 1).mean(0)

        step = wrap(step)
        for i in range(5):
            step(ingot.full((3, 2), 1.0 + i))
        return [p.detach().numpy().tobytes() for p in net.parameters()], getattr(step, "stats", dict)()

    (want, _), (got, stats) = weights(lambda fn: fn), weights(jit.trace)
    assert got == want and stats["compiles"] == 3 and stats["unrecorded"] == 0     # without lists, without gradients, and then
