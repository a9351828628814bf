"""Gradients in a trace: `requires_grad` that changes, kept gradients, sparse gradients, and hooks of tensors and modules."""

import functools

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim
from ingot.ir.errors import AutogradError
from side_by_side import plain


class Pair:
    """Two networks with optimizers."""

    def __init__(self):
        ingot.manual_seed(0)
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)
        self.opt_a, self.opt_b = optim.SGD(self.a.parameters(), 0.1), optim.Adam(self.b.parameters(), 0.1)

    def out(self, x):
        return self.b(self.a(x))

    def turn(self, on):
        for p in self.b.parameters():
            p.requires_grad = on


def adversarial(n, x):
    n.turn(True)
    fake = n.a(x)
    n.opt_b.zero_grad()
    apart = n.b(fake.detach()).mean() - n.b(x.sum() + fake.detach()).pow(2).mean()
    apart.backward()
    n.opt_b.step()
    n.turn(False)
    n.opt_a.zero_grad()
    loss = n.b(fake).mean()
    loss.backward()
    n.opt_a.step()
    return (apart + loss).detach()


def attack(n, x):
    x.requires_grad = True
    n.a.zero_grad()
    n.out(x).pow(2).mean().backward()
    return x + 0.1 * x.grad.sign()


def attack_and_forget(n, x):
    x.requires_grad_()
    n.out(x).pow(2).mean().backward()
    g = x.grad
    x.requires_grad_(False)
    x.grad = None
    return g


def history_from_before(n, x):
    loss = n.out(x).sum()
    n.turn(False)
    n.turn(True)
    loss.backward()
    return loss.detach()


def history_from_between(n, x):
    n.turn(False)
    loss = n.out(x).sum()
    n.turn(True)
    return loss


def input_with_history(n, x):
    x.requires_grad_()
    return (x * 3).sum()


def cleared_while_off(n, x):
    n.turn(False)
    n.b.zero_grad()
    n.turn(True)
    return n.out(x).sum()


def stopped(n, x):
    loss = n.out(x).sum()
    n.turn(False)
    return loss


def walk(n, x):
    n.turn(False)
    x = x.detach().clone()
    x.requires_grad = True
    for _ in range(3):
        n.out(x).sum().backward()
        x.data.add_(-0.1 * x.grad.data)
        x.grad.zero_()
    n.turn(True)
    return x.detach()


PROGRAMS = {f.__name__: f for f in (adversarial, attack, attack_and_forget, history_from_before, history_from_between,
                                    input_with_history, cleared_while_off, stopped, walk)}


def life(program, wrap):
    """Return results and state of six calls, with a backward after calls whose result has a history."""
    n, seen = Pair(), []
    fn = wrap(lambda x: program(n, x))
    for i in range(6):
        x = ingot.full((2, 3), 0.1 * i)
        y = fn(x)
        if y.requires_grad:
            y.backward(ingot.ones_like(y))
        seen.append(str([(t.tolist(), t.requires_grad, t.grad) for t in (y, x, *n.a.parameters(), *n.b.parameters())]))
        if program is stopped:
            n.turn(True)
    return seen, fn


@pytest.mark.parametrize("name", PROGRAMS)
def test_tensors_start_and_stop_requiring_grad_as_in_eager_mode(name):
    want, _ = life(PROGRAMS[name], lambda f: f)
    got, traced = life(PROGRAMS[name], jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


def kept_within(net, x):
    h = net[0](x)
    h.retain_grad()
    loss = net[1](h.tanh()).sum()
    loss.backward()
    return h.grad, h, loss.detach()


def kept_for_later(net, x):
    h = net[0](x)
    h.retain_grad()
    return h, net[1](h.tanh()).square().sum()


def kept_of_many(net, x):
    h = net[0](x)
    z = h.tanh()
    y = net[1](z)
    for t in (h, z, y):
        t.retain_grad()
    return h, z, y, y.square().mean()


def kept_of_what_nobody_has(net, x):
    h = net[0](x)
    h.retain_grad()
    return h.detach(), net[1](h.tanh()).square().sum()


def not_kept(net, x):
    h = net[0](x)
    z = h.tanh()
    return h, z, net[1](z).square().sum()


def with_another_result(net, x):
    h = net[0](x)
    return h, net[1](h * 2).square().sum(), (x * net[0].weight.sum()).sum()


def doubled_on_the_way(net, x):
    h = net[0](x)
    h.register_hook(lambda g: g * 2)
    h.retain_grad()
    return h, net[1](h.tanh()).square().sum()


def overwritten_on_the_way(net, x):
    h = net[0](x) * 1
    h.retain_grad()
    h.mul_(2)
    return h, net[1](h.tanh()).square().sum()


def look(t):
    return None if t.grad is None else plain(t.grad)


def nothing_more(found):
    return [(look(t), t.retains_grad) for t in found if not t.is_leaf]


def backward(found):
    found[-1].backward()
    return nothing_more(found)


def backward_twice(found):
    found[-1].backward(retain_graph=True)
    once = nothing_more(found)
    found[-1].backward()
    return once, nothing_more(found)


def kept_afterwards(found):
    for t in found:
        if t.requires_grad and not t.is_leaf:
            t.retain_grad()
    return backward(found)


def asked_for(found):
    targets = [t for t in found[:-1] if t.requires_grad]
    if not targets:
        return None
    return [g if g is None else plain(g) for g in ingot.autograd.grad(found[-1], targets, allow_unused=True)]


def of_the_first(found):
    if not found[0].requires_grad:
        return None
    found[0].retain_grad()
    found[0].sum().backward()
    return nothing_more(found)


def of_both(found):
    if not found[0].requires_grad:
        return None
    found[0].retain_grad()
    (found[0].square().sum() + found[-1]).backward()
    return nothing_more(found)


def seen_by_hooks(found):
    seen: list = []
    for i, t in enumerate(found):
        if t.requires_grad and not t.is_leaf:
            t.register_hook(lambda g, i=i: seen.append((i, plain(g))))
    found[-1].backward()
    return sorted(seen)


AFTER = [backward, backward_twice, kept_afterwards, asked_for, of_the_first, of_both, seen_by_hooks]
RETAINED = [kept_for_later, kept_of_many, kept_of_what_nobody_has, not_kept, with_another_result, doubled_on_the_way,
            overwritten_on_the_way]


def life_of_gradients(wrap, program, after):
    ingot.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    step, got = wrap(lambda x: program(net, x)), []
    for i in range(5):
        net.zero_grad()
        found = step(ingot.full((2, 3), i / 2 + 0.1))
        got.append((plain([t.detach() for t in found]), after(found), [look(p) for p in net.parameters()]))
    return got


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("program", RETAINED)
def test_gradients_on_the_way_of_a_later_backward(program, after):
    assert life_of_gradients(jit.trace, program, after) == life_of_gradients(lambda f: f, program, after)


def test_gradients_that_are_kept_within_a_call():
    assert life_of_gradients(jit.trace, kept_within, nothing_more) == life_of_gradients(lambda f: f, kept_within, nothing_more)


class Watching:
    """A hook that no replay can make again."""

    def __call__(self, g):
        return None


def test_a_hook_that_replaces_the_source_of_other_results_is_refused_without_eager_nodes():
    """Its gradient is computed in the middle of compiled code."""
    def lasting(net, x):
        h, z, loss = not_kept(net, x)
        z.register_hook(Watching())
        return h, z * 1, loss

    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    step = jit.trace(lambda x: lasting(net, x))
    for _ in range(2):
        h, _, loss = step(ingot.ones(2, 3))
    h.register_hook(lambda g: g * 2)
    with pytest.raises(AutogradError, match="inside of the function"):
        loss.backward()


def test_hooks_that_replace_gradients_of_final_results():
    def life_of_gradients(wrap):
        net, got = nn.Linear(3, 2), []
        with ingot.no_grad():
            net.weight.fill_(0.5)
            net.bias.zero_()
        step = wrap(lambda x: (net(x), net(x * 2).sum(), net(x * 2).sum() * 3))
        for _ in range(3):
            net.zero_grad()
            y, a, b = step(ingot.ones(2, 3))
            y.register_hook(lambda g: g * 5)
            (y.sum() + a + b).backward()
            got.append(plain(net.weight.grad))
        return got
    assert life_of_gradients(jit.trace) == life_of_gradients(lambda f: f)


def test_arguments_that_retain_their_gradients():
    def life_of_gradients(wrap):
        got = []

        def step(h):
            h.retain_grad()
            return h.tanh().sum()
        step = wrap(step)
        for i in range(4):
            x = ingot.full((3,), i / 2, requires_grad=True)
            h = x * 2
            step(h).backward()
            got.append((look(h), h.retains_grad, look(x)))
        return got
    assert life_of_gradients(jit.trace) == life_of_gradients(lambda f: f)


ROWS, WIDTH, CALLS = 12, 3, 6


def table(cls=nn.Embedding, **options):
    made = cls(ROWS, WIDTH, sparse=True, **options)
    with ingot.no_grad():
        made.weight.copy_(ingot.tensor(np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)))
    return made


def indices(seed, size=6):
    """Return row numbers, some several times; at the fourth call nothing but padding."""
    return ingot.tensor(np.full(size, 3) if seed == 4 else np.random.default_rng(seed).integers(0, ROWS, size))


def entries(g):
    """Return indices and values of a gradient."""
    if g is None or not g.is_sparse:
        return None if g is None else g.numpy().tobytes()
    return g.is_coalesced(), g._indices().tolist(), g._values().numpy().tobytes()


OPTIMIZERS = {
    "SGD": lambda p: ingot.optim.SGD(p, lr=0.1),
    "SGD maximize": lambda p: ingot.optim.SGD(p, lr=0.1, maximize=True),
    "SGD tensor lr": lambda p: ingot.optim.SGD(p, lr=ingot.tensor(0.1)),
    "SGD momentum": lambda p: ingot.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adagrad": lambda p: ingot.optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
    "SparseAdam": lambda p: ingot.optim.SparseAdam(p, lr=0.1),
}
LOSSES = {
    "once": lambda layer, at, mask: ((layer(at) ** 2) * mask).sum(),      # of some rows the gradient is zero
    "twice": lambda layer, at, mask: ((layer(at) ** 2) * mask).sum() + (layer(at.flip(0)) * 3).sum(),
    "with a dense one": lambda layer, at, mask: ((layer(at) ** 2) * mask).sum() + (layer.weight ** 2).sum(),
}
BETWEEN = {
    "nothing": lambda layer: None,
    "coalesce": lambda layer: layer.weight.grad.coalesce()._nnz(),
    "clip": lambda layer: nn.utils.clip_grad_norm_(layer.parameters(), 0.5),
}
CASES = [*[(name, "once", "nothing") for name in OPTIMIZERS], *[("SparseAdam", loss, "nothing") for loss in LOSSES],
         *[("SparseAdam", "twice", between) for between in BETWEEN]]


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("cls", [nn.Embedding, nn.EmbeddingBag])
@pytest.mark.parametrize("optimizer, loss, between", dict.fromkeys(CASES))
def test_a_traced_step_leaves_the_gradient_and_rows_of_an_eager_one(cls, padding_idx, optimizer, loss, between):
    def run(wrap):
        layer, found = table(cls, padding_idx=padding_idx), []
        steps = OPTIMIZERS[optimizer](layer.parameters())

        def step(at, mask):
            steps.zero_grad()
            value = LOSSES[loss](layer, at.reshape(-1, 1) if cls is nn.EmbeddingBag else at, mask)
            value.backward()
            seen = BETWEEN[between](layer)
            steps.step()
            return value, seen

        step = wrap(step)
        for call in range(CALLS):
            value, seen = step(indices(call), ingot.tensor(np.random.default_rng(call).integers(0, 2, (6, 1))))
            seen = seen.item() if isinstance(seen, ingot.Tensor) else seen
            found.append((value.item(), seen, entries(layer.weight.grad), layer.weight.detach().numpy().tobytes()))
        return found, step

    want, _ = run(lambda step: step)
    got, traced = run(ingot.jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 5      # (where numbers of entries are asked for, they are sizes that change)


def test_a_traced_step_does_not_read_the_number_of_entries():
    ingot.eye(2).to_sparse()        # the first sparse tensor of a process is one more reason to record again
    layer = table(padding_idx=3)
    optimizer = ingot.optim.SparseAdam(layer.parameters(), lr=0.1)

    @ingot.jit.trace
    def step(at):
        optimizer.zero_grad()
        (layer(at) ** 2).sum().backward()
        optimizer.step()

    for call in range(CALLS):
        step(indices(call))
    assert step.stats()["compiles"] == 2 and step.stats()["native_calls"] == 1      # (the first call found no gradient)


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("name", ["returned", "of other sizes", "by autograd.grad", "with a history", "after the call"])
def test_gradients_are_those_of_eager_mode(padding_idx, name):
    def run(wrap):
        layer, found = table(padding_idx=padding_idx), []

        def loss(at):
            return (layer(at) ** 3).sum() + layer(at.flip(0)).sum()

        def gradient(at):
            layer.weight.grad = None
            loss(at).backward()
            return layer.weight.grad

        def history(at):
            g, = ingot.autograd.grad(loss(at), layer.weight, create_graph=True)
            return ingot.autograd.grad((g ** 2).sum(), layer.weight)[0]

        functions = {"by autograd.grad": lambda at: ingot.autograd.grad(loss(at), layer.weight)[0], "with a history": history,
                     "after the call": loss}
        function = wrap(functions.get(name, gradient))
        for call in range(CALLS):
            layer.weight.grad = None if name == "after the call" else layer.weight.grad
            g = function(indices(call, 4 + call % 3 if name == "of other sizes" else 6))
            if name == "after the call":
                g.backward()
                g = layer.weight.grad
            found.append((entries(g), entries(layer.weight.grad)))
        return found

    assert run(ingot.jit.trace) == run(lambda function: function)


def test_a_gradient_that_is_returned_is_the_one_that_the_table_has():
    layer = table()

    @ingot.jit.trace
    def gradient(at):
        layer.weight.grad = None
        layer(at).sum().backward()
        return layer.weight.grad

    for call in range(3):
        gradient(indices(call))._values().mul_(2)
    assert layer.weight.grad._values().eq(2).all()


@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("use", ["backward", "step"])
def test_a_sparse_gradient_that_was_there_before_is_refused(use, padding_idx):
    layer = table(padding_idx=padding_idx)
    optimizer = ingot.optim.SGD(layer.parameters(), lr=0.1)

    @ingot.jit.trace
    def step(at):
        if use == "backward":
            layer(at).sum().backward()
        else:
            optimizer.step()

    for dense in (True, False):
        layer.sparse, layer.weight.grad = not dense, None
        layer(indices(0)).sum().backward()
        if dense:
            layer.sparse = True
            step(indices(1))
        else:
            with pytest.raises(ingot.jit.TraceError, match=r"sparse gradient that was there before.*zero_grad"):
                step(indices(1))


def test_sparse_tensors_of_sizes_that_change_are_returned():
    traced = ingot.jit.trace(lambda x: x.to_sparse())
    for rows in (2, 3, 5, 3):
        x = ingot.arange(rows * 2.0).reshape(rows, 2)
        assert traced(x).to_dense().equal(x) and traced(x)._nnz() == rows * 2 - 1


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


def hook_life(kind, register, wrap, outside=False):
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
def test_hooks_store_the_values_of_eager_mode(name):
    case = {**AT_ONCE, **ALONG}[name]
    assert hook_life(*case, jit.trace) == hook_life(*case, lambda fn: fn)


@pytest.mark.parametrize("name", AT_ONCE)
def test_hooks_at_leaves_and_steps_run_after_a_traced_forward(name):
    assert hook_life(*AT_ONCE[name], jit.trace, outside=True) == hook_life(*AT_ONCE[name], lambda fn: fn, outside=True)


@pytest.mark.parametrize("name", ALONG)
def test_hooks_of_a_later_backward_may_store_nothing(name):
    with pytest.raises(jit.TraceError, match=r"hook that runs when backward\(\) comes, after the call, writes to"):
        hook_life(*ALONG[name], jit.trace, outside=True)


def test_a_later_backward_leaves_sets_of_the_function_alone():
    net = nn.Linear(2, 1)
    net.seen, expected = {1}, {1}

    def step(x):
        net.seen.add(2)
        return net(x).sum()

    traced = jit.trace(step)
    for _ in range(4):
        traced(ingot.ones(3, 2)).backward()
        assert net.seen == expected | {2}
        net.seen.discard(2)
    assert traced.stats()["calls"] > traced.stats()["compiles"]


def test_a_global_module_hook_is_noticed():
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


def test_hooks_store_and_read_through_their_modules():
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


def detached(t):
    t.detach_()


# Functions that write to a tensor which requires grad, and leave it another history than that of the write, or none.
WRITERS = {
    "detached": lambda t: detached(t.add_(1)),
    "a part": lambda t: detached((t[:1].mul_(2), t)[1]),
    "twice": lambda t: detached(t.mul_(2).copy_(ingot.zeros(2))),
    "a part as well": lambda t: detached((t.view(2).add_(1), t.mul_(2), t)[2]),
    "with another history": lambda t: t.mul_(3),
    "under no_grad": lambda t: detached(ingot.no_grad()(t.mul_)(2)),
}


@pytest.mark.parametrize("is_argument", [False, True])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("order", [(0, 0, 1, 1, 0), (1, 0, 1, 0, 0), (0, 1, 0, 1)])
def test_a_write_raises_where_the_history_of_the_tensor_does_not_allow_it(order, writer, is_argument):
    def life(wrap):
        w, t, found = ingot.ones(2, requires_grad=True), ingot.zeros(2), []
        fn = wrap(lambda x: WRITERS[writer](x if is_argument else t))
        for is_leaf in order:
            t.detach_()
            t.copy_(ingot.tensor([2.0, 3.0]) if is_leaf else w * 2)
            t.requires_grad_()
            try:
                fn(t if is_argument else w)
                found.append("")
            except AutogradError:
                found.append("raised")
            found += [t.tolist(), t.requires_grad, t.is_leaf]
        return found

    assert life(jit.trace) == life(lambda fn: fn)


def detached_and_again(x):
    y = x * 2
    x.detach_()
    x.requires_grad_()
    return y, x * 3


def test_a_tensor_that_is_detached_and_requires_grad_again_is_a_leaf_or_refused():
    w = ingot.ones(2, requires_grad=True)
    with pytest.raises(jit.TraceError, match="lets it require grad again"):
        jit.trace(detached_and_again)(w * 2)

    def life(wrap):
        t, found = ingot.ones(2, requires_grad=True), []
        fn = wrap(lambda x: detached_and_again(t))
        for i in range(6):
            if i == 4:
                t.detach_()
                t.copy_(w * 2)      # it has a history
            try:
                y, z = fn(w)
            except jit.TraceError:
                assert i >= 4
                return found
            found.append((y.tolist(), t.is_leaf, [g.tolist() for g in ingot.autograd.grad(z.sum(), [t])]))
        return found[:4]

    assert life(jit.trace) == life(lambda fn: fn)
