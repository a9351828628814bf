"""Backward through what the call did not compute itself, and Python state that the backward of a `Function` uses.

Either each call and each backward does what it does eagerly, or the function is refused.
"""

import contextlib
import io
from types import SimpleNamespace

import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import AutogradError

CALLS = 4
number = 1.0
items: list = []
table: dict = {}
state = SimpleNamespace()
given: ingot.Tensor
net: nn.Module


class Net(nn.Module):
    """A module with an attribute, a parameter and a buffer."""

    def __init__(self):
        super().__init__()
        self.scale, self.count = 2.0, 0
        self.weight = nn.Parameter(ingot.ones(3))
        self.register_buffer("seen", ingot.ones(3))


def grows_number(f, ctx, g):
    global number
    number += 1
    return g * number


def grows(owner, name):
    setattr(owner, name, getattr(owner, name) + 1)
    return getattr(owner, name)


def after(_, value):
    return value


BODIES = {                      # what a backward returns
    "global": lambda f, ctx, g: g * number,
    "counts a global": grows_number,
    "branch": lambda f, ctx, g: g * 2 if number > 2 else g * 3,
    "attribute": lambda f, ctx, g: g * state.value,
    "counts an attribute": lambda f, ctx, g: g * grows(state, "value"),
    "list": lambda f, ctx, g: g * items[0],
    "appends": lambda f, ctx, g: after(items.append(2.0), g * len(items)),
    "dict": lambda f, ctx, g: g * table["k"],
    "counts in a dict": lambda f, ctx, g: after(table.update(k=table["k"] + 1), g * table["k"]),
    "module": lambda f, ctx, g: g * net.scale if net.training else g * 5,
    "counts in a module": lambda f, ctx, g: g * grows(net, "count"),
    "parameter": lambda f, ctx, g: g * net.weight.detach(),
    "writes to a buffer": lambda f, ctx, g: after(net.seen.add_(1), g * net.seen),
    "class": lambda f, ctx, g: g * f.calls,
    "counts in a class": lambda f, ctx, g: g * grows(f, "calls"),
    "ctx": lambda f, ctx, g: g * ctx.k,
    "counts in ctx": lambda f, ctx, g: g * grows(ctx, "k"),
    "appends in ctx": lambda f, ctx, g: after(ctx.items.append(1), g * len(ctx.items)),
    "counts in an object of ctx": lambda f, ctx, g: g * grows(ctx.own, "n"),
    "new attribute of ctx": lambda f, ctx, g: after(setattr(ctx, "last", 1), g * hasattr(ctx, "last")),
    "tensor": lambda f, ctx, g: g * given,
    "writes to a tensor": lambda f, ctx, g: g * given.add_(1),
    "writes to a tensor of ctx": lambda f, ctx, g: g * ctx.t.add_(1),
    "writes to its gradient": lambda f, ctx, g: g.clone().mul_(ctx.k),
    "keeps the gradient": lambda f, ctx, g: after(setattr(state, "g", g.detach().clone()), g * 2),
    "draws": lambda f, ctx, g: g * ingot.rand(3),
    "prints": lambda f, ctx, g: after(print("back"), g),
}


def change(f):
    global number
    number += 1
    state.value += 1
    items[0] += 1
    table["k"] += 1
    net.scale += 1
    net.training = not net.training
    f.calls += 5
    given.add_(1)


def reset():
    global number, given, net
    number, items[:] = 1.0, [1.0]
    table.clear()
    table["k"] = 1.0
    state.value, state.g = 1.0, None
    ingot.manual_seed(0)
    given, net = ingot.ones(3), Net()


def function_of(body):
    class F(ingot.autograd.Function):
        """A product with what the backward says."""

        calls = 0

        @staticmethod
        def forward(ctx, x):
            ctx.k, ctx.items, ctx.own, ctx.t = 3.0, [1.0], SimpleNamespace(n=1), x * 2
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return body(F, ctx, g)

    return F


def life(wrap, body, with_backward, when):
    reset()
    f, found = function_of(body), []
    w = ingot.tensor([0.5, -1.25, 2.0], requires_grad=True)

    def step(x):
        y = f.apply(x)
        if when == "inside":
            change(f)
        return ingot.autograd.grad((y * y).sum(), [x]) if with_backward else y

    step = wrap(step)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for _ in range(CALLS):
            if when == "before":
                change(f)
            made = step(w * 1)
            if when == "between":
                change(f)
            if not with_backward:
                made = [ingot.autograd.grad((made * made).sum(), [w], retain_graph=n == 0)[0] for n in range(2)]
            found.append(([t.tolist() for t in made], number, state.value, [*items], {**table}, net.scale, net.count, f.calls,
                          net.seen.tolist(), given.tolist(), str(state.g), printed.getvalue()))
    return found


@pytest.mark.parametrize("when", ["never", "before", "between", "inside"])
@pytest.mark.parametrize("with_backward", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_the_backward_of_a_function_sees_eager_state(name, with_backward, when):
    expected = life(lambda f: f, BODIES[name], with_backward, when)
    try:
        found = life(jit.trace, BODIES[name], with_backward, when)
    except jit.TraceError as error:
        assert "outside" in str(error) or "inside" in str(error)
    except AutogradError as error:
        assert when == "between" and not with_backward and "has changed since the call" in str(error)
    else:
        assert found == expected


HISTORIES = {                   # losses of a parameter `p`, computed before call `i`
    "the leaf": lambda p, i: p,
    "scaled": lambda p, i: p * (i + 2),
    "divided": lambda p, i: p / (i + 2),
    "shifted": lambda p, i: p + i,
    "negated": lambda p, i: -p if i % 2 else p - 0,
    "summed": lambda p, i: p.sum(),
    "mean": lambda p, i: p.mean() * (i + 1),
    "row": lambda p, i: p[i % 3],
    "slice": lambda p, i: p[i % 3:],
    "reshaped": lambda p, i: p.reshape(3, 1) * (i + 1),
    "expanded": lambda p, i: p.expand(i + 1, 3),
    "squared": lambda p, i: p * p,
    "power": lambda p, i: p ** (i + 1),
    "stacked": lambda p, i: ingot.stack([p] * (i + 1)),
    "detached and added": lambda p, i: p.detach() + p * (i + 1),
    "of a replay": lambda p, i: given_traced(p) * (i + 1),
}
WAYS = {                        # what the traced function does with such a loss, and maybe its parameter
    "backward": lambda loss, p: loss.sum().backward(),
    "backward of it": lambda loss, p: loss.backward(ingot.ones(loss.shape)),
    "backward of a loss": lambda loss, p: (loss * loss).sum().backward(),
    "grad to the parameter": lambda loss, p: ingot.autograd.grad((loss * 2).sum(), [p]),
    "backward with inputs": lambda loss, p: loss.sum().backward(inputs=[p]),
    "grad to it": lambda loss, p: ingot.autograd.grad((loss * loss).sum(), [loss]),
}


@jit.trace
def given_traced(p):
    return p * 2


def life_of_history(wrap, history, way, place):
    leaves = [ingot.tensor([0.5, -1.25, 2.0], requires_grad=True) for _ in range(2)]
    held, found = SimpleNamespace(), []

    def step(p, loss):
        made = way(held.loss if loss is None else loss, held.p if p is None else p)
        return None if made is None else [g * 1 for g in made]

    step = wrap(step)
    for i in range(CALLS):
        p = leaves[i % 2]
        p.grad = None
        held.loss, held.p = history(p, i), p
        made = step(p, held.loss) if place == "argument" else step(None, None)
        found.append([t if t is None else t.tolist() for t in (*[q.grad for q in leaves], *(made or ()))])
    return found


@pytest.mark.filterwarnings("default:.*(computed before the call|never used); call backward")
@pytest.mark.parametrize("place", ["argument", "outside"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("history", HISTORIES)
def test_backward_through_a_history_from_before_the_call_is_that_of_eager_code(history, way, place):
    expected = life_of_history(lambda f: f, HISTORIES[history], WAYS[way], place)
    assert life_of_history(jit.trace, HISTORIES[history], WAYS[way], place) == expected


VIEWS = {                       # views of a parameter, made before the first call
    "row": lambda p: p[1],
    "rows": lambda p: p[1:],
    "turned": lambda p: p.t(),
    "reshaped": lambda p: p.reshape(2, 6),
    "row of turned": lambda p: p.t()[2],
    "diagonal": lambda p: p.diagonal(),
    "expanded": lambda p: p[:, None].expand(3, 2, 4),
    "every second": lambda p: p[:, ::2],
}
CHANGES = {
    "nothing": lambda held: None,
    "another view": lambda held: setattr(held, "view", held.p[0]),
    "a hook on its node": lambda held: held.view.grad_fn.register_hook(lambda gi, go: (gi[0] * 3,)),
    "a hook on it": lambda held: held.view.register_hook(lambda g: g * 3),
    "a history": lambda held: setattr(held, "view", held.view * 3),
}


@pytest.mark.filterwarnings("default:.*(computed before the call|never used); call backward")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("reads_whole", [False, True])
@pytest.mark.parametrize("view", VIEWS)
def test_backward_goes_through_captured_views_of_parameters(view, reads_whole, change):
    def life(wrap):
        p = ingot.linspace(-1, 1, 12).reshape(3, 4).clone().requires_grad_()
        held, opt, found = SimpleNamespace(p=p, view=VIEWS[view](p)), ingot.optim.SGD([p], lr=0.1), []

        @wrap
        def step(x):
            opt.zero_grad()
            loss = (held.view * x).tanh().sum()
            (loss + held.p.sum() if reads_whole else loss).backward()
            opt.step()
            return loss.item()

        for i in range(CALLS + 2):
            try:
                result = step(ingot.tensor(i + 0.5))
            except AutogradError as error:          # the second backward through one history
                result = str(error).partition(";")[0]
            found.append((result, held.p.tolist(), held.p.grad.tolist()))
            if i == CALLS - 2:
                CHANGES[change](held)
        return found

    assert life(jit.trace) == life(lambda f: f)
