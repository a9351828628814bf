"""Writes of a traced function: every call leaves the state that eager code leaves, or the function is refused."""

import array
import collections
import contextlib
import copy
import functools
import io
import itertools
import operator
import queue
import sys
import textwrap
import types

import pytest

import ingot
from ingot import jit, nn
from ingot.jit import TraceError
from outcomes import outcome
from side_by_side import plain


class Meter:
    total = 0

    def __init__(self):
        self.n, self.seen = 0, []

    def __call__(self, v):
        type(self).total += v
        return v

    def set(self, name, v):
        setattr(self, name, v)

    def add(self, v):
        self.seen.append(v)


class Names(dict):
    """A dictionary of a class of its own."""


def by_globals():
    space: dict = {"n": 0}
    exec("def fn(x, i):\n    globals()['n'] = i\n    return x", space)
    return space["fn"], lambda: space["n"]


def by_import():
    module = types.ModuleType("written_by_a_trace")
    module.n = 0  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    space: dict = {}
    exec("def fn(x, i):\n    import written_by_a_trace as w\n    w.n += i\n    return x", space)
    return space["fn"], lambda: module.n


def redirected():
    out = io.StringIO()

    def fn(x, i):
        with contextlib.redirect_stdout(out):
            print("step", i, x.sum().item())
        return x

    return fn, out.getvalue


def written(make, *given):
    """A program of a state that is made once, the code that writes to it, and what is seen of it."""
    def program():
        state = make()

        def fn(x, i):
            given[0](state, x, i)
            return x

        return fn, lambda: given[1](state)
    return program


def table_of(m):
    return len(m._modules), len(m._forward_hooks), sorted(m._buffers), [len(c._forward_hooks) for c in m.children()]


def hooked(m, x, i):
    handle = m.register_forward_hook(lambda m, a, o: o * 2)
    m(x)
    handle.remove()


def first_buffer(m, x, i):
    if not hasattr(m, "kept"):
        m.register_buffer("kept", ingot.zeros(3))
    m.kept += x


PROGRAMS = {
    "globals()": by_globals, "an imported module": by_import, "a redirected print": redirected,
    "a dictionary of a class": written(Names, lambda d, x, i: d.update(a=i), dict),
    "a list of a class": written(lambda: type("L", (list,), {})(), lambda s, x, i: s.append(i), list),
    "a partial": written(list, lambda s, x, i: functools.partial(s.append)(i), list),
    "a bound builtin": written(list, lambda s, x, i: list(map(s.append, [i])), list),
    "an operator": written(lambda: [0], lambda s, x, i: operator.setitem(s, 0, i), list),
    "a file": written(io.StringIO, lambda s, x, i: s.write("a"), io.StringIO.getvalue),
    "lines of a file": written(io.StringIO, lambda s, x, i: s.writelines(["a"]), io.StringIO.getvalue),
    "a print to a file": written(io.StringIO, lambda s, x, i: print(i, x[0].item(), file=s), io.StringIO.getvalue),
    "a queue": written(queue.Queue, lambda s, x, i: s.put(i), queue.Queue.qsize),
    "a simple queue": written(queue.SimpleQueue, lambda s, x, i: s.put(i), queue.SimpleQueue.qsize),
    "an attribute": written(Meter, lambda s, x, i: setattr(s, "n", s.n + i), lambda s: s.n),
    "an attribute of a name": written(Meter, lambda s, x, i: s.set("n", i), lambda s: s.n),
    "attributes by vars()": written(Meter, lambda s, x, i: vars(s).update(n=i), lambda s: s.n),
    "a class": written(Meter, lambda s, x, i: s(i), lambda s: type(s).__dict__["total"] and s.n),
    "a list of an object": written(Meter, lambda s, x, i: s.add(i), lambda s: list(s.seen)),
    "a tensor's attribute": written(lambda: ingot.ones(2), lambda s, x, i: setattr(s, "note", i), lambda s: s.note),
    "a counter": written(collections.Counter, lambda s, x, i: s.update("a"), dict),
    "a deque": written(collections.deque, lambda s, x, i: s.append(i), list),
    "an array": written(lambda: array.array("d", [0]), lambda s, x, i: s.__setitem__(0, i), array.array.tolist),
    "an iterator": written(itertools.count, lambda s, x, i: next(s), repr),
    "layers": written(lambda: nn.Sequential(nn.ReLU()), lambda s, x, i: s.append(nn.ReLU()), table_of),
    "a hook": written(nn.ReLU, lambda s, x, i: s.register_forward_hook(lambda m, a, o: o), table_of),
    "a hook that is removed": written(nn.ReLU, hooked, table_of),
    "a hook of a child": written(lambda: nn.Sequential(nn.ReLU()), lambda s, x, i: hooked(s[0], x, i), table_of),
    "a buffer, once": written(nn.Identity, first_buffer, lambda s: (table_of(s), s.kept.tolist())),
}


@pytest.mark.parametrize("changes", [False, True], ids=["same-number", "numbers"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_call_leaves_the_state_of_eager_code(name, changes):
    def life(wrap):
        fn, seen = PROGRAMS[name]()
        fn, found = wrap(fn), []
        for i in range(1, 6):
            fn(ingot.ones(3) * i, i if changes else 1)
            found.append(seen())
        return found

    Meter.total = 0
    want = life(lambda f: f)
    Meter.total = 0
    try:
        got = life(jit.trace)
    except TraceError as error:
        assert "this function cannot be traced: it " in str(error) or "while this function was recorded" in str(error)
    else:
        assert got == want


# Writes to objects that another function hands on. The body reads and writes `c`, `l` and what `get()` and `many()` give.

SETUP = """
class C:
    all = 0
    def __init__(self, w):
        self.w, self.n, self.seen = w, 0, []
    def up(self): self.n += 1
    def count(self): type(self).all += 1
    def put(self, v): self.w = v
class R:
    @property
    def p(self): return c
c, l, r = C(2.0), [C(1.0), C(2.0)], R()
d = {'a': c}
def get(): return c
def many(): return l[:]
"""

BODIES = {
    "store": "get().w = 3.0\nreturn x * 2",
    "count": "get().n += 1\nreturn x * 2",
    "method": "get().up()\nreturn x * get().n",
    "by a variable": "k = get()\nk.n = k.n + 1\nreturn x * k.n",
    "tensor": "get().w = x * 2\nreturn x + 1",
    "tensor by a method": "get().put(x * 2)\nreturn x + 1",
    "tensor that the next call reads": "k = get()\ny = x * k.w\nk.put(y)\nreturn y",
    "in a loop": "for k in many(): k.n += 1\nreturn x",
    "methods in a loop": "for k in many(): k.up()\nreturn x",
    "list": "get().seen.append(1)\nreturn x * len(get().seen)",
    "numbers in a list": "get().seen.append(float(x.sum()))\nreturn x",
    "property": "r.p.n += 1\nreturn x * r.p.n",
    "new attribute": "get().z = 1\nreturn x * 2",
    "attribute that is new at first": "k = get()\nk.z = getattr(k, 'z', 0) + 1\nreturn x * k.z",
    "deleted and set": "k = get()\nif hasattr(k, 'q'): del k.q\nk.q = 1\nreturn x",
    "setattr": "setattr(get(), 'n', get().n + 1)\nreturn x * get().n",
    "vars": "vars(get())['n'] += 1\nreturn x * get().n",
    "in a dictionary": "d.get('a').n += 1\nreturn x * d['a'].n",
    "copy": "import copy\nk = copy.copy(c)\nk.n += 1\nreturn x * k.n",
    "swapped": "a, b = many()\na.w, b.w = b.w, a.w\nreturn x * a.w + b.w",
    "a variable of an inner function's maker": "k = get()\ndef up(): k.n += 1\nup()\nreturn x * k.n",
    "a variable of a comprehension's maker": "k = get()\nk.n += 1\nreturn x * sum([k.n * i for i in range(3)])",
    "class": "C.all += 1\nreturn x * get().all",
    "class of an object": "get().count()\nreturn x * C.all",
    "class of an object, new there": "kind = type(get())\nkind.w = x * 2\nreturn x",
}


@pytest.mark.parametrize("names", [{}, {"__name__": f"{__name__}.handed_on"}], ids=["no module", "module"])
@pytest.mark.parametrize("name", BODIES)
def test_objects_passed_on_by_functions(name, names):
    def life(wrap):
        space: dict = dict(names)
        exec(SETUP + "def fn(x):\n" + textwrap.indent(BODIES[name], "    "), space)
        traced, found = wrap(space["fn"]), []
        for i in range(5):
            result = traced(ingot.ones(2) * (i + 1)).tolist()
            held = [{k: v.tolist() if isinstance(v, ingot.Tensor) else list(v) if type(v) is list else v
                     for k, v in vars(o).items() if not callable(v) and not k.startswith("_")}
                    for o in (space["C"], space["c"], *space["l"])]
            found.append((result, held))
        return found, traced

    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 5, traced.stats()["misses"]


@pytest.mark.parametrize("does", [False, True])
def test_an_attribute_that_the_class_has_may_be_written_or_not(does):
    class Counter:
        count = 0

    counter = Counter()

    @jit.trace
    def step(x):
        if does:
            counter.count += 1
        return x * 2

    for i in range(5):
        assert step(ingot.ones(2) * i).tolist() == [2.0 * i] * 2
    assert (counter.count, Counter.count, vars(counter)) == ((5, 0, {"count": 5}) if does else (0, 0, {}))
    assert step.stats()["compiles"] <= 2


def in_no_grad(fn):
    """`fn` with gradients switched off."""
    return ingot.no_grad()(fn)


@pytest.mark.parametrize("over", [
    lambda w: w.detach(), lambda w: w.data, lambda w: w.detach().view(2, 2), lambda w: w.detach()[1:], lambda w: w.data[:2],
    in_no_grad(lambda w: w.view(2, 2)), in_no_grad(lambda w: w[1:].detach()),
    lambda w: w.view(2, 2), lambda w: w[1:].view(3, 1),
    in_no_grad(ingot.enable_grad()(lambda w: w.view(2, 2))), lambda w: w], ids=range(11))
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("captured", [False, True])
def test_results_over_memory_from_outside(over, requires_grad, captured):
    """Whether they have a history, whether they are that very tensor, and whom a write to them reaches."""
    def life(wrap):
        kept = ingot.arange(4.0).requires_grad_(requires_grad)
        fn, seen = wrap((lambda x: (over(kept), x * 2)) if captured else lambda w, x: (over(w), x * 2)), []
        for mode in [contextlib.nullcontext] * 3 + [ingot.no_grad] * 3:
            w = kept if captured else ingot.arange(4.0).requires_grad_(requires_grad)
            with mode():
                t = fn(ingot.ones(2))[0] if captured else fn(w, ingot.ones(2))[0]
            seen += [t.requires_grad, t.is_leaf, t is w, t._base is w, t.stride()]
            with ingot.no_grad():
                t.add_(1)
            seen.append(plain(w))
            seen.append(w.requires_grad)
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


CHANGES = {
    "the base moves": lambda b, v, d, s: setattr(b, "data", ingot.full((4,), 10.0)),
    "the view moves": lambda b, v, d, s: setattr(v, "data", ingot.full((2, 2), 5.0)),
    "another joins": lambda b, v, d, s: setattr(s, "data", b[:2]),
    "another joins what was a base": lambda b, v, d, s: setattr(s, "data", v[0]),
    "a detached one moves": lambda b, v, d, s: setattr(d, "data", ingot.full((4,), 7.0)),
    "a part moves": lambda b, v, d, s: setattr(s, "data", ingot.full((2,), 3.0))}


@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.parametrize("second", CHANGES)
def test_captured_tensors_that_share_memory_and_no_longer_do(first, second):
    """Calls give what eager ones give, or say that they cannot."""
    def life(wrap):
        b, s = ingot.zeros(4), ingot.zeros(2)
        held = b, b.view(2, 2), b.detach(), s
        fn, seen = wrap(lambda x: (b.add_(x), held[1] * 2, held[2] - 1, s + 1)[1:]), []
        for change in (None, first, second):
            if change is not None:
                CHANGES[change](*held)
            for _ in range(3):
                got = outcome(fn, ingot.ones(4))
                if got[0] == "trace":
                    return seen
                seen.append((got, plain(held)))
        return seen

    got = life(jit.trace)
    assert got == life(lambda fn: fn)[:len(got)] and len(got) >= 3


class Kept:
    """Object with attributes that functions set to the values that they have."""

    flag, value, of_class = True, 2.0, "a"


def sets_attribute(kept, x):
    kept.flag = True


def sets_in_a_branch(kept, x):
    if x.sum() > 0:
        kept.flag = True


def sets_of_class(kept, x):
    type(kept).of_class = "a"


def sets_of_what_is_handed_on(kept, x):
    for holder in [kept] * 2:
        holder.value = 2.0


def sets_an_argument(kept, x, value=2.0):
    kept.value = value


def sets_global(kept, x):
    global SETTING
    SETTING = 1


@pytest.mark.parametrize("sets", [sets_attribute, sets_in_a_branch, sets_of_class, sets_of_what_is_handed_on, sets_an_argument,
                                  sets_global])
def test_a_value_that_was_there_at_first_is_written_over_another(sets):
    def seen(kept, cell):
        return kept.flag, kept.value, type(kept).of_class, SETTING, cell

    def life(wrap):
        global SETTING
        kept = type("Kept", (Kept,), dict(vars(Kept)))()
        kept.flag, kept.value, cell, SETTING, found = True, 2.0, 1, 1, []

        def fn(x):
            nonlocal cell
            sets(kept, x)
            cell = 1
            return x * 2

        call = wrap(fn)
        for i in range(8):
            call(ingot.full((3 + i % 2,), (-1.0) ** (i // 2)))
            found.append(seen(kept, cell))
            if i in (1, 3, 4):
                kept.flag, kept.value, type(kept).of_class, SETTING, cell = False, 3.0 + i, "b", i, i
        return found

    assert life(jit.trace) == life(lambda fn: fn)


def test_writes_of_some_calls_cost_few_recordings():
    kept = Kept()

    def fn(x):
        if x.sum() > 0:
            kept.value = x * 2
        return x + 1

    traced = jit.trace(fn)
    for i in range(30):
        traced(ingot.ones(3) * (1 if i % 3 else -1))
    assert traced.stats()["compiles"] <= 6, traced.stats()["misses"]


class Stateful(nn.Module):
    """Module with a number that it reads on some way, and writes afterwards."""

    def __init__(self, read):
        super().__init__()
        self.read, self.last, self.drop = read, 1.0, nn.Threshold(1.0, 5.0)

    def forward(self, x, i):
        y = self.read(self, x)
        self.last = self.drop.threshold = i * 2.0
        return y


def by_own_variable(m, x):
    own = m
    m = own
    return x * own.last


MODULE_READS = [
    by_own_variable, lambda m, x: x * sum([n.last for n in [m, m]]), lambda m, x: x * next(m.modules()).last,
    lambda m, x: x * copy.copy(m).last, lambda m, x: x * max([m], key=lambda n: n.last).last,
    lambda m, x: x * getattr(m, "la" + "st"), lambda m, x: x * vars(m)["last"], lambda m, x: x * m.__dict__["last"],
    lambda m, x: x * operator.attrgetter("last")(m), lambda m, x: x * next(map(operator.attrgetter("last"), [m])),
    lambda m, x: x * float(f"{m.last}"), lambda m, x: x * float("{0.last}".format(m)),  # noqa: UP030, UP032
    lambda m, x: m.drop(x), lambda m, x: x * object.__getattribute__(m, "last"), lambda m, x: x * hasattr(m, "last"),
]


@pytest.mark.parametrize("read", MODULE_READS)
def test_what_a_module_writes_may_be_read_before_on_any_way(read):
    eager, traced = Stateful(read), jit.trace(Stateful(read))
    for i in (1, 2, 2, 3, 1, 5):
        x = ingot.tensor([0.5, 3.0])
        assert eager(x, i).tolist() == traced(x, i).tolist()
        assert (eager.last, eager.drop.threshold) == (traced.last, traced.drop.threshold)
        if i == 3:
            eager.last = traced.last = 77.0


def test_what_a_module_writes_and_nothing_reads_costs_no_recording():
    class Sized(nn.Module):
        def forward(self, x):
            self.seen, self.n = x.shape, x.shape[0]
            return x * 2

    traced = jit.trace(Sized())
    for n in (4, 5, 7, 3, 9):
        traced(ingot.ones(n, 2))
        assert (traced.seen, traced.n) == ((n, 2), n)
    assert traced.stats()["compiles"] == 2, traced.stats()["misses"]


HOOKS = nn.modules.module
PARTS = {
    "parameter": (HOOKS.register_module_parameter_registration_hook, lambda x: nn.Parameter(x.detach() * 2)),
    "buffer": (HOOKS.register_module_buffer_registration_hook, lambda x: nn.Buffer(x * 2)),
    "module": (HOOKS.register_module_module_registration_hook, lambda x: OTHERS[int(x.sum() > 6)])}
OTHERS = [nn.Tanh(), nn.Sigmoid()]


@pytest.mark.filterwarnings("ignore:.*runs as it is")
@pytest.mark.parametrize("gives", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_hooks_on_registration_run_once_for_each_call(part, gives):
    def run(wrap):
        net, log = nn.Module(), []

        def hook(module, name, value):
            if module is net:
                log.append(name)
                return OTHERS[0] if gives and part == "module" else type(value)(value.detach() + 1) if gives else None
            return None

        def fn(x):
            net.last = made(x)
            return x * 2

        handle, step = register(hook), wrap(fn)
        try:
            return [(step(ingot.ones(3) * i).tolist(), [*log], str(net.last)) for i in range(5)]
        finally:
            handle.remove()

    register, made = PARTS[part]
    assert run(jit.trace) == run(lambda fn: fn)
