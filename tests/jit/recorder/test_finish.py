"""Writes in place to arguments whose history goes on: values, versions and gradients are eager's."""

import pytest

import ingot
from ingot import autograd, jit
from ingot.ir.errors import AutogradError
from side_by_side import same_or_refused


def step(f):
    STEPS[f.__name__] = f
    return f


STEPS: dict = {}
LINES = {
    "update": lambda x, w: (x.mul_(w), None)[1],
    "update and use": lambda x, w: x.mul_(2) * w,
    "return it": lambda x, w: x.mul_(w),
    "three writes": lambda x, w: x.mul_(w).add_(w).exp_().sum(),
    "replace": lambda x, w: (x.copy_(w * w), None)[1],
    "clear": lambda x, w: x.zero_() + w,
    "through data": lambda x, w: (x.data.mul_(2), x * w)[1],
    "through detach": lambda x, w: (x.detach().mul_(2), x * w)[1],
    "without history": lambda x, w: (ingot.no_grad()(x.mul_)(2), x * w)[1],
    "two results": lambda x, w: (x.mul_(w) * 3, x.add_(1)),
}
STEPS.update(LINES)


@step
def write_to_a_view(x, w):
    x[1:].mul_(w[1:])
    return x * 2


@step
def write_to_a_reshaped_view(x, w):
    v = x.view(2, 2)
    v.mul_(w.view(2, 2))
    return v.sum(0)


@step
def return_a_view_made_before(x, w):
    v = x[1:]
    x.mul_(w)
    return v


@step
def return_a_view_without_history(x, w):
    x.mul_(w)
    with ingot.no_grad():
        return x[1:], x[:1]


@step
def return_views_with_and_without_history(x, w):
    with ingot.no_grad():
        before = x[1:]
    x.mul_(w)
    after = x[2:]
    with ingot.no_grad():
        return before, after, after[:1]


@step
def write_an_item(x, w):
    x[0] = w[0] * 2
    return x.sum()


@step
def write_its_own_result(x, w):
    y = (x * w).exp()
    x.add_(y)
    return y


@step
def write_what_was_saved(x, w):
    y = (x * w).exp()
    x.mul_(2)
    return y


@step
def keep_the_old_value(x, w):
    y = x.clone()
    x.mul_(w)
    return y * x


ORIGINS = {                     # an argument of a leaf, and what else reads it
    "product": lambda a: (a * 1.5, None),
    "no history": lambda a: (a.detach(), None),
    "leaf": lambda a: (a, None),
    "saved result": lambda a: (a.exp(), None),
    "rescued result": lambda a: (a.sqrt(), None),
    "view outside": lambda a: (lambda x: (x, x[1:3]))(a * 1.5),
    "used before": lambda a: (lambda x: (x, x * x))(a * 1.5),
    "view": lambda a: (a.repeat(2)[2:6], None),
    "view of a base": lambda a: (lambda x: (x[1], x))((a * a.detach()[:, None]).exp()),
    "part": lambda a: (lambda x: (x.unbind(0)[1], x))(a * ingot.ones(3, 1)),
    "split": lambda a: (lambda x: (lambda parts: (parts[0].view(4), parts[1]))(x.split(1)))(a * ingot.ones(2, 1)),
    "transposed": lambda a: (lambda x: (x.t()[2], x))(a[:, None] * ingot.ones(1, 3)),
    "view of a view": lambda a: (lambda x: (lambda v: (v[0], v))(x[1:]))(a * ingot.ones(3, 1)),
    "view without history": lambda a: (lambda x: (x[1], x))(a.detach() * ingot.ones(3, 1)),
}


def outcome(f, origin, call, with_argument):
    a = (ingot.linspace(0.5, 2, 4) + 0.1 * call).requires_grad_(True)
    w = ingot.linspace(0.5, 1.5, 4).requires_grad_(True)
    x, other = origin(a)
    try:
        made = f(x, w)
        made = [t for t in (made if type(made) is tuple else (made,)) if t is not None]
        found = [*made, *([x] if with_argument else []), *([] if other is None else [other])]
        losses = [(t * (i + 1.5)).sum() for i, t in enumerate(found) if t.requires_grad]
        if losses:
            sum(losses).backward()
    except RuntimeError as error:
        return type(error).__name__
    return [t.tolist() for t in (*found, x)], a.grad, w.grad, x.requires_grad, x.is_leaf, x._version


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("name", STEPS)
def test_writes_to_an_argument_are_those_of_eager(name, origin):
    f = STEPS[name]
    for with_argument in (False, True):
        traced = jit.trace(f)
        for call in range(4):
            found = outcome(traced, ORIGINS[origin], call, with_argument)
            expected = outcome(f, ORIGINS[origin], call, with_argument)
            assert str(found) == str(expected), (call, with_argument)


def test_a_captured_tensor_gets_its_new_history_at_each_call():
    def run(wrap):
        a, w = ingot.ones(3, requires_grad=True), ingot.full((3,), 2.0, requires_grad=True)
        state = a * 3
        f = wrap(lambda x: state.mul_(w).add_(x).sum())
        found = [f(ingot.full((3,), float(i))).item() for i in range(4)]
        state.sum().backward()
        return found, a.grad.tolist(), w.grad.tolist()

    assert run(jit.trace) == run(lambda f: f)


def test_a_view_of_a_leaf_is_refused_as_in_eager():
    f = jit.trace(lambda x, w: (x.mul_(w), None)[1])
    for _ in range(2):
        a, w = ingot.ones(4, requires_grad=True), ingot.ones(4, requires_grad=True)
        f(a * 2, w)
    with pytest.raises(RuntimeError, match="a view of a leaf tensor that requires grad was written in place"):
        f(ingot.ones(8, requires_grad=True)[:4], w)


def base_and_view(y, v, w):
    v.mul_(w)
    return y * 2


def view_and_base(y, v, w):
    y.mul_(w)
    return v * 2


def read_write_read(y, v, w):
    before = v * w
    v.add_(before)
    y[1:].mul_(v)
    return before, v[1:], y


def without_history_first(y, v, w):
    with ingot.no_grad():
        v.mul_(2)
    v.mul_(w)
    y.add_(1)
    return v


def under_no_grad(y, v, w):
    with ingot.no_grad():
        v.mul_(w)
    return y * w


PAIRS = {
    "base and row": lambda y: (y, y[0]),
    "row and base": lambda y: (y[0], y),
    "two rows": lambda y: (y[0], y[1]),
    "one row twice": lambda y: (y[0], y[:1]),
    "row of rows": lambda y: (y[1:], y[1:][0]),
    "parts": lambda y: y.unbind(0)[:2],
    "detached": lambda y: (y.detach(), y),
    "base and detached": lambda y: (y, y.detach()),
}
BASES = {"history": lambda a: a * 2, "saved": lambda a: a.exp(), "none": lambda a: a.detach() * 2, "leaf": lambda a: a}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("f", [base_and_view, view_and_base, read_write_read, without_history_first, under_no_grad])
def test_writes_to_arguments_over_one_memory_are_those_of_eager(f, pair, base):
    traced, refused = jit.trace(f), 0
    for call in range(3):
        found = []
        for g in (f, traced):
            a = (ingot.linspace(0.5, 2, 9).view(3, 3) + 0.1 * call).requires_grad_(True)
            w = ingot.linspace(0.5, 1.5, 3).requires_grad_(True)
            y = BASES[base](a)
            first, second = PAIRS[pair](y)
            for t in (first, second):
                if t.requires_grad and not t.is_leaf:
                    t.register_hook(lambda grad: grad * 1.5)
            try:
                made = g(first, second, w)
                made = [t for t in (*(made if type(made) is tuple else (made,)), first, second, y) if t.requires_grad]
                gradients = autograd.grad(sum([(t * (i + 1.5)).sum() for i, t in enumerate(made)]), [a, w], create_graph=True,
                                          allow_unused=True)
                sum([(t * t).sum() for t in gradients if t is not None]).backward()
                ends = [t if t is None else t.tolist() for t in gradients]
            except jit.TraceError:
                refused += 1
                break
            except RuntimeError as error:
                ends = type(error).__name__
            found.append((ends, y.tolist(), [(t.tolist(), t.requires_grad, t.is_leaf, t._version) for t in (first, second)],
                          a.grad, w.grad))
        else:
            assert str(found[0]) == str(found[1]), call
    assert not refused or "detached" in pair


HOOKS = {
    "leaf": lambda x, c: x.register_hook(lambda g: g * 2),
    "computed": lambda x, c: c.register_hook(lambda g: g * 2),
    "after its use": lambda x, c: (x * 2, x.register_hook(lambda g: g * 2))[1],
    "after accumulation": lambda x, c: x.register_post_accumulate_grad_hook(lambda t: None),
    "node": lambda x, c: c.grad_fn.register_prehook(lambda g: None),
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_on_tensors_from_outside_are_refused(name):
    """A later call would not register them. Hooks that are removed again are fine."""
    x, c = ingot.ones(2, requires_grad=True), ingot.ones(2, requires_grad=True) * 2
    with pytest.raises(jit.TraceError, match=r"it registers a hook on a tensor from outside.*; do so outside"):
        jit.trace(lambda x, c: (c * 1, HOOKS[name](x, c), x * c)[2])(x, c)
    jit.trace(lambda x, c: (c * 1, HOOKS[name](x, c).remove(), x * c)[2])(x, c)


def test_detached_arguments_stay_detached():
    f = jit.trace(lambda x: (x.detach_() * 2).requires_grad)
    for _ in range(3):
        x = ingot.ones(2, requires_grad=True) * 2
        assert (f(x), x.requires_grad) == (False, False)


FIRST_WRITES = {                # the first that a function does to a tensor
    "fill_": lambda t, x: t.fill_(0.25),
    "zero_": lambda t, x: t.zero_(),
    "copy_": lambda t, x: t.copy_(x),
    "copy_ of a history": lambda t, x: t.copy_(x * W),
    "item": lambda t, x: t.__setitem__(0, 2.0),
    "mul_": lambda t, x: t.mul_(x),
    "under no_grad": lambda t, x: ingot.no_grad()(t.fill_)(0.25),
    "detached": lambda t, x: t.detach().fill_(0.25),
    "random": lambda t, x: t.uniform_(),
    "masked": lambda t, x: t.masked_fill_(x > 1, 0.5),
    "then detach_": lambda t, x: t.fill_(0.25).detach_(),
    "after detach_": lambda t, x: t.detach_().mul_(2),
    "sets an item after detach_": lambda t, x: t.detach_().__setitem__(0, x[0]),
}
WRITTEN = {
    "plain": lambda w: w.detach() * 2,
    "history": lambda w: w * 2,
    "saved result": lambda w: w.exp(),
    "leaf": lambda w: (w * 2).detach().requires_grad_(),
    "view": lambda w: (w * 2)[:3],
    "twin of a view": lambda w: (w * 2)[:3].detach(),
}
W = ingot.linspace(0.5, 1.5, 3).requires_grad_()


def first_write(f, write, make, captured):
    ingot.manual_seed(3)
    found, views, kept = [], [], make(W)

    def step(t, x):
        write(kept if captured else t, x)
        with ingot.no_grad():
            return (kept if captured else t).view(3, 1)

    step = f(step)
    for call in range(3):
        t = kept if captured else make(W)
        later = (t * t).sum() if t.requires_grad else None
        try:
            views.append((t, step(t, ingot.linspace(0.5, 1.5, 3) + call)))
            t.sum().backward()
            later.backward()
        except Exception as error:
            found.append(type(error).__name__)
        found.append([(x.tolist(), x.requires_grad, x.is_leaf, x._version) for pair in views for x in pair])
        found.append((W.grad, t.grad if t.is_leaf else None))
        W.grad = None
    return str(found)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("origin", WRITTEN)
@pytest.mark.parametrize("name", FIRST_WRITES)
def test_tensors_that_are_written_before_they_are_read(name, origin, captured):
    """They come in with the history and version from before the write."""
    expected, found = [first_write(f, FIRST_WRITES[name], WRITTEN[origin], captured) for f in (lambda f: f, jit.trace)]
    assert found == expected or "TraceError" in found


@pytest.mark.parametrize("viewed", [(), (0,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("make", [lambda w: ingot.ones(2, 3), lambda w: w * 2], ids=["plain", "history"])
@pytest.mark.parametrize("write", [lambda t, w: t.add_(w), lambda t, w: t[0].mul_(w[0]), lambda t, w: None],
                         ids=["add_", "row", "nothing"])
def test_views_keep_the_history_of_a_tensor_that_is_detached_behind_a_write(write, make, viewed):
    """Those from outside. Some calls get tensors with views."""
    def life(wrap):
        def step(t):
            write(t, w)
            t.detach_()

        w, found = ingot.ones(2, 3, requires_grad=True), []
        step = wrap(step)
        for call in range(3):
            t = make(w)
            views = [t[0], t.t()] if call in viewed else []
            step(t)
            w.grad = None
            if views and views[1].requires_grad:
                views[1].sum().backward()
            found.append(([(v.requires_grad, v.tolist()) for v in (t, *views)],
                          None if w.grad is None else w.grad.tolist()))
        return found

    same_or_refused(life, "detaches in place" if viewed else None)


def test_views_cannot_be_detached_in_place_at_any_call():
    f = jit.trace(lambda x: (x.detach_() * 2).requires_grad)
    assert not f(ingot.ones(2))
    with pytest.raises(AutogradError, match="a view cannot be detached in place"):
        f(ingot.ones(4)[:2])


def test_the_whole_of_arguments_over_one_memory_is_asked_whether_it_is_a_view():
    f = jit.trace(lambda part, whole: (whole.exp_(), whole._is_view(), part._is_view())[1:])
    for _ in range(3):
        whole = ingot.ones(2, 3, requires_grad=True) * 2
        assert f(whole[0], whole) == (False, True)


WRITES_TO_VIEWS = {
    "nothing": lambda v, u: None,
    "a number": lambda v, u: v.mul_(2),
    "all": lambda v, u: v.mul_(u),
    "a part": lambda v, u: v[:1].mul_(u[:1]),
    "nothing of it": lambda v, u: v[2:].mul_(u[2:]),
    "an item": lambda v, u: v.__setitem__(0, u[0]),
    "in other memory": lambda v, u: v.detach().add_(1),
}
VIEWS_OF_THEM = {
    "it": lambda x, v: v,
    "a view of it": lambda x, v: v[None],
    "two": lambda x, v: (v, v[:1]),
    "a later one": lambda x, v: x[:2],
    "of both": lambda x, v: (x[:2], v.view_as(v)),
    "a value": lambda x, v: (v * 2, v),
}


@pytest.mark.parametrize("result", VIEWS_OF_THEM)
@pytest.mark.parametrize("write", WRITES_TO_VIEWS)
def test_views_keep_the_history_that_their_base_loses(write, result):
    def life(wrap):
        w, u = ingot.linspace(0.5, 1.5, 3).requires_grad_(), ingot.linspace(-1, 1, 2).requires_grad_()

        def step(x):
            v = x[1:]
            WRITES_TO_VIEWS[write](v, u)
            made = VIEWS_OF_THEM[result](x, v)
            x.detach_()
            return made

        step, found = wrap(step), []
        for _ in range(3):
            x = w * 2
            made = step(x)
            for t in made if type(made) is tuple else (made,):
                gradients = ingot.autograd.grad((t * t).sum(), [w, u], retain_graph=True, allow_unused=True)
                gradients = [g if g is None else g.tolist() for g in gradients]
                found.append((t.tolist(), x.requires_grad, t._base is x, gradients))
        return found

    assert life(jit.trace) == life(lambda f: f)


GIVEN = {
    "computed": lambda w: w * 2,
    "a view": lambda w: (w * 2)[1:],
    "a view of a view": lambda w: (w * 2).view(1, 3)[0][1:],
    "without history": lambda w: (w * 2).detach(),
    "a view without history": lambda w: (w * 2).detach()[1:],
}
MADE_OF_IT = {"itself": lambda x: x, "a view": lambda x: x[1:], "all": lambda x: x.view_as(x), "a value": lambda x: x * 2}
MARKS = {
    "retains": lambda t, seen: t.retain_grad(),
    "hook": lambda t, seen: t.register_hook(lambda g: g * t),
    "looks": lambda t, seen: t.register_hook(lambda g: seen.append(g.tolist())),
    "before the node": lambda t, seen: t.grad_fn.register_prehook(lambda gs: (gs[0] * 2,)),
}


@pytest.mark.parametrize("order", ["write, mark", "mark, write"])
@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("made", MADE_OF_IT)
@pytest.mark.parametrize("given", GIVEN)
def test_marks_on_written_arguments_are_there_at_each_call(given, made, mark, order):
    """Or the function is refused. Backwards through the mark, past it, and of its gradient give what they do in eager code."""
    def life(wrap, returns):
        seen: list = []

        def step(x, u):
            t = MADE_OF_IT[made](x) if order == "mark, write" else None
            if t is not None:
                MARKS[mark](t, seen)
            x.mul_(u)
            if t is None:
                t = MADE_OF_IT[made](x)
                MARKS[mark](t, seen)
            return t if returns else None

        step, found = wrap(step), []
        for call in range(3):
            w, u = ingot.linspace(0.5, 1.5, 3).requires_grad_(), (ingot.ones(1) * (call + 2)).requires_grad_()
            x = GIVEN[given](w)
            try:
                result = step(x, u)
                for t in (x,) if result is None else (x, result):
                    first, = ingot.autograd.grad((t * t).sum(), [u], create_graph=True)
                    found.append((first.tolist(), ingot.autograd.grad((first * first).sum(), [u])[0].tolist()))
                found.append([t.grad if t is None else t.grad.tolist() for t in (x, result) if t is not None and t._retains])
            except jit.TraceError:
                return None
            except Exception as error:
                found.append(type(error).__name__)
        return found, seen

    for returns in (True, False):
        expected, got = life(lambda f: f, returns), life(jit.trace, returns)
        assert got is None or got == expected, returns
