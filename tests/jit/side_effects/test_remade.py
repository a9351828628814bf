"""Objects that a call makes and leaves outside: every call leaves what eager code leaves, and recordings are few."""

import array
import collections
import contextvars
import dataclasses
import functools
import random
import types
import warnings
import weakref

import pytest

import ingot
from fuzzed_modules.life import compare
from ingot import distributions, jit, nn
from ingot.distributions import Normal
from side_by_side import vec

CALLS = 12


class Box:
    def __init__(self, a, b=1):
        self.a, self.b = a, b

    def total(self):
        return self.a.sum() * self.b


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Grown(Slotted):
    __slots__ = ("__dict__", "c")

    def __init__(self, a, b):
        super().__init__(a, b)
        self.c, self.d = a + 1, b


class Nested:
    def __init__(self, x):
        self.inner, self.items = Box(x * 2), [x, Box(x)]


class Parent:
    def __init__(self, x, above=None):
        self.x, self.above, self.below = x, above, [] if above else [Parent(x * 2, self)]


@dataclasses.dataclass
class Data:
    a: object
    b: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    b: object


@dataclasses.dataclass(slots=True, frozen=True)
class Thin:
    a: object
    b: object


class Listed(list):
    def __init__(self, items, note):
        super().__init__(items)
        self.note = note


class Named(dict):
    def __init__(self, items, note):
        super().__init__(items)
        self.note = note


class Tupled(tuple):
    def __new__(cls, items, note):
        made = tuple.__new__(cls, items)
        made.note = note
        return made


class Queue(collections.deque):
    pass


class Counted(collections.defaultdict):
    pass


class Bare:
    pass


Pair = collections.namedtuple("Pair", "a b")


def shared(x):
    box = Box(x)
    return [box, {"again": box}]


MADE = {
    "a distribution": lambda x, i: Normal(x, 1.0), "a categorical": lambda x, i: distributions.Categorical(logits=x),
    "an independent": lambda x, i: distributions.Independent(Normal(x, 1.0), 1),
    "in a dict": lambda x, i: {"fn": Normal(x, 1.0), "i": 3}, "a user object": lambda x, i: Box(x * 2, 3),
    "a number that changes": lambda x, i: Box(x * 2, i), "a number read": lambda x, i: Box(x.sum().item()),
    "slots": lambda x, i: Slotted(x * 2, 3), "slots and attributes": lambda x, i: Grown(x * 2, 3),
    "a dataclass": lambda x, i: Data(x * 2, "a"), "a frozen one": lambda x, i: Frozen(x * 2, i),
    "one with slots": lambda x, i: Thin(x * 2, 3), "a named tuple of objects": lambda x, i: Pair(Box(x), Box(x + 1)),
    "nested": lambda x, i: Nested(x), "parents": lambda x, i: Parent(x),
    "a namespace": lambda x, i: types.SimpleNamespace(a=x * 2),
    "one object twice": lambda x, i: shared(x), "a list of a class": lambda x, i: Listed([x * 2], x * 3),
    "a dict of a class": lambda x, i: Named({"a": x * 2}, Box(x)), "a tuple of a class": lambda x, i: Tupled([x * 2], x * 3),
    "a deque of a class": lambda x, i: Queue([x * 2], 2),
    "a defaultdict of a class": lambda x, i: Counted(list, {"a": [x * 2]}),
    "without tensors": lambda x, i: Box([1, 2], "a"), "bytes": lambda x, i: bytearray(2),
    "an array of numbers": lambda x, i: array.array("d", [1.0, 2.0]), "a set of tensors": lambda x, i: {x * 2},
    "one without a method": lambda x, i: Bare(),
}
NOT_MADE = {
    "a function": lambda x, i: lambda: x * 2, "a method": lambda x, i: Box(x).total, "a partial": lambda x, i:
    functools.partial(ingot.add, x * 2), "a generator": lambda x, i: (v for v in [x * 2]),
    "an error": lambda x, i: ValueError(x * 2),
    "a module": lambda x, i: nn.Linear(2, 2), "a bare object": lambda x, i: object(),
    "a key": lambda x, i: {x * 2: 1}, "a key in a tuple": lambda x, i: {(Box(x), 1): 1},
    "a weak reference": lambda x, i: weakref.ref(x),
}


def seen(v, met=None):
    """Classes and content, with objects that occur again by their number."""
    met = {} if met is None else met
    if isinstance(v, ingot.Tensor):
        return "tensor", type(v).__name__, v.tolist(), v.requires_grad
    if isinstance(v, (int, float, str, type(None), type)):
        return type(v).__name__, str(v)
    if id(v) in met:
        return "again", met[id(v)][0]
    if type(v) not in (tuple, Pair):        # whether these are one object, no code asks
        met[id(v)] = len(met), v
    parts = []
    if isinstance(v, dict):
        parts = [(seen(k, met), seen(x, met)) for k, x in v.items()]
    elif isinstance(v, (list, tuple, set, collections.deque)):
        parts = [seen(x, met) for x in v]
    elif isinstance(v, (BaseException, functools.partial)):
        parts = [seen(v.args, met)]
    elif isinstance(v, types.FunctionType):
        parts = [seen(v(), met)]
    elif isinstance(v, types.MethodType):
        parts = [seen(v.__self__, met)]
    elif isinstance(v, nn.Module):
        return type(v).__name__, seen(dict(v.named_parameters()), met)
    names = {**{n: getattr(v, n) for c in type(v).__mro__ for n in getattr(c, "__slots__", ()) if n != "__dict__"},
             **getattr(v, "__dict__", {})}
    return type(v).__name__, parts, [(n, seen(x, met)) for n, x in names.items()]


class Holder:
    pass


def in_dict():
    table: dict = {}

    def put(v):
        table["z"] = v
    return put, lambda: table


def in_list():
    items = [None, None]

    def put(v):
        items[1] = v
    return put, lambda: items


def appended():
    items: list = []
    return (lambda v: items.append(v)), lambda: items


def in_window():
    items: collections.deque = collections.deque(maxlen=2)
    return (lambda v: items.append(v)), lambda: items


def in_attribute():
    holder = Holder()

    def put(v):
        holder.z = v
    return put, lambda: holder


def in_module():
    module = nn.Linear(1, 1)

    def put(v):
        module.z = v
    return put, lambda: module.z


def in_class():
    kind = type("Kind", (), {})

    def put(v):
        kind.z = v
    return put, lambda: kind.z


def in_slot():
    holder = Slotted(None, None)

    def put(v):
        holder.a = v
    return put, lambda: holder


def in_global():
    space: dict = {}
    exec("def put(v):\n    global Z\n    Z = v", space)
    return space["put"], lambda: space["Z"]


def in_closure():
    kept = None

    def put(v):
        nonlocal kept
        kept = v
    return put, lambda: kept


def in_context():
    variable: contextvars.ContextVar = contextvars.ContextVar("kept")
    return variable.set, variable.get


def in_two_places():
    table, holder = {}, Holder()

    def put(v):
        table["z"] = v
        holder.z = v
    return put, lambda: (table, holder)


PLACES = [in_dict, in_list, appended, in_window, in_attribute, in_module, in_class, in_slot, in_global, in_closure, in_context,
          in_two_places]


def life(wrap, place, make):
    put, look = place()

    def fn(x, i):
        put(make(x, i))
        return x + 1
    fn, got = wrap(fn), []
    for i in range(CALLS):
        ingot.manual_seed(i)
        x = ingot.tensor([1.0 + i, 2.0 * i])
        got.append((seen(fn(x, i)), seen(look())))
    return got, fn


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
@pytest.mark.parametrize("name", MADE)
def test_objects_left_outside_are_those_of_each_call(name, place):
    got, fn = life(jit.trace, place, MADE[name])
    assert got == life(lambda f: f, place, MADE[name])[0]
    assert fn.stats()["compiles"] <= 5, fn.stats()["misses"]


@pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)
@pytest.mark.parametrize("name", [n for n in NOT_MADE if n != "a weak reference"])
def test_objects_that_no_replay_can_make_are_made_by_eager_calls_and_counted(name, place):
    want, _ = life(lambda f: f, place, NOT_MADE[name])
    with pytest.warns(jit.TracerWarning, match="runs as it is at most calls: it puts .* into .* could not make again") as said:
        got, fn = life(jit.trace, place, NOT_MADE[name])
    assert got == want and len(said) == 1
    assert fn.stats()["compiles"] == 0 and fn.stats()["unrecorded"] >= 4


@pytest.mark.parametrize("name", NOT_MADE)
def test_results_that_no_replay_can_make_are_refused(name):
    with pytest.raises(jit.TraceError):
        jit.trace(NOT_MADE[name])(vec(1.0, 2.0), 1)


@pytest.mark.parametrize("name", MADE)
def test_results_are_made_anew(name):
    def run(fn):
        return [seen(fn(ingot.tensor([1.0 + i, 2.0 * i]), i)) for i in range(CALLS)]
    assert run(jit.trace(MADE[name])) == run(MADE[name])


# Code that reads what an earlier call has made.

class Steps:
    """A state object that each call replaces, read in several ways."""

    def __init__(self):
        self.state, self.table, self.log = Box(ingot.zeros(2), 0), {"z": Box(ingot.zeros(2), 0)}, []
        self.pair = [Box(ingot.zeros(2)), Box(ingot.ones(2))]

    def attribute(self, x):
        self.state = Box(self.state.a + x, self.state.b + 1)
        return self.state.a * 2

    def method(self, x):
        y = self.state.total()
        self.state = Box(self.state.a + x, 2)
        return y

    def passed(self, x):
        def use(box):
            return box.a * box.b
        y = use(self.state) + x
        self.state = Box(y, 3)
        return y

    def item(self, x):
        y = self.table["z"].a + x
        self.table["z"] = Box(y, 1)
        return y

    def filled(self, x):
        self.pair[:] = [Box(x), Box(self.pair[0].a + self.pair[1].a)]
        return self.pair[1].a

    def swapped(self, x):
        self.pair[0], self.pair[1] = self.pair[1], self.pair[0]
        return self.pair[0].a + x

    def compared(self, x):
        same = self.log and self.log[-1] is self.state
        y = self.state.a * (2 if same else 3)
        self.state = Box(x)
        return y

    def kept(self, x):
        self.log = [self.state]
        self.state = Box(x + self.state.a)
        return self.log[0].a


@pytest.mark.filterwarnings("ignore:.* runs as it is at most calls")      # where the object has another name, too
@pytest.mark.parametrize("name", [n for n in vars(Steps) if not n.startswith("_")])
def test_a_replaced_object_is_read_as_in_eager_code(name):
    def run(wrap):
        steps, got = Steps(), []
        fn = wrap(getattr(steps, name))
        for i in range(CALLS):
            if i % 4 == 3:
                steps.log.append(steps.state)           # another name for it
            if i == 6:
                steps.state = Box(vec(5.0, 6.0), 7)     # one that no call has made
            got.append((seen(fn(vec(1.0, float(i)))), seen(steps)))
        return got
    assert run(jit.trace) == run(lambda f: f)


@pytest.mark.parametrize("name, most", [("attribute", 5), ("method", 4), ("passed", 4), ("item", 4), ("filled", 4),
                                        ("swapped", 4)])
def test_replaced_objects_cost_few_recordings(name, most):
    steps = Steps()
    fn = jit.trace(getattr(steps, name))
    for i in range(40):
        fn(vec(1.0, float(i)))
    assert 2 <= fn.stats()["compiles"] <= most and fn.stats()["unrecorded"] == 0, fn.stats()["misses"]


def test_an_object_whose_init_runs_again_is_the_same():
    def run(wrap):
        box, table, got = Box(1), {}, []

        def fn(x, i):
            box.__init__(x * 2, i)
            table["box"] = box
            return x
        fn = wrap(fn)
        for i in range(5):
            fn(vec(float(i)), i)
            got.append((table["box"] is box, seen(box)))
        return got
    assert run(jit.trace) == run(lambda f: f)


def test_a_singleton_stays_one():
    class Single:
        one = None

        def __new__(cls, x):
            if cls.one is None:
                cls.one = object.__new__(cls)
            return cls.one

        def __init__(self, x):
            self.x = x
    table: dict = {}

    @jit.trace
    def fn(x):
        table["one"] = Single(x)
        return x
    for i in range(5):
        fn(vec(float(i)))
        assert table["one"] is Single.one and Single.one.x.tolist() == [float(i)]


@pytest.mark.filterwarnings("ignore:.* runs as it is at most calls")      # the caller holds the object, too
def test_objects_hold_what_lives_outside_by_identity():
    net, other, items, holder = nn.Linear(2, 2), Box(1), [1], Holder()

    @jit.trace
    def fn(x):
        other.last = x * 2
        holder.out = Box((net, other, items), net(x))
        return [holder.out, other]
    for i in range(5):
        result, there = fn(vec(1.0, float(i)))
        assert result is holder.out and there is other and all(map(lambda a, b: a is b, result.a, (net, other, items)))
        assert other.last.tolist() == [2.0, 2.0 * i] and ingot.equal(result.b, net(vec(1.0, float(i))))


@pytest.mark.parametrize("keep", [lambda h: h.log, lambda h: setattr(h, "alias", h.log)])
def test_a_list_that_is_replaced_between_calls_is_returned_and_stored_as_it_is(keep):
    def run(wrap):
        holder, got = Holder(), []
        holder.log = []

        def fn(x):
            holder.log.append(x)
            return keep(holder)
        fn = wrap(fn)
        for i in range(5):
            result = fn(vec(float(i)))
            got.append((result is holder.log, getattr(holder, "alias", None) is holder.log, seen(holder.log)))
            holder.log = []
        return got
    assert run(jit.trace) == run(lambda f: f)


# Look-alikes of what libraries do: stacks of handlers, and caches on objects.

STACK: list = []
PARAMS: dict = {}


class Handler:
    def __enter__(self):
        STACK.append(self)
        return self

    def __exit__(self, *exc):
        assert STACK.pop() is self

    def before(self, message):
        pass

    def after(self, message):
        pass


class Sites(Handler):
    def __init__(self):
        self.nodes = collections.OrderedDict()

    def after(self, message):
        self.nodes[message["name"]] = message.copy()


class Replayed(Handler):
    def __init__(self, nodes):
        self.nodes = nodes

    def before(self, message):
        if message["name"] in self.nodes:
            message["value"] = self.nodes[message["name"]]["value"]


def applied(message):
    for handler in reversed(STACK):
        handler.before(message)
    if message["value"] is None:
        message["value"] = message["fn"].rsample()
    for handler in STACK:
        handler.after(message)
    return message["value"]


def sample(name, fn, value=None):
    return applied({"kind": "sample", "name": name, "fn": fn, "value": value})


def param(name, first):
    if name not in PARAMS:
        PARAMS[name] = nn.Parameter(first)
    return applied({"kind": "param", "name": name, "fn": None, "value": PARAMS[name]})


def model(x):
    sample("x", Normal(sample("z", Normal(ingot.zeros(2), 1.0)), 1.0), x)


def guide(x):
    sample("z", Normal(param("mean", ingot.zeros(2)), param("scale", ingot.zeros(2)).exp()))


def elbo(outer):
    """A step of variational inference; its handlers are made at each call, or outside."""
    def step(x):
        with outer or Sites() as first:
            guide(x)
        with Sites() as second, Replayed(first.nodes):
            model(x)
        found = sum([s["fn"].log_prob(s["value"]).sum() for s in second.nodes.values()])
        found = found - sum([s["fn"].log_prob(s["value"]).sum() for s in first.nodes.values() if s["kind"] == "sample"])
        if outer is None:
            (-found).backward()
        with ingot.no_grad():
            for p in PARAMS.values() if outer is None else ():
                p -= 0.01 * p.grad
                p.grad = None
        return found.detach()
    return step, lambda: (PARAMS, STACK, outer.nodes if outer else None)


def memoised(name):
    def decorated(method):
        @functools.wraps(method)
        def call(self, *args, **kwargs):
            key = name, str(kwargs)
            if not hasattr(self, "_kept"):
                self._kept = {}
            if key not in self._kept:
                self._kept[key] = method(self, *args, **kwargs)
            return self._kept[key]
        return call
    return decorated


class Operator:
    def __init__(self, t):
        self.t = t

    @memoised("root")
    def root(self):
        return Operator(self.t.exp())

    @memoised("sum")
    def sum(self):
        return self.root().t.sum()


class Process(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2, bias=False)
        self.net.weight.data.fill_(0.5)

    @property
    @memoised("prior")
    def prior(self):
        return Normal(self.net.weight.sum(1), 1.0)

    @memoised("operator")
    def operator(self):
        return Operator(self.net.weight)

    def forward(self, x):
        if self.training and hasattr(self, "_kept"):
            del self._kept
        return self.prior.log_prob(x).sum() + self.operator().sum() + self.operator().root().t.sum()


def process(mode):
    net = Process().train(mode)

    def step(x):
        loss = net(x)
        if mode:
            loss.backward()
            with ingot.no_grad():
                net.net.weight -= 0.01 * net.net.weight.grad
                net.net.weight.grad = None
        return loss.detach()
    return step, lambda: sorted(map(str, net._kept))


LIBRARIES = {"handlers": lambda: elbo(None), "handlers from outside": lambda: elbo(Sites()), "caches in training":
             lambda: process(True), "caches in evaluation": lambda: process(False)}


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_that_keep_stacks_and_caches_are_recorded_a_few_times(name):
    def run(wrap):
        PARAMS.clear()
        guide(vec(1.0, 2.0))
        step, look = LIBRARIES[name]()
        step, got = wrap(step), []
        for i in range(20):
            ingot.manual_seed(i)
            got.append((seen(step(vec(1.0, float(i)))), seen(look())))
        return got, step
    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.TracerWarning)
        got, step = run(jit.trace)
    assert got == run(lambda f: f)[0]
    assert step.stats()["compiles"] <= 4 and step.stats()["unrecorded"] == 0, step.stats()["misses"]


# Place -> (its declaration, the statement that names it, its expression).
PLACES = {
    "global": ("s = None", "global s", "s"), "namespace": ("o = NS(s=None)", "pass", "o.s"),
    "class": ("class C: s = None", "pass", "C.s"), "dict": ("o = {'s': None}", "pass", "o['s']"),
    "list": ("o = [None, 2]", "pass", "o[0]"), "deep": ("o = NS(p=NS(s=None))", "pass", "o.p.s"),
    "module": ("o = nn.Linear(2, 2)\no.s = None", "pass", "o.s"), "function": ("def o(): pass\no.s = None", "pass", "o.s")}
# Object around a value -> (expression that makes it, steps from it to the value).
AROUND = {
    "list": ("[{}]", "[0]"), "dict": ("{{'k': {}}}", "['k']"), "tuple": ("({}, 2)", "[0]"), "namespace": ("NS(a={})", ".a"),
    "plain": ("Plain({})", ".a"), "slots": ("Slots({})", ".a"), "record": ("Record({})", ".a"),
    "ordered": ("OrderedDict(a={})", "['a']"), "deque": ("deque([{}])", "[0]")}
HELD = ("len(x)", "x.sum()", "x.sum().item()", "n", "np.float32(n)")
THEN = ("return {top}", "return [{top}, {middle}]", "{leaf} = {leaf} + 1", "return {leaf} * 2",
        "return {top}, {top}, x + {leaf}", "{middle} = 3\n    return {top}")
STARTS = ("put(x)\n    return late(x)", "return [*steps(x)]")
FILES = """
from collections import deque
n = 1
class Plain:
    def __init__(self, a): self.a = a
class Slots:
    __slots__ = ("a",)
    def __init__(self, a): self.a = a
@dataclass
class Record:
    a: object
def turn(i):
    global n
    n = i // 2
{declared}
def put(x):
    {named}
    {place} = {made}
def late(x):
    {named}
    {then}
def steps(x):
    put(x)
    yield late(x)
    yield {place}
def fn(x):
    {starts}
"""


def own_objects(random) -> str:
    """Return a module whose function puts an object somewhere, and reads it there in another function."""
    declared, named, place = PLACES[random.choice(sorted(PLACES))]
    (outer, first), (inner, second) = [AROUND[random.choice(sorted(AROUND))] for _ in range(2)]
    made, leaf = outer.format(inner.format(random.choice(HELD))), place + first + second
    then = random.choice(THEN).format(top=place, middle=place + first, leaf=leaf)
    return FILES.format(declared=declared, named=named, place=place, made=made, then=then, starts=random.choice(STARTS))


@pytest.mark.parametrize("seed", range(60))
def test_what_a_call_has_put_somewhere_is_its_own_in_other_functions(seed):
    text = own_objects(random.Random(seed))
    verdict, traced = compare(text)
    assert verdict.kind in ("same", "refused"), f"{text}{verdict}"
    assert verdict.kind == "refused" or traced.stats()["compiles"] <= 6


KINDS = ("dict(a=[2], b=2)", "OrderedDict(a=[1])", "[[1], 2]", "([1], 2)", "NS(a=[1])", "None", "deque([[1], 2])")
WRITES = ("s.c |= dict(e=1)", "s.c['a'] = [n]", "s.c[0] = [n]", "s.c.a = [n]", "s.c['a'].append(n)", "s.c[0].append(n)")
REPLACED = """
from collections import deque
n, s = 1, NS(c={first})
def fn(x):
    with contextlib.suppress(Exception):
        {write}
    return x * 2
def turn(i):
    global n
    n = i
    if i > 1:
        s.c = [{first}, {other}][i // 2 % 2]
"""


@pytest.mark.drawn
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("first", KINDS)
def test_a_container_that_the_call_changes_gives_way_to_another_kind(write, first):
    for other in KINDS:
        verdict, _ = compare(REPLACED.format(first=first, other=other, write=write))
        assert verdict.kind in ("same", "refused"), (other, verdict)


GIVEN_UP = """
class Plain:
    def __init__(self, a): self.a = a
s = {{'c': {first}}}
def late(x):
    global s
    s = {{'c': {then}}}
    yield x
def fn(x):
    for x in late(x):
        pass
"""


@pytest.mark.parametrize("made, leaf", [
    ("NS(parts=[Plain({})])", "parts[0].a"), ("NS(parts=(Plain({}), 1))", "parts[0].a"), ("Plain(NS(parts={}))", "a.parts")])
@pytest.mark.parametrize("number", ["np.float32(1.5)", "1.5", "np.float64(2)"])
def test_recordings_that_are_given_up_leave_numbers(made, leaf, number):
    text = GIVEN_UP.format(first=made.format(number), then=made.format(f"-s['c'].{leaf}"))
    verdict, _ = compare(text)
    assert verdict.kind == "same", (text, verdict)
