"""Arguments, captured tensors and gradients that share memory. Traced calls agree with eager ones, and so do gradients that are
read afterwards."""

import itertools
import random

import pytest

import ingot
from ingot import jit, nn, optim
from ingot.ir.errors import AutogradError
from outcomes import tried
from side_by_side import numbers, plain, same_or_refused

VIEWS = [lambda b: b[:4], lambda b: b[2:6], lambda b: b[1:9:2], lambda b: b, lambda b: b.view(3, 4)[1],
         lambda b: b.view(3, 4).t(), lambda b: b[4:8].view(2, 2), lambda b: b[11], lambda b: b.view(2, 6)[:, :4],
         lambda b: b[3:4].expand(4)]


def add_the_mean(a, b):
    a.add_(b.mean())
    return b * 2


def write_both(a, b):
    a.mul_(0.5)
    b.add_(a.sum())
    return a.sum() + b.mean()


def read_then_write(a, b):
    y, z = a * 2, b.sum()
    a.sub_(z)
    return y, z, b + 1


def write_the_second(a, b):
    y = a.sum()
    b.zero_()
    return y, a.sum()


def write_a_view(a, b):
    row = a.reshape(-1)[:2]
    row.copy_(b.reshape(-1)[:1].expand(2) * 3)
    return b.mean(), row


def give_back(a, b):
    a.add_(1)
    return a, b, a.reshape(-1)[:1]


def item_of_one(a, b):
    a.mul_(1.5)
    if b.sum() > 20:
        b.neg_()
    return a.sum()


def filled_by_an_operator(a, b):
    ingot.sin(b.reshape(-1)[:1], out=a.reshape(-1)[:1])
    a.clamp_(max=3)
    return b * 1


PROGRAMS = [add_the_mean, write_both, read_then_write, write_the_second, write_a_view, give_back, item_of_one,
            filled_by_an_operator]


def outcome(f, *args):
    try:
        found = f(*args)
    except (ValueError, RuntimeError, ingot.ir.errors.IngotError) as e:
        if isinstance(e, jit.TraceError):
            raise
        return type(e).__name__
    results = found if isinstance(found, tuple) else (found,)
    return plain(found), [[r is a for a in args] for r in results]


@pytest.mark.parametrize("program", PROGRAMS)
def test_parts_of_one_memory(program):
    eager, traced = program, jit.trace(program)
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    for _ in range(40):
        first, second = draw.choice(VIEWS), draw.choice(VIEWS)
        for _ in range(2):
            start = ingot.arange(12.0) * draw.uniform(0.5, 1.5)
            mine, theirs = start.clone(), start.clone()
            got, want = outcome(traced, first(mine), second(mine)), outcome(eager, first(theirs), second(theirs))
            assert got == want and plain(mine) == plain(theirs)


def test_many_parts():
    """Rows are changed one after the other, and then all of them."""
    def step(rows, whole):
        for r in rows:
            r.div_(r.norm() + 1)
        return whole.sum(), rows[0] * 1
    traced = jit.trace(step)
    for i in range(5):
        mine, theirs = (ingot.arange(12.0).view(4, 3) + i for _ in range(2))
        assert plain(traced(list(mine.unbind(0)), mine)) == plain(step(list(theirs.unbind(0)), theirs))
        assert plain(mine) == plain(theirs)
    assert traced.stats()["compiles"] == 1


def test_other_windows_are_other_recordings_and_written_ones_alone():
    def read(a, b):
        return a.sum() + b.sum()

    def written(a, b):
        a.add_(1)
        return b * 1
    for f, most in ((read, 1), (written, 5)):
        traced = jit.trace(f)
        for i in range(5):
            mine, theirs = ingot.arange(12.0), ingot.arange(12.0)
            assert plain(traced(mine[i:i + 3], mine[i + 1:i + 4])) == plain(f(theirs[i:i + 3], theirs[i + 1:i + 4]))
            assert plain(mine) == plain(theirs)
        assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


def test_gradients_beside_them():
    """A parameter comes with data in the same memory."""
    def life(wrap):
        w, got = ingot.ones(3, requires_grad=True), []

        def step(a, b):
            loss = (w * a.detach().clone()).square().sum()
            b.add_(1)
            loss.backward()
            with ingot.no_grad():
                a.sub_(w.grad)
            w.grad = None
            return loss
        step = wrap(step)
        memory = ingot.arange(6.0)
        for _ in range(4):
            got.append((plain(step(memory[:3], memory[2:5])), plain(memory)))
        return got
    assert life(jit.trace) == life(lambda f: f)


@pytest.mark.parametrize("make", [lambda x: (x[:2], x[1:]), lambda x: (x * 1, (x * 1).detach())])
def test_views_with_gradients(make):
    """Gradients are right, or the call is refused."""
    def f(a, b):
        b.mul_(2)
        return a.sum() + b.sum()
    traced = jit.trace(f)
    for _ in range(3):
        x, y = (ingot.ones(3, requires_grad=True) for _ in range(2))
        want = outcome(f, *make(y * 3))
        try:
            assert outcome(traced, *make(x * 3)) == want
        except jit.TraceError as e:
            assert "several tensors" in str(e) or "gradient" in str(e)


BARE = {
    "detach": lambda w: w.detach(),
    "data": lambda w: w.data,
    "a view of that": lambda w: w.detach().view(3),
    "a part of that": lambda w: w.detach()[:2],
    "a leaf": lambda w: w.detach().requires_grad_(),
}
ORDERS = {
    "it first": lambda w, d, x: (d * 1.0, w * x),
    "it last": lambda w, d, x: (w * x, d * 1.0)[::-1],
    "it alone, then both": lambda w, d, x: (d.sum(), d.sum() * w * x),
    "it is given": lambda w, d, x: (d, w * x),
}


@pytest.mark.parametrize("bare", BARE)
@pytest.mark.parametrize("order", ORDERS)
def test_gradients_reach_the_tensor_that_requires_them(bare, order):
    def life(wrap):
        w = ingot.ones(3).requires_grad_()
        d, seen = BARE[bare](w), []
        fn = wrap(lambda x: ORDERS[order](w, d, x))
        for i in range(5):
            results = fn(ingot.full((3,), i + 1.0))
            results[1].sum().backward()
            seen.append(numbers([*results, w.grad, w, d, results[0].requires_grad]))
            if i == 2:
                w.detach().mul_(2.0)
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("order", ORDERS)
def test_a_tensor_that_starts_to_require_grad_is_noticed(order):
    def life(wrap):
        w = ingot.ones(3).requires_grad_()
        d, seen = w.detach(), []
        fn = wrap(lambda x: ORDERS[order](w, d, x))
        for i in range(9):
            if i % 3 == 0 and i:
                d.requires_grad_(i == 3)
            results = fn(ingot.ones(3))
            sum(r.sum() for r in results if r.requires_grad).backward()
            seen.append(numbers([w.grad, d.grad]))
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_a_step_that_reads_weights_through_their_data_first():
    def life(wrap):
        net = nn.Linear(2, 2)
        with ingot.no_grad():
            for p in net.parameters():
                p.fill_(1.0)
        live = [p.detach() for p in net.parameters()]
        mean = [p.clone() for p in live]
        opt, seen = optim.SGD(net.parameters(), lr=0.1), []

        def step(x):
            for m, p in zip(mean, live):
                m.lerp_(p, 0.5)
            opt.zero_grad()
            net(x).sum().backward()
            opt.step()

        step = wrap(step)
        for _ in range(4):
            step(ingot.ones(1, 2))
            seen.append(numbers([*mean, *live, *net.parameters()]))
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_a_step_of_two_parameters_over_one_weight():
    def life(wrap):
        w, v = ingot.ones(3).requires_grad_(), nn.Parameter(ingot.zeros(3))
        v.data = w.data
        opt, seen = optim.SGD([w, v], lr=0.1), []

        def step(x):
            opt.zero_grad()
            (w * x + v * 2 * x).sum().backward()
            opt.step()
            return v * 1

        step = wrap(step)
        for _ in range(4):
            seen.append(numbers([step(ingot.ones(3)), w.grad, v.grad, w, v]))
            v.requires_grad_(len(seen) != 2)
            seen.append(v.requires_grad)
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_arguments_over_one_memory():
    def life(wrap):
        w, seen = ingot.ones(3).requires_grad_(), []
        y = w * 2
        fn = wrap(lambda d, w: d * 3 + w * 2)
        for _ in range(3):
            for pair in ((w.detach(), w), (w, w.detach()), (w, w), (w.data, w), (y, y), (y.detach(), y), (y, y.view(3))):
                fn(*pair).sum().backward(retain_graph=True)
                seen.append(w.grad.tolist())
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def turns(w, x):
    w.requires_grad_(False)
    return x * 2


def turns_an_argument(w, x):
    x.requires_grad_(True)
    return w.detach() * x


@pytest.mark.parametrize("fn", [turns, turns_an_argument])
def test_tensors_that_require_grad_already_are_noticed(fn):
    def life(wrap):
        w, seen = ingot.ones(2).requires_grad_(), []
        call = wrap(lambda x: fn(w, x))
        for begins in (False, False, True, True, False, True):
            w.requires_grad_(begins)
            x = ingot.ones(2).requires_grad_(not begins)
            y = call(x)
            seen.append((w.requires_grad, x.requires_grad, y.requires_grad))
        return seen

    assert life(jit.trace) == life(lambda f: f)


def writes_what_it_holds(w, x):
    w.add_(1)
    return x * 2


def writes_an_argument(w, x):
    x.add_(1)
    return w * 2


@pytest.mark.parametrize("fn", [writes_what_it_holds, writes_an_argument])
def test_memory_that_arguments_come_to_share(fn):
    def life(wrap):
        w, seen = ingot.zeros(3), []
        call, other = wrap(lambda x: fn(w, x)), ingot.zeros(3)
        for x in (other, ingot.zeros(3), other, ingot.zeros(3), ingot.zeros(3)):
            seen.append(numbers([call(x), x, w]))
            w.data = x
            seen += [numbers([call(x), x, w]), numbers([call(other), other, w])]
        return seen

    assert life(jit.trace) == life(lambda f: f)


LEAVES = {"turned": lambda b: b.t(), "rows": lambda b: b[1:], "columns": lambda b: b[:, 1:3], "a row": lambda b: b[1],
          "other dims": lambda b: b.view(2, 6), "a diagonal": lambda b: b.diagonal(),
          "other bits": lambda b: b.view(ingot.float32)}
LOSSES = {"it": lambda p: (p * p).sum(), "a view of it": lambda p: (p[0] * p[-1]).sum() + p.reshape(-1)[1] ** 2,
          "it twice": lambda p: (p * p.detach()).sum()}


@pytest.mark.parametrize("view", LEAVES)
@pytest.mark.parametrize("loss", LOSSES)
def test_leaves_that_are_views_are_trained(view, loss):
    def life(wrap):
        base = ingot.arange(12.0).view(3, 4).view(ingot.int32 if view == "other bits" else ingot.float32)
        p, seen = LEAVES[view](base).requires_grad_(), []
        optimizer = optim.SGD([p], lr=0.125, momentum=0.5)

        def step(scale):
            optimizer.zero_grad()
            (LOSSES[loss](p) * scale).backward()
            optimizer.step()
            return p.detach().clone()

        call = wrap(step)
        for i in range(4):
            seen.append(numbers([call(ingot.tensor(i + 0.5)), p, p.grad, base]))
            if i == 1:
                base.copy_(base.flip(0))
        return seen

    assert life(jit.trace) == life(lambda f: f)


class State:
    """Two leaves, their gradients, and tensors that share memory with them."""

    def __init__(self, begin):
        self.w, self.v = [ingot.tensor([1.0, 2.0, 3.0]).requires_grad_() for _ in range(2)]
        self.flat, self.other = ingot.ones(2, 3), ingot.ones(3)
        begin(self)

    def numbers(self):
        return numbers([self.w.grad, self.v.grad, self.flat, self.other])


def parts_of_one(s):
    s.w.grad, s.v.grad = s.flat[0], s.flat[1]


def one_for_both(s):
    s.w.grad = s.v.grad = s.other


def reached_otherwise(s):
    s.w.grad, s.v.grad = s.other, ingot.zeros(3)


def a_view_is_kept(s):
    s.w.grad, s.v.grad = ingot.ones(3), ingot.zeros(3)
    s.other = s.w.grad[:]


def of_their_own(s):
    s.w.grad, s.v.grad = ingot.ones(3), ingot.zeros(3)


def none(s):
    """Leave all gradients None."""


BEGINS = {"parts of one": parts_of_one, "one for both": one_for_both, "reached otherwise": reached_otherwise,
          "a view is kept": a_view_is_kept, "of their own": of_their_own, "none": none}


def adds_up(s, x):
    s.w.grad = x[0] if s.w.grad is None else s.w.grad + x[0]


def adds_up_parts(s, x):
    g, = ingot.autograd.grad((x * s.w).mean(), s.w)
    s.w.grad = g if s.w.grad is None else (s.w.grad + g)[:]


def reads_all(s, x):
    total = s.flat.sum() + s.other
    if s.w.grad is not None:
        total = total + s.w.grad
    s.w.grad = total * x[0]
    return total


def backward(s, x):
    (s.w * s.v * x).sum().backward()
    return s.w.grad + s.other


def writes(s, x):
    if s.w.grad is None or s.v.grad is None:
        return None
    s.w.grad.mul_(2)
    s.v.grad.add_(s.w.grad)
    return s.v.grad + s.other


def swaps(s, x):
    s.w.grad, s.v.grad = s.v.grad, s.w.grad
    return s.w.grad


BODIES = {"adds up": adds_up, "adds up parts": adds_up_parts, "reads all": reads_all, "backward": backward, "writes": writes,
          "swaps": swaps}


def replaced(s, i):
    s.w.grad = ingot.full((3,), float(i))


def into_the_buffer(s, i):
    if i == 1:
        s.w.grad = s.flat[i % 2]
    if i == 3:
        s.v.grad = s.other


BETWEEN = {"nothing": lambda s, i: None, "replaced": replaced, "into the buffer": into_the_buffer}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("begin", BEGINS)
def test_gradients_are_those_of_eager_calls(begin, body, between):
    def life(wrap):
        s, seen = State(BEGINS[begin]), []
        fn = wrap(lambda x: BODIES[body](s, x))
        for i in range(6):
            result = fn(ingot.full((2, 3), i + 1.0))
            seen.append((None if result is None else result.tolist(), s.numbers()))
            BETWEEN[between](s, i)
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


def test_the_gradient_of_an_argument_that_is_reached_otherwise():
    def life(wrap):
        kept = {"g": ingot.ones(3)}
        fn, seen = wrap(lambda x: x.grad + kept["g"]), []
        for i in range(5):
            x = ingot.ones(3).requires_grad_()
            x.grad = kept["g"] if i < 2 else ingot.full((3,), float(i))
            seen.append(fn(x).tolist())
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("body", ["adds up", "adds up parts", "backward"])
def test_views_as_gradients_take_few_recordings(body):
    s = State(none)
    fn = jit.trace(lambda x: BODIES[body](s, x))
    for _ in range(8):
        fn(ingot.ones(2, 3))
    assert len(fn.stats()["misses"]) <= 3


def test_a_history_that_ends_in_memory_of_several_arguments():
    def fn(a, part):
        a.exp_()
        a.detach_()

    traced = jit.trace(fn)
    for _ in range(4):
        a = ingot.ones(2, 3, requires_grad=True) * 2
        part = a.split(1)[1]
        traced(a, part)
        assert not a.requires_grad and a.is_leaf and part.requires_grad


@pytest.mark.parametrize("change", [lambda a: a.t_(), lambda a: a.resize_(1), lambda a: setattr(a, "data", a.data * 2)])
def test_memory_of_several_arguments_that_is_written_and_lost_is_refused(change):
    def fn(a, part):
        part.mul_(1.5)
        change(a)

    with pytest.raises(jit.TraceError, match="several tensors"):
        a = ingot.ones(2, 3)
        jit.trace(fn)(a, a[0])


above = ingot.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


def without_history(view):
    def made(t):
        with ingot.no_grad():
            return view(t)

    return made


BASES = {
    "plain": lambda: ingot.tensor([1.0, 2.0, 3.0, 4.0]),
    "history": lambda: above * 2,
    "leaf": lambda: ingot.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True),
    "data": lambda: ingot.tensor([1.0, 2.0, 3.0, 4.0]).data,
}
ALIASES = {
    "itself": lambda t: t,
    "data": lambda t: t.data,
    "detached": lambda t: t.detach(),
    "view": lambda t: t.view(-1),
    "slice": lambda t: t[:],
    "data of data": lambda t: t.data.data,
    "view of data": lambda t: t.data[:],
    "data of view": lambda t: t[:].data,
    "view without history": without_history(lambda t: t[:]),
    "view as itself": lambda t: t.view_as(t),
    "strided": lambda t: t.as_strided((4,), (1,)),
    "view of detached": lambda t: t.detach()[:],
    "another": lambda t: t.detach().clone(),
}


def written_behind_a_square(a, b):
    squared = a * a
    b.mul_(2)
    return squared


def written_without_history(a, b):
    squared = a * a
    with ingot.no_grad():
        b.mul_(2)
    return squared


USES = {
    "read": lambda a, b: a * 2 + b,
    "first written": lambda a, b: [a.mul_(2), b * 1][1],
    "second written": lambda a, b: [b.mul_(2), a * 1][1],
    "written behind a square": written_behind_a_square,
    "written without history": written_without_history,
    "is view of the other": lambda a, b: a * (2 if b._base is a else 3),
    "is no view": lambda a, b: a * (2 if b._base is None else 3) * (2 if b.is_leaf else 3),
    "requires grad": lambda a, b: a * (2 if b.requires_grad else 3),
    "returned": lambda a, b: b,
    "slice": lambda a, b: b[:2],
    "square": lambda a, b: b * b,
}


def life_of_aliases(wrap, use, base, aliases) -> list:
    use, found = wrap(use), []
    for alias in aliases:
        a = BASES[base]()
        b = ALIASES[alias](a)
        saved = [(a * a) if a.requires_grad else a * above, b * above]
        try:
            made = use(a, b)
        except jit.TraceError:
            raise
        except Exception as error:
            found.append((type(error).__name__, str(error)))
            continue
        found.append([[(t.tolist(), t.requires_grad, t.is_leaf, t._version, t._base is None, t._base is a, t is a, t is b)
                       for t in (a, b, made)], [gradients_above(t) for t in (*saved, made)]])
    return found


def gradients_above(t):
    above.grad = None
    try:
        t.sum().backward(retain_graph=True)
    except AutogradError as error:
        return str(error).partition(" ")[0]
    return None if above.grad is None else above.grad.tolist()


@pytest.mark.drawn
@pytest.mark.parametrize("first, then", [*itertools.permutations(ALIASES, 2)])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("use", USES)
def test_two_arguments_over_one_memory_count_by_the_way_they_share_it(use, base, first, then):
    aliases = first, first, then, then, first
    try:
        found = life_of_aliases(jit.trace, USES[use], base, aliases)
    except jit.TraceError as error:
        assert ("memory that came in as several tensors" if "written" in use else "the attribute _base") in str(error)
    else:
        assert found == life_of_aliases(lambda f: f, USES[use], base, aliases)


WRITTEN = {name: alias for name, alias in ALIASES.items() if name not in ("strided", "another")}


@pytest.mark.parametrize("first, then", [*itertools.permutations(WRITTEN, 2)])
def test_an_argument_that_is_written_counts_by_whether_writes_are_checked(first, then):
    def life(wrap):
        double, found = wrap(lambda t: [t.mul_(2), None][1]), []
        for alias in (first, first, then, then, first):
            t = BASES["plain"]()
            saved = t * above
            double(ALIASES[alias](t))
            found.append((t._version, gradients_above(saved)))
        return found

    assert life(jit.trace) == life(lambda f: f)


@pytest.mark.parametrize("writes", [lambda v: v.add_(1), lambda v: v.copy_(v * 2), lambda v: None])
def test_views_of_one_of_several_tensors_over_written_memory_keep_their_base(writes):
    w = ingot.ones(2, 3, requires_grad=True)

    def step(a, b, c, d):
        v = b.squeeze()
        writes(v)
        return v, d

    lives = []
    for function in (step, jit.trace(step)):
        found = []
        for _ in range(4):
            a = w.diagonal()
            b, d = a.data, a[1:]
            c = b.data
            made = function(a, b, c, d)
            found.append([([t._base is x for x in (a, b, c, d, w)], [t is x for x in (b, d)], t.tolist()) for t in made])
        lives.append(found)
        w.data.fill_(1.0)
    assert lives[0] == lives[1]


# Data of a view beside the view and its base: `.data` has no base.

LEAF = [[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]]


def beside(view, base):
    """Return a view of a tensor, data of it, and the tensor."""
    return view, view.data, base


DATA = {
    "of a view": lambda w: beside(w.unsqueeze(0), w), "of a row": lambda w: beside(w[0], w),
    "of another view": lambda w: (w.unsqueeze(0), w.unsqueeze(0).data, w),
    "of a part of a copy": lambda w: beside(w.detach().clone()[0], w),
    "of a copy": lambda w: (lambda b: beside(b.view(2, 3), b))(w.detach().clone()),
    "of a result": lambda w: (lambda b: beside(b.view(2, 3), b))(w * 1),
    "detached": lambda w: (lambda b: (lambda v: (v, v.detach(), b))(b.view(2, 3)))(w * 1),
    "of the base": lambda w: (lambda b: (b.view(2, 3), b.data, b))(w * 1),
}
DATA_WRITES = {
    "number": lambda d, p, u: d.sub_(u), "base": lambda d, p, u: d.sub_(p), "result": lambda d, p, u: d.mul_(p.exp()),
    "part": lambda d, p, u: d.view(-1)[0:1].mul_(u.sum()), "no history": lambda d, p, u: d.mul_(2),
}


@pytest.mark.parametrize("write", DATA_WRITES)
@pytest.mark.parametrize("data", DATA)
def test_data_of_a_view_get_the_history_of_a_write(data, write):
    def life(wrap):
        w, u = (ingot.tensor(x, dtype=ingot.float64, requires_grad=True) for x in (LEAF, LEAF[0]))
        fn, found = wrap(lambda v, d, p: [DATA_WRITES[write](d, p, u), None][1]), []
        for _ in range(4):
            given = DATA[data](w)
            tried(lambda: fn(*given))
            found.append([(t.requires_grad, t.is_leaf, t._version, t.tolist()) for t in given])
            w.grad = u.grad = None
            for t in given:
                found.append(tried(lambda: t.square().sum().backward(retain_graph=True)))
            found.append([None if t.grad is None else t.grad.tolist() for t in (w, u)])
        return found

    same_or_refused(life, "memory that came in as several tensors")


# Saved values, and a later write that gradients do not notice.

SAVED = {
    "data": lambda x, v: (v.sin(), x.data.add_(1)), "data of a view": lambda x, v: (v.sin(), x.t().data.add_(1)),
    "own data": lambda x, v: (v.sin(), v.data.add_(1)), "data of a row": lambda x, v: (v.sin(), x[1].data.add_(1)),
    "detached": lambda x, v: (v.sin(), x.t().detach().add_(1)), "product": lambda x, v: (v * v, x.t().data.add_(1)),
    "base": lambda x, v: (x.sin(), x.t().data.add_(1)), "data of the base": lambda x, v: (x.sin(), x.data.add_(1)),
    "result": lambda x, v: (lambda y: (y, y.data.add_(1)))(v.exp()),
    "inner": lambda x, v: (lambda z: (z.sin(), z.t().data.add_(1)))(x * 2),
    "view of inner": lambda x, v: (lambda z: (z[1].sin(), z.t().data.add_(1)))(x * 2),
}
GIVEN = {
    "parts": lambda w: (lambda x: (x, x.unbind(0)[1]))(w.clone()), "row": lambda w: (lambda x: (x, x[1]))(w.clone()),
    "row of a leaf": lambda w: (w, w[1]), "two leaves": lambda w: (w.detach().clone().requires_grad_(), w),
}


def second_order(result, inputs, w):
    """Return gradients of a result, and gradients of these."""
    first = ingot.autograd.grad(result.square().sum(), inputs, create_graph=True, allow_unused=True)
    return *first, *ingot.autograd.grad(sum(g.square().sum() for g in first if g is not None), [w], allow_unused=True)


GRADIENTS = {
    "first": lambda r, x, v, w: ingot.autograd.grad(r.sum(), [w, x, v], allow_unused=True),
    "second": lambda r, x, v, w: second_order(r, [x, v], w), "second of a leaf": lambda r, x, v, w: second_order(r, [w], w),
}


@pytest.mark.parametrize("gradients", GRADIENTS)
@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize("given", GIVEN)
def test_gradients_read_what_saved_memory_holds_by_then(given, saved, gradients):
    """Arguments over one memory join at the first write to it, and views of what was saved go on from the new memory."""
    def life(wrap):
        w = ingot.tensor(LEAF, dtype=ingot.float64, requires_grad=True)
        fn, found = wrap(lambda x, v: SAVED[saved](x, v)[0]), []
        for _ in range(3):
            x, v = GIVEN[given](w)
            made = tried(lambda: GRADIENTS[gradients](fn(x, v), x, v, w))
            found.append([g if g is None or isinstance(g, str) else numbers(g) for g in made])
        return found

    assert life(jit.trace) == life(lambda fn: fn)
