"""Results of a traced function after the call: written, read in several places, differentiated, and leaves that it has made."""

import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain, vec

CALLS = 4


def both(life):
    assert life(jit.trace) == life(lambda f: f)


def by_branch(x):
    e = x.exp()
    return (e, e * e) if x.sum() > 0 else (e, e * 3)


def test_values_saved_for_backward_are_no_writable_results():
    fn = jit.trace(by_branch)
    for _ in range(CALLS):
        x = ingot.ones(3, requires_grad=True)
        e, y = fn(x)
        y.sum().backward(retain_graph=True)
        before = x.grad.clone()
        with ingot.no_grad():
            e.mul_(2)
        x.grad = None
        try:
            y.sum().backward()
        except RuntimeError as error:
            assert "overwritten" in str(error)
        else:
            assert plain(x.grad) == plain(before)


def apart(x, w):
    return (x * w).exp(), (x * w).sin(), x * 2


def together(x, w):
    e = (x * w).exp()
    return e, e.sin(), x + w


@pytest.mark.parametrize("fn", [apart, together])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 1), (2, 0, 0), (1, 2, 0)])
def test_backward_goes_through_each_result_once(fn, order):
    def life(wrap):
        step, seen = wrap(fn), []
        for _ in range(3):
            x, w = ingot.ones(3, requires_grad=True), ingot.ones(3) * 2
            results = step(x, w)
            for i in order:
                try:
                    results[i].sum().backward()
                except RuntimeError as error:
                    seen.append("a second time" in str(error))
                seen.append(plain(x.grad))
        return seen

    both(life)


def test_saved_values_are_freed_with_the_last_result_that_needs_them():
    step = jit.trace(together)
    for _ in range(2):
        e, y, s = step(ingot.ones(3, requires_grad=True), ingot.ones(3))
    s.sum().backward()                          # which reads no saved values
    assert y._node.source.residuals is not None
    y.sum().backward(retain_graph=True)
    assert y._node.source.residuals is not None
    y.sum().backward()
    assert y._node.source.residuals is None
    s.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        e.sum().backward()


SPREAD = {
    "expand": lambda x: (x * 2)[:1].expand(3, 4),
    "expand of one": lambda x: (x * 2).sum().expand(2, 3),
    "windows": lambda x: (x * 2).flatten().unfold(0, 3, 1),
    "strided": lambda x: (x * 2).as_strided((3, 2), (1, 1)),
}


@pytest.mark.parametrize("name", SPREAD)
def test_a_result_that_has_an_element_in_several_places_has_it_at_later_calls(name):
    def life(wrap):
        fn, seen = wrap(SPREAD[name]), []
        for n in (2, 2, 3, 4, 3):
            x = ingot.arange(4.0 * n).reshape(n, 4).requires_grad_()
            y = fn(x)
            y.sum().backward()
            seen.append((plain(x.grad), y.stride(), plain(y)))
            with ingot.no_grad():
                y[0, 0].fill_(7)
            seen.append(plain(y))
        return seen

    both(life)


@pytest.mark.parametrize("given", [lambda w: w.detach(), lambda w: w.data, lambda w: w])
@pytest.mark.parametrize("use", [lambda x: x + 1, lambda x: x.add_(0)])
@pytest.mark.parametrize("grad", [False, True])
def test_a_tensor_from_outside_over_the_memory_of_an_argument_is_itself(grad, use, given):
    w = ingot.ones(3, requires_grad=grad)
    with ingot.no_grad():
        x = given(w)

    @jit.trace
    def fn(x):
        with ingot.no_grad():
            use(x)
        return w, x

    for _ in range(CALLS):
        first, second = fn(x)
        assert first is w and second is x
    assert fn.stats()["compiles"] == 1


@pytest.mark.parametrize("part", [lambda z: z.real, lambda z: z.imag, ingot.view_as_real])
def test_parts_of_complex_numbers_stay_locked(part):
    def life(wrap):
        fn, seen = wrap(lambda x: part(ingot.complex(x, x * 2))), []
        for _ in range(CALLS):
            y = fn(ingot.ones(3))
            seen.append(plain(y))
            with pytest.raises(RuntimeError, match="read-only"):
                y.fill_(1)
        return seen

    both(life)


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


def test_a_history_may_not_lead_to_a_returned_leaf():
    def both(x):
        p = nn.Parameter(x * 2)
        return p, (p * 3).sum()

    with pytest.raises(jit.TraceError, match="hands out a tensor that requires grad"):
        jit.trace(both)(vec(1.0, 2.0, 3.0))


LEAF_HOOKS = {
    "gradient": lambda t: t.register_hook(lambda g: g * 2),
    "reads it": lambda t: t.register_hook(lambda g: g * t),
    "after accumulation": lambda t: t.register_post_accumulate_grad_hook(lambda t: None),
    "removed": lambda t: t.register_hook(lambda g: g * 2).remove(),
}


@pytest.mark.parametrize("hook", LEAF_HOOKS)
@pytest.mark.parametrize("make", ["parameter", "leaf", "leaf over an argument", "parameter over a part"])
def test_hooks_on_returned_leaves_are_refused(make, hook):
    def hooked(x):
        t = MADE[make](x)
        LEAF_HOOKS[hook](t)
        return t

    fn = jit.trace(hooked)
    if hook == "removed":
        assert [seen(fn(x), x) for x in [vec(1.0, 2.0)] * 3] == [seen(hooked(x), x) for x in [vec(1.0, 2.0)] * 3]
    else:
        with pytest.raises(jit.TraceError, match=r"a leaf that it made, with a hook on it.* at .*test_outputs\.py"):
            fn(vec(1.0, 2.0, 3.0))


def without_history(base, view):
    with ingot.no_grad():
        return view(base)


def started(base, view=lambda y: y[1:]):
    return view(base).requires_grad_()


MIXED = {
    "of a result": lambda x: without_history(x * x, lambda y: y[1:]),
    "of a view": lambda x: without_history((x * x)[1:], lambda y: y[:1]),
    "a view of it": lambda x: without_history(x * x, lambda y: y[1:])[None],
    "beside the base": lambda x: (lambda y: (without_history(y, lambda y: y[1:]), y))(x * x),
    "two": lambda x: (lambda y: (without_history(y, lambda y: y[1:]), without_history(y, lambda y: y[:2]), y[1:]))(x * x),
    "of a leaf": lambda x: without_history(ingot.ones(3, requires_grad=True), lambda y: y[1:]),
    "of an argument": lambda x: without_history(x, lambda y: y[1:]),
    "used up": lambda x: (lambda y: (y.sum().backward(), without_history(y, lambda y: y[1:]))[1])(x.exp()),
    "of no history": lambda x: without_history(x.detach() * 2, lambda y: y[1:]),
    "it requires grad": lambda x: started(x.detach() * 2),
    "a view of it, which requires grad": lambda x: started(x.detach() * 2)[None],
    "it requires grad beside its base": lambda x: (lambda y: (started(y), y))(x.detach() * 2),
    "a view, which requires grad, beside its base": lambda x: (lambda y: (started(y)[None], y))(x.detach() * 2),
    "a view, which requires grad, beside another": lambda x: (lambda y: (started(y)[None], y[:2]))(x.detach() * 2),
    "of a value that requires grad": lambda x: (lambda y: (started(y) * 2, y))(x.detach() * 2),
    "of an argument, which requires grad": lambda x: started(x.detach()),
    "a view of it, over an argument": lambda x: started(x.detach())[None],
    "two over an argument": lambda x: (lambda y: (started(y)[None], y))(x.detach()),
    "a leaf over an argument, and its base": lambda x: (lambda y: (started(y), y))(x.detach()),
    "of an argument's data": lambda x: started(x.data)[None],
}


@pytest.mark.parametrize("name", MIXED)
def test_writes_to_views_with_another_history_than_their_base_are_eagers(name):
    def written(run, x):
        made = run(x)
        made, found = made if type(made) is tuple else (made,), []
        for t in made:
            for write in (lambda t: t.add_(1), ingot.no_grad()(lambda t: t.mul_(2))):
                try:
                    write(t)
                except RuntimeError as error:
                    found.append(type(error).__name__)
            found.append((plain(t), t.requires_grad, t.is_leaf, [i for i, b in enumerate(made) if t._base is b], plain(x)))
        return found

    traced = jit.trace(MIXED[name])
    for call in range(3):
        x, y = [ingot.linspace(0.5, 1.5, 3).add_(call).requires_grad_() for _ in range(2)]
        assert written(traced, x) == written(MIXED[name], y), call


def test_attributes_that_cannot_be_rebuilt_are_refused():
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


FUNCTIONS = {
    **{name: (lambda x, name=name: getattr(x, name)(0)) for name in (
        "argmax", "argsort", "cummax", "flatten", "max", "median", "min", "mode", "nanmedian", "quantile", "roll",
        "sort", "squeeze", "sum", "unbind", "unsqueeze")},
    "aminmax": lambda x: x.aminmax(dim=0),
    "max, a part": lambda x: x.max(0)[0],
    "kthvalue": lambda x: x.kthvalue(1, 1),
    "topk": lambda x: x.topk(1, 1),
    "unique": lambda x: x.unique(return_inverse=True),
    "unique rows": lambda x: x.unique(dim=1),
    "runs": lambda x: x.unique_consecutive(return_inverse=True),
    "in other dims": lambda x: x.tile(2, 2),
}


@pytest.mark.parametrize("size", [2, 1])
@pytest.mark.parametrize("taped", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_views_at_each_call_or_at_none(name, taped, size):
    def kinds(x):
        made = FUNCTIONS[name](x)
        return [(t._is_view(), t.requires_grad, t.is_leaf) for t in (made if isinstance(made, tuple) else (made,))]

    x = ingot.linspace(0.1, 0.9, 3 * size).reshape(size, 3).requires_grad_(taped)
    expected = kinds(x)
    assert [kinds(x) for _ in range(3)] == [expected] * 3
    traced = jit.trace(kinds)
    assert [traced(x) for _ in range(3)] == [expected] * 3


def rows(t):
    with ingot.no_grad():
        return t.chunk(2)[1]


NEW_LEAVES = {
    "a view": lambda t: rows(t).requires_grad_(),
    "a view of a view": lambda t: rows(rows(t).t()).requires_grad_(),
    "a view, and itself": lambda t: (lambda v: (v, v))(rows(t).requires_grad_()),
    "a view, and one without": lambda t: (rows(t).requires_grad_(), rows(t)),
    "detached": lambda t: t.detach()[1:].requires_grad_(),
    "a view of something detached": lambda t: rows(t.detach()).requires_grad_(),
    "data": lambda t: t.data[1:].requires_grad_(),
}
INPUTS = {
    "a leaf": lambda: (lambda w: (w, w))(ingot.arange(8.0).reshape(4, 2).requires_grad_()),
    "a view": lambda: (lambda w: (w[:2], w))(ingot.arange(8.0).reshape(4, 2).requires_grad_()),
    "a view without history": lambda: (lambda w: (w[:2], w))(ingot.arange(8.0).reshape(4, 2)),
    "a result": lambda: (lambda y: (y, y))(ingot.ones(4, 2, requires_grad=True) * 2),
}


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", NEW_LEAVES)
def test_new_leaves_over_an_argument_are_views_as_in_eager_code(name, given):
    def life(wrap):
        step, found = wrap(NEW_LEAVES[name]), []
        for _ in range(3):
            x, base = INPUTS[given]()
            made = step(x)
            made = made if isinstance(made, tuple) else (made,)
            found.append([(t._base is base, t._base is None, t.is_leaf, t.requires_grad, t is made[0]) for t in made])
            with ingot.no_grad():
                base.mul_(2)
            (made[0] * 3).sum().backward()
            found.append([(t.tolist(), plain(t.grad), t._version) for t in made])
        return found

    assert life(jit.trace) == life(lambda fn: fn)


WITHOUT_HISTORY = {"detach": lambda a: a.detach(), "data": lambda a: a.data, "a part": lambda a: a.detach()[:1]}
HISTORIES = {"copied": lambda t, a: t.copy_(a[:t.shape[0]]), "multiplied": lambda t, a: t.mul_(a[0]),
             "a part": lambda t, a: t[..., 0].add_(a[0, 0])}
LOOKS = {"item": lambda t: t[0], "unbind": lambda t: t.unbind(0)[0], "all": lambda t: t.view_as(t),
         "turned": lambda t: t.t()}
RETURNED = {"alone": lambda t, u: u, "twice": lambda t, u: (u, u), "before its base": lambda t, u: (u, t),
            "behind its base": lambda t, u: (t, u), "beside a value": lambda t, u: (u, t * 2)}


@pytest.mark.parametrize("returned", RETURNED)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("start", WITHOUT_HISTORY)
def test_a_view_from_no_grad_of_a_tensor_that_got_a_history_has_none(start, history, look, returned):
    def function(a):
        t = WITHOUT_HISTORY[start](a)
        HISTORIES[history](t, a)
        with ingot.no_grad():
            u = LOOKS[look](t)
        return RETURNED[returned](t, u)

    def life(wrap):
        call, found = wrap(function), []
        for i in range(3):
            w = (ingot.arange(6.0).reshape(2, 3) + i).requires_grad_()
            results = call(w * 2)
            results = results if isinstance(results, tuple) else (results,)
            found.append([(t.requires_grad, t.is_leaf, t.tolist()) for t in results])
        return found

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("view", [lambda t: t[:, 0], lambda t: t[:, ::2], lambda t: t.t()[0], lambda t: t.diagonal(),
                                  lambda t: t.t()])
def test_a_view_of_new_memory_that_alone_is_returned_has_memory_without_gaps(view):
    """Its strides tell of the memory that it has, and answers inside of the function are those of eager code."""
    def step(x):
        v = view(x * 2)
        return v, str((v.stride(), v.is_contiguous()))

    traced = jit.trace(step)
    for _ in range(3):
        x = ingot.arange(6.0).reshape(2, 3)
        (v, said), (eager, eagerly_said) = traced(x), step(x)
        assert said == eagerly_said and v.tolist() == eager.tolist()
    assert v.untyped_storage().nbytes() == v.numel() * 4 and v.storage_offset() == 0
    whole = v if v.is_contiguous() else v.t()
    assert whole.is_contiguous() and whole.view(-1).tolist() == whole.reshape(-1).tolist()
