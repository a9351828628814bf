"""State that host calls change: the function reads it as they left it, in the recorded call and in every replay."""

import warnings
import weakref

import pytest

import ingot
from host_programs import ARGUMENTS, READ_AFTER, READ_BY_HOST, UNREAD
from ingot import jit
from ingot.jit.bytecode.reads import reads_at
from ingot.jit.bytecode.stack import instructions_of, offsets_after
from side_by_side import vec

FEW = 4             # recordings of a program to which its host steps do nothing


def from_the(number):
    def make():
        left = [number - 1]

        def changes(v):
            left[0] -= 1
            return left[0] < 0
        return changes
    return make


# When a host step changes something: it may, or may not, when the call is recorded.
WHEN = {"always": lambda: lambda v: True, "never": lambda: lambda v: False, "from the fifth": from_the(5), "now and then":
        lambda: lambda v: float(v) > 2}


def ran(program, when):
    traced = []

    def wrap(fn):
        traced.append(jit.trace(fn))
        return traced[-1]

    found = program(wrap, WHEN[when]())
    return str(found), traced[0].stats()


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("name", READ_AFTER)
def test_state_changed_by_host_calls_is_read_as_they_left_it(name, when):
    found, _ = ran(READ_AFTER[name], when)
    assert found == str(READ_AFTER[name](lambda fn: fn, WHEN[when]()))


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("name", READ_BY_HOST)
def test_host_calls_read_earlier_writes(name, when):
    found, _ = ran(READ_BY_HOST[name], when)
    assert found == str(READ_BY_HOST[name](lambda fn: fn, WHEN[when]()))


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("name", UNREAD)
def test_state_not_read_after_host_calls_causes_no_recordings(name, when):
    found, stats = ran(UNREAD[name], when)
    assert found == str(UNREAD[name](lambda fn: fn, WHEN[when]()))
    assert stats["compiles"] <= FEW and stats["unrecorded"] == 0


@pytest.mark.parametrize("name", [n for n in READ_AFTER if n != "list_filled_by_its_method"])
def test_host_calls_without_changes_cause_no_recordings(name):
    _, stats = ran(READ_AFTER[name], "never")
    assert stats["compiles"] <= FEW and stats["unrecorded"] == 0


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_changes_to_arguments_by_host_calls_are_read_or_refused(name, when):
    expected: list = []
    ARGUMENTS[name](lambda fn: fn, WHEN[when](), expected)
    found: list = []
    try:
        ARGUMENTS[name](jit.trace, WHEN[when](), found)
    except jit.TraceError as error:
        is_late = "host function" in str(error) and when in ("from the fifth", "now and then")
        assert is_late or "it changes a container or an object among its arguments" in str(error)
        assert found == expected[:len(found)]
    else:
        assert found == expected


def noting(log):
    @jit.host
    def note(v):
        if v > 1:
            log.append(float(v))

    @jit.trace
    def fn(x):
        note(x.sum())
        return x * len(log)
    return fn


@pytest.mark.parametrize("first", [1.0, 2.0])
def test_one_warning_says_that_calls_run_eagerly(first):
    log: list = []
    fn = noting(log)
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always", jit.TracerWarning)
        for v in (first, first, 2.0, 2.0, 2.0):
            fn(vec(v))
    text, = [str(w.message) for w in caught_warnings]
    assert "fn runs as it is at most calls" in text and "log" in text and "host function" in text


def test_each_host_call_of_an_eager_call_runs_once():
    log: list = []
    told: list = []
    given: list = []

    @jit.host
    def told_of(v):
        told.append(float(v))

    @jit.host
    def doubled(v):
        given.append(float(v))
        return v * 2

    note = jit.host(lambda v: log.append(1) if v > 1 else None)

    @jit.trace
    def fn(x):
        told_of(x.sum())
        y = doubled(x)
        note(x.sum())
        told_of(y.sum())
        return y * (1 + len(log))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.TracerWarning)
        got = [fn(vec(v)).tolist() for v in (1.0, 1.0, 2.0, 1.0)]
    assert got == [[2.0], [2.0], [8.0], [4.0]]
    assert told == [1, 2, 1, 2, 2, 4, 1, 2] and given == [1, 1, 2, 1]


def test_writes_by_host_call_and_function_to_one_location_are_refused():
    class Holder:
        n = 0.0

    holder = Holder()
    known = weakref.WeakValueDictionary(holder=holder)      # into which nobody looks

    @jit.host
    def put(v):
        if v > 1:
            known.get("holder").n = float(v)

    @jit.trace
    def fn(x):
        holder.n = 1.0
        put(x.sum())
        return x * 2

    fn(vec(1.0))
    fn(vec(1.0))
    with pytest.raises(jit.TraceError, match=r"a host function has changed holder\.n.*leave it to one of them"):
        fn(vec(2.0))


def test_changes_that_cannot_be_rolled_back_are_refused():
    t = ingot.ones(1)

    @jit.host
    def add(v):
        if v > 1:
            t.add_(v)

    @jit.trace
    def fn(x):
        y = x * t
        add(x.sum())
        return y * t

    fn(vec(1.0))
    fn(vec(1.0))
    with pytest.raises(jit.TraceError, match=r"a host function has changed what the traced function reads behind it.*a tensor"):
        fn(vec(2.0))


def test_a_host_function_raises_at_every_call():
    @jit.host
    def fails(v):
        raise ValueError(float(v))

    @jit.trace
    def fn(x):
        try:
            fails(x.sum())
        except ValueError as error:
            return x * error.args[0]

    with pytest.warns(jit.TracerWarning, match="host function fails raised"):
        assert [fn(vec(v)).item() for v in (1.0, 2.0, 3.0, 2.0)] == [1.0, 4.0, 9.0, 4.0]


def in_an_attribute(seen):
    class Holder:
        rate = 1.0

    holder = Holder()
    look = jit.host(lambda v: seen.append((type(holder.rate), holder.rate)))

    def fn(x):
        y = x * holder.rate
        look(x)
        return y * holder.rate
    return fn, lambda i: setattr(holder, "rate", i)


def in_a_variable(seen):
    rate = 1.0

    @jit.host
    def look(v):
        seen.append((type(rate), rate))

    def fn(x):
        y = x * rate
        look(x)
        return y * rate

    def put(i):
        nonlocal rate
        rate = i
    return fn, put


def in_a_dictionary(seen):
    rates = {"rate": 1.0}
    look = jit.host(lambda v: seen.append((type(rates["rate"]), rates["rate"])))

    def fn(x):
        y = x * rates["rate"]
        look(x)
        return y * rates["rate"]
    return fn, lambda i: rates.update(rate=i)


@pytest.mark.parametrize("place", [in_an_attribute, in_a_variable, in_a_dictionary])
def test_host_functions_see_plain_numbers(place):
    seen: list = []
    fn, put = place(seen)
    fn = jit.trace(fn)
    for i in range(6):
        put(float(i))
        assert fn(vec(3.0)).tolist() == [3.0 * i * i]
    assert seen == [(float, float(i)) for i in range(6)]
    assert fn.stats()["compiles"] == 2


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
def test_host_functions_see_plain_numbers_that_were_written():
    rate, seen = 1.0, []

    @jit.host
    def look(v):
        seen.append((type(rate), rate))

    def fn(x, k):
        nonlocal rate
        rate = k * 0.5
        look(x)
        return x * rate

    fn = jit.trace(fn, dynamic=True)
    for i in range(6):
        assert fn(vec(3.0), i + 2).tolist() == [1.5 * (i + 2)]
    assert seen == [(float, 0.5 * (i + 2)) for i in range(6)] and type(rate) is float


def test_random_draws_of_host_functions_keep_their_order():
    def run(wrap, first):
        ingot.manual_seed(0)
        got = []
        look = jit.host(lambda v: got.append(float(ingot.rand(()))) if v >= first else None)

        def fn(x):
            look(x.sum())
            return x + ingot.rand(1)

        traced = wrap(fn)
        return [traced(vec(float(v))).item() for v in range(1, 6)], got

    with pytest.warns(jit.TracerWarning, match="changes a random generator"):
        assert run(jit.trace, 1) == run(lambda fn: fn, 1)
    with pytest.raises(jit.TraceError, match=r"draws random numbers.*in another order"):
        run(jit.trace, 3)


# Chains that are read behind a call of `host`.

before = host = behind = around = inside = after = beside = caught = never = print


def straight():
    before()
    host()
    behind()


def looped():
    for _ in around():
        inside()
        host()
    behind()


def branched(x):
    if x:
        host()
        after()
    else:
        beside()
    behind()


def tried():
    try:
        host()
        after()
    except ValueError:
        caught()
    return behind()


def returned(x):
    if x:
        host()
        return after()
    return never()


ORDERS = {straight: {"behind"}, looped: {"inside", "host", "behind"}, branched: {"after", "behind"},
          tried: {"after", "ValueError", "caught", "behind"}, returned: {"after"}}


@pytest.mark.parametrize("function", ORDERS)
def test_code_that_may_run_after_an_instruction(function):
    code = function.__code__
    called = [at for at, ins in enumerate(instructions_of(code)) if ins.opname == "CALL"]
    loads = {chain.name: offset for offset, chain in reads_at(code)}
    at = next(i for i in called if instructions_of(code)[i].offset > loads["host"])
    found = {chain.name for offset, chain in reads_at(code) if offset in offsets_after(code, at)}
    assert found == ORDERS[function]


class Computed:
    """An object whose class computes every attribute in the user's code."""

    def __init__(self, a):
        self.a = a

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class Holder:
    def __init__(self, a):
        self.a = a

    def __getattr__(self, name):
        return self.__dict__["others"][name]


@pytest.mark.parametrize("kind", [Computed, Holder])
def test_objects_that_compute_attributes_around_a_host_step(kind):
    """Code of users that runs while guards are compared may read what is not yet known."""
    def life(wrap):
        held, found = [kind({1, 2}), kind(kind(3)), {"a": kind([1])}], []

        def fn(x):
            print("value", held[1].a)
            y = x * len(held[0].a)
            return y + held[2]["a"].a[0]

        step = wrap(fn)
        for i in range(8):
            if i == 2:
                del held[0].a
            if i == 4:
                held[0] = kind({i})
            if i > 4:
                held[1].a = kind(i)
                held[2]["a"] = kind([i])
            try:
                found.append(step(ingot.ones(2)).tolist())
            except Exception as error:
                found.append(type(error).__name__)
        return found

    assert life(jit.trace) == life(lambda fn: fn)
