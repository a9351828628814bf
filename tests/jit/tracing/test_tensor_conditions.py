"""Identity of tensors: arguments, views of one memory, captured tensors and results, as eager code sees it."""

import itertools

import pytest

import ingot
from ingot import jit, nn

T = ingot.arange(6.0)
VIEW, PART, WHOLE, DETACHED, OTHER = T[::2], T[:3], T[:], T.detach(), ingot.ones(6)
NET = nn.Linear(2, 2)
NET.register_buffer("buffer", ingot.ones(2))
NET.register_buffer("view", ingot.ones(4)[:2])


class Box:
    pass


BOX, LIST, DICT, KEYS = Box(), [T, VIEW], {"t": T, "v": VIEW}, {T: "t", VIEW: "v"}
BOX.t, BOX.v = T, VIEW
A = ingot.arange(6.0)
PAIRS = {"one": (A, A), "view": (A, A[:]), "detached": (A, A.detach()), "two views": (A[:], A[:]), "parts": (A[:3], A[:3]),
         "halves": (A[:3], A[3:]), "copy": (A, A.clone()), "turned": (A[:], A), "reshaped": (A, A.view(6))}


def memo(x, y):
    seen = {}
    seen[x] = 1
    seen[y] = 2
    return len(seen)


OF_TWO = {
    "is": lambda x, y: x is y, "is not": lambda x, y: x is not y, "in a list": lambda x, y: any(v is x for v in [y]),
    "id": lambda x, y: id(x) == id(y), "ids": lambda x, y: len({id(x), id(y)}), "a set": lambda x, y: len({x, y}),
    "a key": lambda x, y: {x: 1}.get(y, 0), "a memo": memo, "a branch": lambda x, y: "same" if x is y else "other",
    "positions": lambda x, y: [i for i, v in enumerate([x, y]) if v is x], "index": lambda x, y: [x, y].index(x),
    "helper": lambda x, y: (lambda a, b: a is b)(x, y), "in": lambda x, y: x in [x, y],
}
OF_ONE = {
    "a global": lambda x: x is T, "a view": lambda x: x is VIEW,
    "a list": lambda x: any(x is v for v in LIST),
    "positions": lambda x: [i for i, v in enumerate(LIST) if v is x], "attributes": lambda x: (x is BOX.t, x is BOX.v),
    "values": lambda x: [k for k, v in DICT.items() if v is x], "keys": lambda x: KEYS.get(x, "?"),
    "a set": lambda x: x in {T, VIEW},
    "id": lambda x: id(x) == id(T), "a module": lambda x: (x is NET.weight, x is NET.buffer, x is NET.view),
    "parameters": lambda x: any(x is p for p in NET.parameters()), "buffers": lambda x: [x is b for b in NET.buffers()],
    "a key of": lambda x: x in KEYS, "captured alone": lambda x: (T is BOX.t, BOX.v is VIEW, VIEW is T),
}
ONES = {"T": T, "view": VIEW, "part": PART, "whole": WHOLE, "detached": DETACHED, "other": OTHER, "weight": NET.weight,
        "buffer": NET.buffer, "view of a module": NET.view}


def told(f, *args):
    try:
        return f(*args)[1]
    except jit.TraceError:
        return jit.TraceError


@pytest.mark.parametrize("pairs", [*itertools.permutations(PAIRS, 2)], ids="-".join)
@pytest.mark.parametrize("question", OF_TWO)
def test_arguments_that_are_one_tensor(question, pairs):
    def f(x, y):
        return x * 2, OF_TWO[question](x, y)

    traced = jit.trace(f)
    for name in (pairs[0],) * 3 + (pairs[1],) * 2 + (pairs[0], pairs[1], pairs[0]):
        assert told(traced, *PAIRS[name]) in (f(*PAIRS[name])[1], jit.TraceError)


@pytest.mark.parametrize("names", [*itertools.permutations(ONES, 2)], ids="-".join)
@pytest.mark.parametrize("question", OF_ONE)
def test_arguments_that_are_captured_tensors(question, names):
    def f(x):
        return x * 2, OF_ONE[question](x)

    traced = jit.trace(f)
    for name in (names[0],) * 3 + (names[1],) * 2 + (names[0], names[1], names[0]):
        assert told(traced, ONES[name]) in (f(ONES[name])[1], jit.TraceError)


def stores(x):
    BOX.stored = VIEW
    return x


def stores_argument(x):
    BOX.stored = x
    return x


RESULTS = {       # function, and the questions of its result
    "captured": (lambda x: T, lambda x, r: r is T), "captured view": (lambda x: VIEW, lambda x, r: r is VIEW),
    "twice": (lambda x: (VIEW, VIEW, T, x), lambda x, r: (r[0] is r[1], r[0] is VIEW, r[2] is T, r[3] is x)),
    "a list": (lambda x: LIST, lambda x, r: (r is LIST, r[0] is T, r[1] is VIEW)),
    "a new list": (lambda x: list(LIST), lambda x, r: (r[0] is T, r[1] is VIEW)),
    "of a module": (lambda x: (NET.weight, NET.buffer, NET.view),
                    lambda x, r: (r[0] is NET.weight, r[1] is NET.buffer, r[2] is NET.view)),
    "itself in a dtype": (lambda x: (VIEW.to(ingot.float32), x.to(ingot.float32)), lambda x, r: (r[0] is VIEW, r[1] is x)),
    "itself in a row": (lambda x: PART.contiguous(), lambda x, r: r is PART),
    "written view": (lambda x: VIEW.mul_(1), lambda x, r: r is VIEW),
    "written": (lambda x: x.detach().mul_(1), lambda x, r: r is x),
    "view of a view": (lambda x: VIEW[:2], lambda x, r: (r is VIEW, r._base is T, r.data_ptr() == VIEW.data_ptr())),
    "new view": (lambda x: x[:], lambda x, r: (r is x, r.data_ptr() == x.data_ptr())),
    "detached": (lambda x: VIEW.detach(), lambda x, r: (r is VIEW, r.data_ptr() == VIEW.data_ptr())),
    "stored": (stores, lambda x, r: BOX.stored is VIEW),
    "stored argument": (stores_argument, lambda x, r: BOX.stored is x),
}
MADE = {"plain": lambda: ingot.ones(6), "a view": lambda: ingot.ones(12)[::2],
        "a leaf": lambda: ingot.ones(6, requires_grad=True),
        "with history": lambda: ingot.ones(6, requires_grad=True) * 1}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_the_very_tensors(name, made):
    f, asked = RESULTS[name]

    def life(wrap):
        traced, seen = wrap(f), []
        for _ in range(4):
            x = MADE[made]()
            seen.append(asked(x, traced(x)))
        return seen

    assert life(jit.trace) == life(lambda f: f)


def test_two_arguments_of_one_memory_are_returned_as_they_are():
    traced = jit.trace(lambda x, y: (y, x, x + y))
    for _ in range(4):
        a = ingot.arange(3.0)
        for x, y in ((a, a.detach()), (a, a[:]), (a[:2], a[1:]), (a, a)):
            found = traced(x, y)
            assert found[0] is y
            assert found[1] is x
            assert found[2].tolist() == (x + y).tolist()


def test_a_view_that_is_turned_between_calls():
    base = ingot.arange(6.0).reshape(2, 3)
    view = base[:, :2]
    traced = jit.trace(lambda x: (view, view * x))
    for i in range(6):
        if i in (3, 4):
            view.t_()
        found, product = traced(ingot.tensor(2.0))
        assert found is view
        assert product.tolist() == (view * 2).tolist()


def test_functions_that_compare_nothing_keep_one_recording():
    """Passing a captured tensor now and then makes no other recording, unless the code may notice."""
    traced = jit.trace(lambda x: x * T)
    for x in (OTHER, OTHER, OTHER.clone(), WHOLE, OTHER):
        assert traced(x).tolist() == (x * T).tolist()
    assert traced.stats()["compiles"] == 1, traced.stats()["misses"]
