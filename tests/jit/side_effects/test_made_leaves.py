"""Leaves that a traced function makes: each call gives its own, with class, gradient and attributes as in eager mode."""

import pytest

import ingot
from ingot import jit, nn
from side_by_side import vec


def marked(p):
    p.is_bias = True
    return p


def with_gradient(x):
    p = nn.Parameter(x * 2)
    (p * p).sum().backward()
    return p


def with_given_gradient(x):
    p = with_gradient(x)
    return p.grad, p


MADE = {
    "parameter": lambda x: nn.Parameter(x * 2),
    "frozen parameter": lambda x: nn.Parameter(x * 2, requires_grad=False),
    "buffer": lambda x: nn.Buffer(x + 1, persistent=False),
    "leaf": lambda x: (x * 2).detach().requires_grad_(),
    "leaf over an argument": lambda x: x.detach().requires_grad_(),
    "parameter over an argument": lambda x: nn.Parameter(x),
    "parameter over a part": lambda x: nn.Parameter(x[1:]),
    "attributes": lambda x: marked(nn.Parameter(x * 2)),
    "several": lambda x: (nn.Parameter(x), x * 2, {"b": nn.Buffer(x)}),
    "gradient": with_gradient,
    "gradient as a result": with_given_gradient,
    "plain": lambda x: x.detach(),
}


def seen(result, x):
    """Return the visible properties of results: values, class, flags, attributes, memory shared with the argument."""
    found = []
    for t in (result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else [result]):
        if isinstance(t, dict):
            found.append(seen(t, x))
            continue
        grad = None if t.grad is None else t.grad.tolist()
        found.append((type(t), t.tolist(), t.requires_grad, t.is_leaf, grad, getattr(t, "is_bias", None),
                      getattr(t, "persistent", None), t.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()))
        if t.requires_grad:
            t.grad = None
            (t * 3).sum().backward()
            found.append(t.grad.tolist())
    return found


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_leaves_are_made_at_every_call(make):
    traced, before = jit.trace(make), []
    for i in range(4):
        x = vec(1.0 + i, 2.0, 3.0 - i)
        y = traced(x)
        assert seen(y, x) == seen(make(x), x), f"call {i}"
        assert not any(y is b for b in before)
        before.append(y)
    assert traced.stats()["compiles"] == 1


def test_a_history_does_not_lead_to_a_leaf_that_is_handed_out_too():
    def both(x):
        p = nn.Parameter(x * 2)
        return p, (p * 3).sum()

    with pytest.raises(jit.TraceError, match="hands out a tensor that requires grad"):
        jit.trace(both)(vec(1.0, 2.0, 3.0))


def test_attributes_that_cannot_be_made_again_are_refused():
    def named(x):
        p = nn.Parameter(x * 2)
        p.scale = iter([x + 1])
        return p

    with pytest.raises(jit.TraceError, match="could not make again"):
        jit.trace(named)(vec(1.0, 2.0, 3.0))


class Codebook(nn.Module):
    """Vectors that follow what is near them: parameters that each step replaces."""

    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(3, 2)
        self.codes.weight.data.copy_(ingot.arange(6.0).view(3, 2))
        self.sums = nn.Parameter(ingot.zeros(3, 2), requires_grad=False)
        self.scale = nn.Parameter(ingot.ones(2))

    def forward(self, x):
        x = x * self.scale
        near = (x[:, None] - self.codes.weight).square().sum(-1).argmin(1)
        hot = nn.functional.one_hot(near, 3).to(x.dtype)
        found = x + (hot @ self.codes.weight - x).detach()
        self.sums = nn.Parameter(self.sums * 0.9 + 0.1 * (hot.t() @ x), requires_grad=False)
        self.codes.weight = nn.Parameter(self.sums * 2)
        return found


def test_parameters_that_a_step_replaces():
    def train(wrap):
        net, lives = Codebook(), []
        optimizer = ingot.optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (net(x) - 1).square().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = wrap(step)
        for i in range(8):
            loss = step(ingot.arange(8.0).view(4, 2).sin() * i)
            if i == 5:
                net.codes.weight = nn.Parameter(ingot.arange(6.0).view(3, 2).cos())
            lives.append((loss.item(), *[(p.tolist(), p.requires_grad, p.grad is None) for p in net.parameters()],
                          [p.tolist() for p in optimizer.param_groups[0]["params"]]))
        return lives, step

    (want, _), (got, traced) = train(lambda f: f), train(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]
