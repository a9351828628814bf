"""Python state that traced functions read and write: changes are noticed at the next call, or refused."""

import collections
import importlib
import itertools
import sys
import types

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.jit.python_state import tracker
from ir_modules import run_python
from outcomes import outcome, plain

# State of Python: what changes is noticed or refused.


def outside_store():
    class Keeps:
        def __init__(self):
            self.last = 0

    o = Keeps()

    def fn(x):
        o.last = x * 2
        return x

    return fn, lambda: o.last


def counts_calls():
    class Counts:
        n = 0

        def __call__(self, x):
            self.n += 1
            return x * self.n

    c = Counts()
    return c, lambda: c.n


def module_store():
    class Last(nn.Module):
        def forward(self, x):
            self.last = x * 2
            return self.last

    m = Last()
    return m, lambda: getattr(m, "last", 0)


def by_setattr():
    class Empty:
        pass

    o = Empty()

    def fn(x):
        setattr(o, "last", x * 2)  # noqa: B010
        return x

    return fn, lambda: getattr(o, "last", 0)


def appends_by_a_bound_method():
    kept = []
    append = kept.append

    def fn(x):
        append(x)
        return x

    return fn, lambda: kept


def counter():
    seen = collections.Counter()

    def fn(x):
        seen["calls"] += 1
        return x

    return fn, lambda: dict(seen)


def queue():
    kept = collections.deque(maxlen=2)

    def fn(x):
        kept.append(x)
        return x

    return fn, lambda: list(kept)


def iterator():
    numbers = itertools.count()
    return (lambda x: x * next(numbers)), lambda: 0


def mutable_default():
    def fn(x, seen=[]):  # noqa: B006
        seen.append(1)
        return x * len(seen)

    return fn, lambda: 0


def local_name():
    o = types.SimpleNamespace(p=_Holder(1.0))

    def fn(x):
        p = o.p
        return x + p.k

    return fn, lambda: o.p.grow()


def loop_over_objects():
    held = [_Holder(1.0), _Holder(2.0)]

    def fn(x):
        for h in held:
            x = x + h.k
        return x

    return fn, lambda: held[1].grow()


def by_getattr():
    h = _Holder(1.0)
    return (lambda x: x + getattr(h, "k")), h.grow  # noqa: B009


def numpy_global():
    a = np.ones(2, "f")

    def grow():
        a[0] += 1

    return (lambda x: x + float(a.sum())), grow


def numpy_write():
    a = np.ones(2, "f")

    def fn(x):
        a[0] += 1
        return x + ingot.tensor(a)

    return fn, lambda: a


class _Holder:
    def __init__(self, k):
        self.k = k

    def grow(self):
        self.k += 1


STATES = (outside_store, counts_calls, module_store, by_setattr, appends_by_a_bound_method, counter, queue, iterator,
          mutable_default, local_name, loop_over_objects, by_getattr, numpy_global, numpy_write)
FOLLOWED = (outside_store, counts_calls, module_store, by_setattr, appends_by_a_bound_method, counter, queue, iterator,
            mutable_default, local_name, loop_over_objects, by_getattr, numpy_global, numpy_write)


@pytest.mark.parametrize("make", STATES, ids=lambda f: f.__name__)
def test_state_of_python_is_followed_or_refused(make):
    def life(wrap):
        fn, observe = make()
        fn, seen = wrap(fn), []
        for i in range(4):
            seen.append((outcome(fn, ingot.ones(2) * (i + 1)), plain(observe())))
        return seen

    got = life(jit.trace)
    if make in FOLLOWED:
        assert got == life(lambda f: f)
    else:
        assert got[0][0][0] == "trace"


bound = None        # a variable of the module that the programs below read and set


def global_that_is_read():
    def fn(x):
        return x if bound is None else x + bound

    def change(value):
        global bound
        bound = value
    return fn, change


def variable_that_is_read():
    kept = None

    def fn(x):
        return x if kept is None else x + kept

    def change(value):
        nonlocal kept
        kept = value
    return fn, change


def global_that_is_written():
    def fn(x):
        global bound
        bound = x * 1 if bound is None else x + bound
        return bound * 1

    def change(value):
        global bound
        bound = value
    return fn, change


def variable_that_is_written():
    kept = None

    def fn(x):
        nonlocal kept
        kept = x * 1 if kept is None else x + kept
        return kept * 1

    def change(value):
        nonlocal kept
        kept = value
    return fn, change


@pytest.mark.parametrize("make", [global_that_is_read, variable_that_is_read, global_that_is_written, variable_that_is_written])
def test_variables_that_are_none_at_first(make):
    def life(wrap):
        fn, change = make()
        fn, seen = wrap(fn), []
        for value in (None, 1.0, ingot.ones(2), None, 2.5):
            change(value)
            seen += [plain(fn(ingot.ones(2))) for _ in range(3)]
        change(None)
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("change, argument", [
    (lambda a: a.__iadd__(1), lambda: np.ones(2, "f")), (lambda a: a.add(1), lambda: {3})])
def test_arguments_that_are_changed_are_refused(change, argument):
    fn = jit.trace(lambda a, x: (change(a), x * 2)[1])
    for _ in range(2):
        assert outcome(fn, argument(), ingot.ones(2))[0] == "trace"


def test_numpy_arguments_that_are_computed_with_count_by_content():
    a, fn = np.ones(2, "f"), jit.trace(lambda x, a: x + ingot.tensor(a + 0))
    for i in range(4):
        a[0] = i // 2
        assert fn(ingot.ones(2), a).tolist() == [1 + i // 2, 2]
    assert fn.stats()["compiles"] == 2


def test_an_array_that_numpy_gave_and_that_changes_is_refused():
    def write(x):
        x.numpy()[0] = 5
        return x * 1

    def write_the_tensor(x):
        a = x.numpy()
        x.add_(1)
        return x * float(a.sum())

    for fn in (write, write_the_tensor):
        assert outcome(jit.trace(fn), ingot.ones(2))[0] == "trace"


SCALES = [2.0, 3.0]


def scaled(x, scales=SCALES):
    return x * scales[0]


def test_functions_of_frames_are_found_without_searching_all_objects(monkeypatch):
    """Asking for everything that refers to a code takes a second in a process of a gigabyte."""
    def refuse(*args):
        raise AssertionError("all objects were looked at")

    def scaled_inside(x, scales=SCALES):
        return x * scales[0] * factor

    def generated(x):
        yield from (x * f for f in [factor])

    factor = 3.0
    monkeypatch.setattr("gc.get_referrers", refuse)
    traced = jit.trace(scaled)
    assert traced(ingot.ones(2), SCALES).tolist() == [2.0, 2.0]
    assert traced(ingot.ones(2)).tolist() == [2.0, 2.0]
    for fn, expected in (scaled_inside, 6.0), (lambda x: next(generated(x)), 3.0):
        traced = jit.trace(fn)
        assert [traced(ingot.ones(2)).tolist() for _ in range(3)] == [[expected] * 2] * 3


def test_functions_of_frames_are_found_by_name_if_the_interpreter_hides_them(monkeypatch):
    def refuse(*args):
        raise AssertionError("all objects were looked at")

    monkeypatch.setattr("ingot.jit.guards.frames._function_slot", lambda: None)
    monkeypatch.setattr("gc.get_referrers", refuse)
    assert jit.trace(scaled)(ingot.ones(2)).tolist() == [2.0, 2.0]


def scaling():
    """A function with a variable of its own, and one that puts another number there."""
    factor = 2

    def scale(x):
        return x * factor

    def put(value):
        nonlocal factor
        factor = value

    def count(x):
        nonlocal factor
        factor += 1
        return x * factor

    return scale, put, count


@pytest.mark.parametrize("interpreter_tells", [True, False])
def test_functions_of_one_code_have_variables_of_their_own(interpreter_tells, monkeypatch):
    if not interpreter_tells:
        monkeypatch.setattr("ingot.jit.guards.frames._function_slot", lambda: None)
    (first, put_first, _), (second, put_second, _) = scaling(), scaling()
    both, x = jit.trace(lambda x: first(x) * 10 + second(x)), ingot.ones(1)
    assert [both(x).item() for _ in range(3)] == [22] * 3
    for put, value, expected in (put_second, 3, 23), (put_first, 4, 43), (put_second, 5, 45), (put_second, 6, 46):
        put(value)
        assert both(x).item() == expected


def test_a_variable_that_is_written_is_that_of_the_function_that_runs():
    (one, _, count_one), (other, _, count_other) = scaling(), scaling()
    for traced, fn, expected in (jit.trace(count_other), other, (3, 4, 5)), (jit.trace(count_one), one, (3, 4, 5, 6)):
        x = ingot.ones(1)
        for number in expected:
            assert traced(x).item() == number
            assert fn(x).item() == number
    assert other(ingot.ones(1)).item() == 5


# The mode and other attributes of modules, written where no chain of names leads.


def evaluates(m, x):
    m.eval()
    return m(x)


def evaluates_for_a_while(m, x):
    was = m.training
    m.eval()
    y = m(x)
    m.train(was)
    return y


def trains_then_evaluates(m, x):
    y = m(x)
    m.eval()
    return y + m(x)


def sets_modes_in_a_loop(m, x):
    for child in m.modules():
        child.training = False
    return m(x)


def sets_a_number_in_a_loop(m, x):
    for child in m.children():
        if isinstance(child, nn.Dropout):
            child.p = 0.25
    return m(x)


def sets_modes_in_a_list(m, x):
    for child in [*m][::2]:
        child.eval()
    return x * 2


def asks_modes(m, x):
    return x * sum(child.training for child in m.modules())


@pytest.mark.parametrize(("fn", "most"), [(evaluates, 2), (evaluates_for_a_while, 5), (trains_then_evaluates, 5),
                                          (sets_modes_in_a_loop, 5), (sets_a_number_in_a_loop, 5),
                                          (sets_modes_in_a_list, 5), (asks_modes, 5)])
def test_writes_to_modules(fn, most):
    """Each call is entered in a mode of its own; what the function leaves of the modules is compared, too."""
    x = ingot.randn(5, 4)

    def run(step):
        ingot.manual_seed(3)
        m = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3))
        seen = []
        for i in range(12):
            m.train(i % 3 != 2)
            m[2].p = 0.3 if i % 2 else 0.25
            m[3].training = i % 2 == 0
            seen.append(plain(step(m, x)))
            seen.append([c.training for c in m.modules()] + [m[2].p])
        return seen

    traced = jit.trace(fn)
    assert run(traced) == run(fn)
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]



def test_imports_change_nothing_that_was_read():
    def fn(x):
        sys.modules.pop("wave", None)
        importlib.import_module("wave")
        return x * len(sys.modules["math"].__name__)

    traced = jit.trace(fn)
    for _ in range(3):
        assert traced(ingot.ones(2)).tolist() == [4.0, 4.0]
        sys.modules.pop("wave", None)
    assert traced.stats()["compiles"] == 1


def test_a_tensor_that_is_put_in_a_table_at_every_call():
    """The recording captures it where it was made, and finds it in the table at the next call."""
    table, w = {"window": ingot.ones(3)}, ingot.ones(3, requires_grad=True)

    def fn(x):
        for _ in range(2):
            table["window"] = ingot.hann_window(3)
        loss = (x * table["window"] * w).sum()
        loss.backward()
        with ingot.no_grad():
            w.sub_(w.grad)
        w.grad = None
        return loss

    def run(step):
        w.detach().fill_(1)
        w.grad = ingot.zeros(3)
        return [plain(step(ingot.ones(3) * i)) for i in range(6)] + [plain(w.detach())]

    traced = jit.trace(fn)
    assert run(traced) == run(fn)
    assert traced.stats()["compiles"] <= 2, traced.stats()["misses"]


@pytest.mark.parametrize("which", ["written", "with a gradient", "read"])
def test_an_argument_over_the_memory_of_a_captured_tensor(which):
    c, w = ingot.ones(3, requires_grad=which == "with a gradient"), ingot.ones(3, requires_grad=True)

    def fn(x):
        loss = (x * c * w).sum()
        if which == "written":
            c.add_(1)
            loss = loss + (x * 2).sum()
        loss.backward()
        return loss

    def run(step):
        c.detach().fill_(1)
        c.grad = w.grad = None
        return [plain(step(x)) for x in (ingot.ones(3), ingot.ones(3), c, c)] + [plain(t.grad) for t in (c, w)]

    assert run(jit.trace(fn)) == run(fn)


# Absent attributes of tensors.


def test_later_attributes_of_parameters():
    """Rates and marks of parameters that are only there for some, as optimizers of the user's own ask for them."""
    net, x = nn.Linear(2, 2), ingot.ones(2)
    rates = jit.trace(lambda x: x * sum(getattr(p, "lr_mult", 1.0) for p in net.parameters()))
    marks = jit.trace(lambda x: x * (2 if any(hasattr(p, "no_decay") for _, p in net.named_parameters()) else 1))
    for _ in range(2):
        assert rates(x).tolist() == [2, 2] and marks(x).tolist() == [1, 1]
    net.weight.lr_mult, net.bias.no_decay = 5.0, True
    for _ in range(2):
        assert rates(x).tolist() == [6, 6] and marks(x).tolist() == [2, 2]
    net.weight.lr_mult = 7.0
    assert rates(x).tolist() == [8, 8]
    del net.weight.lr_mult, net.bias.no_decay
    assert rates(x).tolist() == [2, 2] and marks(x).tolist() == [1, 1]
    assert rates.stats()["compiles"] <= 4


def test_later_attributes_of_other_tensors():
    w, kept = ingot.ones(2), [ingot.ones(2)]
    traced = jit.trace(lambda x: x * getattr(w, "tag", 1.0) + getattr(kept[0], "more", 0.0))
    x = ingot.ones(2)
    assert traced(x).tolist() == traced(x).tolist() == [1, 1]
    w.tag = 5.0
    assert traced(x).tolist() == [5, 5]
    kept[0].more = 1.0
    assert traced(x).tolist() == [6, 6]


class Switched:
    """A switch that is on while something is done."""

    def __init__(self):
        self.on, self.factor = False, 2.0

    def factor_now(self):
        return self.factor if self.on else 1.0

    def turn(self, on, factor):
        self.on, self.factor = on, factor


def test_restored_state_may_be_read_meanwhile():
    switch = Switched()

    def run(x):
        switch.turn(True, 3.0)
        y = x * switch.factor_now()
        switch.turn(False, 2.0)
        return y

    traced, seen = jit.trace(run), []
    for on in (False, False, True, False):
        switch.on = on
        seen.append((*traced(ingot.ones(1)).tolist(), switch.on, switch.factor))
    assert seen == [(3.0, False, 2.0)] * 4 and traced.stats()["compiles"] == 2


FIRST_USES = {
    "numpy.random": "import numpy.random",
    "a checkpoint": "ingot.utils.checkpoint.checkpoint(lambda x: x * 2, x, use_reentrant=False)",
    "a temporary file": "import tempfile, uuid, secrets",
}


@pytest.mark.parametrize("use", FIRST_USES)
def test_an_import_during_a_recording_draws_nothing_of_the_function(use):
    found = run_python(f"""
        import sys
        import ingot
        assert "numpy.random" not in sys.modules

        @ingot.jit.trace
        def fn(x):
            {FIRST_USES[use]}
            return x * 3

        print([fn(ingot.ones(1)).item() for _ in range(3)], fn.stats()["compiles"])
        """)
    assert found.stdout == "[3.0, 3.0, 3.0] 1\n", found.stderr


def test_numbers_drawn_from_a_module_that_is_new_are_refused():
    found = run_python("""
        import ingot

        @ingot.jit.trace
        def fn(x):
            import numpy.random
            return x * numpy.random.rand()

        try:
            fn(ingot.ones(1))
        except ingot.jit.TraceError as error:
            print(error)
        """)
    assert "numpy.random" in found.stdout and "changes from call to call" in found.stdout, found.stderr


def test_code_of_a_library_is_judged_by_its_module():
    code = (lambda m: m).__code__

    def takers(**space):
        return tracker._known_library_code(types.SimpleNamespace(f_code=code, f_globals=space))[2]

    Tracker = tracker.Tracker
    assert takers(__name__="ingot.runtime.nn.base.module", __package__="ingot.runtime.nn.base") == (Tracker._looks_at,)
    assert takers(__name__="heapq", __package__="") == ()
    assert takers(__name__="tqdm.std", __package__="tqdm") == (Tracker._enters,)
