"""ingot's own code is recorded without events of Python, and code of users that it calls is seen all the same."""

import pytest

import ingot
from ingot import jit, nn, optim
from ingot.jit.python_state.tracker import Tracker

FACTOR = 1.0


class Scaled(optim.SGD):
    def _update_each(self, rows, group):
        super()._update_each([(p, g * FACTOR, state) for p, g, state in rows], group)



class Double(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * FACTOR


class Loud(ingot.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        found = super().__torch_function__(func, types, args, kwargs or {})
        return found * FACTOR if func is ingot.Tensor.exp and FACTOR != 1.0 else found


class Mode(ingot.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        return found * FACTOR if isinstance(found, ingot.Tensor) and func is ingot.exp else found


def _train(make, w, hook=None):
    opt = make([w])

    def step(x):
        opt.zero_grad()
        loss = (w * x).exp().sum()
        if hook is not None:
            w.register_hook(hook)
        loss.backward()
        opt.step()
        return w.detach().clone()

    return step


def _numbers(self, at, group):
    return {k: v * FACTOR for k, v in optim.Adam._numbers(self, at, group).items()}


def _own_numbers(params):
    opt = optim.Adam(params)
    opt._numbers = lambda at, group: _numbers(opt, at, group)
    return opt


def _hooked(w):
    def step(x):
        y = w * x
        y.register_hook(lambda g: g * FACTOR)
        y.exp().sum().backward()
        return ingot.zeros(()) + w.grad.sum()

    return step


def _backward_later(x, w, hook=True):
    y = w * x
    if hook:
        y.register_hook(lambda g: g * FACTOR)
    return y.exp()


def _packed(w):
    def step(x):
        with ingot.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * FACTOR):
            y = (w * x).exp().sum()
            y.backward()
        found, w.grad = w.grad, None
        return found

    return step


def _in_mode(w):
    def step(x):
        with Mode():
            return (w * x).exp() + 1

    return step


USERS = {      # functions of a weight that give steps, in which code of users reads FACTOR
    "a method of an optimizer's class": lambda w: _train(lambda p: Scaled(p, 0.1), w),
    "a method of an optimizer": lambda w: _train(_own_numbers, w),
    "a hook of a leaf": lambda w: _train(lambda p: optim.SGD(p, 0.1), w, lambda g: g * FACTOR),
    "a hook in a backward": _hooked,
    "a function's backward": lambda w: _train(lambda p: optim.SGD(p, 0.1), w) and (
        lambda x: ingot.autograd.grad(Double.apply(w * x).sum(), w)[0]),
    "hooks on saved tensors": _packed,
    "a class of tensors": lambda w: lambda x: x.as_subclass(Loud).exp().as_subclass(ingot.Tensor) + w.detach(),
    "a mode": _in_mode,
}


@pytest.mark.parametrize("name", USERS)
def test_code_of_users_in_own_code_is_seen(name):
    """Code of users that runs inside of a backward, an update or a public function counts by what it reads."""
    def life(wrap):
        global FACTOR
        FACTOR = 1.0
        w = ingot.full((3,), 0.5, requires_grad=True)
        step, seen = wrap(USERS[name](w)), []
        for factor in (1.0, 1.0, 2.0, 2.0, 1.0):
            FACTOR = factor
            try:
                seen.append(step(ingot.full((3,), 0.25)).tolist())
            except jit.TraceError:
                seen.append("refused")
            w.grad = None
        return seen

    want, got = life(lambda f: f), life(jit.trace)
    assert all(a in (b, "refused") for a, b in zip(got, want)), (got, want)


def test_hooks_of_a_backward_after_the_call_are_seen():
    global FACTOR
    FACTOR = 1.0
    w, traced = ingot.ones(2, requires_grad=True), jit.trace(_backward_later)
    for factor in (1.0, 1.0, 3.0, 3.0, 1.0):
        FACTOR = factor
        found = [ingot.autograd.grad(f(ingot.ones(2), w).sum(), w)[0].tolist() for f in (_backward_later, traced)]
        assert found[0] == found[1]


@pytest.mark.parametrize("name", ["a training step", "a forward pass"])
def test_own_code_makes_few_events(name, monkeypatch):
    """Layers of ingot's own make a few events of Python each, however much happens inside."""
    counts = []

    def events(layers):
        net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU()) for _ in range(layers)])
        opt = optim.AdamW(net.parameters())

        def step(x):
            opt.zero_grad()
            loss = (net(x) - x).square().mean()
            loss.backward()
            opt.step()
            return loss

        jit.trace(step if name == "a training step" else net)(ingot.ones(2, 4))       # (modules load late)
        counts.clear()
        jit.trace(step if name == "a training step" else net)(ingot.ones(2, 4))
        return len(counts)

    def event(self, frame, event, arg, really=Tracker._event):
        counts.append(event)
        return really(self, frame, event, arg)

    monkeypatch.setattr(Tracker, "_event", event)
    few, more = events(2), events(6)
    assert (more - few) / 4 < (2000 if name == "a training step" else 300)
