"""Gradients of a tensor that is used inside of a traced call and outside of it have eager's bits."""

import itertools

import pytest

import ingot
from ingot import autograd, jit
from ingot.nn import functional as F
from outcomes import outcome

FUNCTIONS = {
    "one use": lambda w: w.exp().sum(),
    "two uses": lambda w: (w * w.exp() + w.sin()).sum(),
    "uses in a loop": lambda w: sum((w * (i + 0.3)).tanh() for i in range(4)).sum(),
    "softmax": lambda w: (F.softmax(w, 0) * w).sum(),
    "branch": lambda w: (w * w.cos() + w).sum() if w.sum() > 0 else (w * w.sin() - w.exp()).sum(),
}
AROUND = {
    "later": lambda f, w: f(w) + (w * 3.7).sum(),
    "earlier": lambda f, w: (w * 3.7).sum() + f(w),
    "on both sides": lambda f, w: (w * w).sum() + f(w) + (w.exp() * 0.3).sum(),
    "twice": lambda f, w: f(w) * f(w) + w.sum(),
    "of a result": lambda f, w: f(w) * w.sum(),
}


@pytest.mark.parametrize("inner", [False, True], ids=["leaf", "no leaf"])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_added_in_eagers_order(name, around, inner):
    f, traced = FUNCTIONS[name], jit.trace(FUNCTIONS[name])
    for seed in range(8):
        found = []
        for g in (f, traced):
            ingot.manual_seed(seed)
            leaf = ingot.randn(5).requires_grad_(True)
            w = leaf * 1.5 if inner else leaf
            AROUND[around](g, w).backward()
            found.append(leaf.grad.numpy().tobytes())
        assert found[0] == found[1], seed


SEVERAL = {
    "log": lambda x: (x * 2, x.log()),
    "sqrt": lambda x: (x.sin(), x.sqrt(), x * x),
    "split": lambda x: ((x.unbind(0)[0] * 2), x.unbind(0)[1].log(), x.unbind(0)[0].sqrt()),
    "one node": lambda x: (lambda a, b: (a * 2, b.sqrt(), a + b.exp()))(*x.split(2)),
    "sort": lambda x: (lambda a, i: (a.log(), x.gather(0, i) * 3, x.rsqrt()))(*x.sort(0)),
    "chain": lambda x: (lambda y: (y, y.sqrt(), (y * y).log()))(x * 1.5),
    "function": lambda x: (*Both.apply(x, x * 3), x.log()),
}


class Both(autograd.Function):
    """Two results whose gradients meet."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h / (1 + x)


@pytest.mark.parametrize("name", SEVERAL)
def test_rules_of_results_without_a_gradient_do_not_run(name):
    """A missing gradient is no gradient of zeros, of which a slope that is infinite or nan would make nan."""
    f, traced = SEVERAL[name], jit.trace(SEVERAL[name])
    count = len(f(ingot.ones(4)))
    for going in [*itertools.combinations(range(count), 1), *itertools.combinations(range(count), 2), range(count)]:
        found = []
        for g in (f, traced):
            leaf = ingot.tensor([0.0, 2.0, 0.0, 3.0]).requires_grad_()
            results = g(leaf)
            autograd.backward([results[i] for i in going], [ingot.ones_like(results[i]) for i in going])
            found.append(repr(leaf.grad.tolist()))
        assert found[0] == found[1], going


@pytest.mark.parametrize("name", [*SEVERAL, "sum", "views", "numbers"])
def test_a_backward_uses_up_what_it_does_in_eager_code(name):
    """A second backward through the same nodes raises where the first one has freed something, and only there."""
    f = {**SEVERAL, "sum": lambda x: (x.sum(0), x + x * 2, x.exp()), "views": lambda x: (x.view(2, 2).t(), x.cumsum(0)),
         "numbers": lambda x: (x * 3, (x * 3) / 2, x * x)}[name]
    traced, count = jit.trace(f), len(f(ingot.ones(4)))
    for order in itertools.product(range(count), repeat=2):
        found = []
        for g in (f, traced):
            leaf = ingot.tensor([1.0, 2.0, 0.5, 3.0]).requires_grad_()
            results = g(leaf)
            ends = [outcome(results[i].sum().backward)[0] for i in order]
            found.append((ends, leaf.grad.tolist()))
        assert found[0] == found[1], order


@pytest.mark.parametrize("f", [lambda x: x.cumsum(0), lambda x: x.view(2, 2).t(), lambda x: x * 3, lambda x: x.sum(0)])
def test_what_saves_nothing_is_differentiated_again_and_again(f):
    traced = jit.trace(f)
    for _ in range(3):
        found = []
        for g in (f, traced):
            leaf = ingot.tensor([1.0, 2.0, 0.5, 3.0]).requires_grad_()
            y = g(leaf)
            for higher in (False, True, False, True):
                found.append(autograd.grad(y.sum(), [leaf], create_graph=higher)[0].tolist())
        assert found[:4] == found[4:]


def overwritten(x, w):
    y = x.exp()
    y.mul_(2)
    return y


ELSEWHERE = {
    "no end": lambda y, x, w, v: autograd.grad(y.sum(), [w], allow_unused=True),
    "the other argument": lambda y, x, w, v: (y.sum() + w.sum()).backward(inputs=[w]),
    "a tensor outside": lambda y, x, w, v: autograd.grad((y * v).sum(), [v]),
    "the end": lambda y, x, w, v: autograd.grad(y.sum(), [x]),
    "all": lambda y, x, w, v: (y * v).sum().backward(),
    "no end, differentiated": lambda y, x, w, v: second(y, [w]),
    "the end, differentiated": lambda y, x, w, v: second(y, [x]),
    "a tensor outside, differentiated": lambda y, x, w, v: second(y * v, [v]),
}


def second(y, ends):
    first = autograd.grad((y * y).sum(), ends, create_graph=True, allow_unused=True)
    return [None if g is None else autograd.grad((g * g).sum(), ends, retain_graph=True) for g in first]


OVERWRITTEN = {
    "one": (lambda x, w: overwritten(x, w), 0),
    "the other": (lambda x, w: (overwritten(w, x), x.exp()), 1),
    "a part": (lambda x, w: (overwritten(w, x), x.exp() * w.tanh(), w.sin()), 1),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
@pytest.mark.parametrize("way", ELSEWHERE)
def test_a_backward_that_raises_does_so_only_on_the_way(way, name):
    function, number = OVERWRITTEN[name]
    traced = jit.trace(function)
    for _ in range(3):
        found = []
        for f in (function, traced):
            x, w, v = [ingot.linspace(0.5, 1.5, 3).requires_grad_() for _ in range(3)]
            made = f(x * 1, w * 2)
            y = made[number] if type(made) is tuple else made
            ended = outcome(lambda y=y, x=x, w=w, v=v: ELSEWHERE[way](y, x, w, v))[0]
            found.append((ended, [None if t.grad is None else t.grad.tolist() for t in (x, w, v)]))
        assert found[0] == found[1]


CHAINS = {
    "two": lambda x: (lambda y: (y, y.tanh()))(x.exp()),
    "three": lambda x: (lambda y: (y, y.tanh(), (y * x).sin()))(x.exp()),
    "a chain": lambda x: (lambda y, z: (y, z, z.exp()))(x * 2, (x * 2).sin()),
    "an argument that is written": lambda x: (lambda y: (y.mul_(2), y.cumsum(0)))(x * 1),
    "a view": lambda x: (lambda y: (y, y[1:] * 2))(x.exp()),
}


@pytest.mark.parametrize("ways", [*itertools.product(("", "triples", "looks"), repeat=2)], ids="-".join)
@pytest.mark.parametrize("name", CHAINS)
def test_hooks_of_results_come_before_the_gradients_of_those_that_they_are_computed_from(name, ways):
    def life(wrap):
        f, found = wrap(CHAINS[name]), []
        for call in range(3):
            x, seen = ingot.linspace(0.5, 1.5, 3).requires_grad_(), []
            results = f(x)
            for t, way in zip(results[::-1], ways):     # the last results lead to none
                if way:
                    t.register_hook(HOOKED[way](seen))
            results[0].retain_grad()
            loss = sum((t * t * (k + call)).sum() for k, t in enumerate(results))
            gradients = autograd.grad(loss, [*results, x], allow_unused=True, retain_graph=True)
            loss.backward()
            found.append(([plain(g) for g in (*gradients, x.grad, results[0].grad)], sorted(seen)))
        return found

    found = outcome(lambda: life(jit.trace))
    assert found == outcome(lambda: life(lambda f: f)) or (ways[1] == "triples" and "register it inside" in str(found))


def state(t):
    return t.detach().tolist(), t.requires_grad, t.is_leaf, t.grad_fn is None


def leaf(x):
    return x.detach().requires_grad_()


OWN_LEAVES = {                  # results whose history ends at a leaf that the function makes
    "one": lambda x, y: leaf(x) * 3,
    "view": lambda x, y: leaf(x)[1:],
    "of a captured tensor": lambda x, y: leaf(W) * leaf(W),
    "of a history": lambda x, y: leaf((x * y).exp()).sum(0),
    "beside a result of the argument": lambda x, y: (leaf(x) * 3, y * 2),
    "several": lambda x, y: (leaf(x).sin(), leaf(y).sin()),
    "indices": lambda x, y: leaf(x).max(0)[0],
    "without a gradient": lambda x, y: (y > 0).double().requires_grad_() * 2,
    "function": lambda x, y: Both.apply(leaf(x), leaf(y)),
}
W = ingot.linspace(1.0, 2.0, 3, dtype=ingot.float64).requires_grad_()


@pytest.mark.parametrize("taped", [False, True])
@pytest.mark.parametrize("name", OWN_LEAVES)
def test_results_of_leaves_made_inside_require_grad(name, taped):
    f, traced = OWN_LEAVES[name], jit.trace(OWN_LEAVES[name])
    for call in range(3):
        found = []
        for g in (f, traced):
            x, y = [(ingot.linspace(0.5, 1.5, 3, dtype=ingot.float64) + call).requires_grad_(taped) * k for k in (2, 3)]
            results = g(x, y)
            results = results if type(results) is tuple else (results,)
            found.append([state(t) for t in results])
            found.append([outcome(lambda t=t: t.sum().backward())[0] for t in results])
        assert found[:2] == found[2:], call


HOOKED = {
    "triples": lambda seen: lambda g: g * 3,
    "looks": lambda seen: lambda g: seen.append(plain(g)),
    "retain": None,
}
SECOND = {
    "saved result": lambda x: x / (1 + x * x),
    "result of a result": lambda x: (lambda y: (y, y.tanh(), y * x))(x.exp()),
    "function": lambda x: Both.apply(x, x * 3),
    "hook inside": lambda x: hooked_inside(x / (1 + x * x)),
    "data": lambda x: (x.sin(), set_data(x), x * 2)[::2],
}


def hooked_inside(t):
    t.register_hook(lambda g: g * t)
    return t


def set_data(x):
    x.data = x.data * 0.5 + 0.25


def plain(t):
    """Round the last bits off: a hook that computes with a result makes edges to it while a backward runs, whose gradients are
    added in another order."""
    return [float(f"{x:.12g}") + 0.0 for x in t.tolist()]


def second_order(f, hook, order, write):
    """Return gradients of gradients through hooked results, with what hooks and `retain_grad()` saw."""
    x, seen = ingot.linspace(0.5, 1.5, 3, dtype=ingot.float64).requires_grad_(), []
    results = f(x)
    results = results if type(results) is tuple else (results,)
    if write:
        results[0].add_(1)
    handles = [t.retain_grad() if hook is None else t.register_hook(hook(seen)) for t in results]
    first, = autograd.grad(sum((t * t * (k + 1)).sum() for k, t in enumerate(results)), x, create_graph=True)
    found = [first, *autograd.grad(first.sum(), [x, *results], allow_unused=True, retain_graph=True)]
    if handles[0] is not None:
        handles[0].remove()
    found += autograd.grad((first * first).sum(), [x, results[-1]], allow_unused=True, create_graph=order > 2)
    if order > 2:
        found += autograd.grad((found[-2] * found[-2]).sum(), x)
    return [None if t is None else plain(t) for t in (*found, *[t.grad for t in results])], seen


@pytest.mark.parametrize("hook", HOOKED)
@pytest.mark.parametrize("name", SECOND)
def test_gradients_of_gradients_pass_the_hooks_of_results(name, hook):
    """A gradient of a gradient comes to a result by what a rule saved of it, past the node of the call."""
    for order, write in itertools.product((2, 3), (False, True)):
        f, traced = SECOND[name], jit.trace(SECOND[name])
        expected = outcome(lambda f=f: second_order(f, HOOKED[hook], order, write))
        for _ in range(3):
            assert outcome(lambda f=traced: second_order(f, HOOKED[hook], order, write)) == expected, (order, write)
