"""Sets that are given the content of another one go on as that one does, whatever happened to it before."""

import random

import pytest

from ingot.jit.proxies import set_layout
from ingot.jit.proxies.set_layout import can_be_given, content_of_set, give_content, layout_of, set_of
from seeds import seeds

KINDS = (lambda r: r.randint(-5, 60), lambda r: 8 * r.randint(0, 30), lambda r: 32 * r.randint(0, 30),
         lambda r: r.getrandbits(61), lambda r: (1 << 60) + r.randint(0, 9), lambda r: r.random() * 100,
         lambda r: (r.randint(0, 9),), lambda r: str(r.random()))


def lived(draw, pool) -> set:
    """Return a set after a random history."""
    values: set = set()
    for _ in range(draw.choice((0, 5, 20, 100, 700))):
        one, some, kind = draw.choice(pool), draw.sample(pool, draw.randint(0, min(len(pool), 12))), draw.randint(0, 12)
        if kind < 5:
            values.add(one)
        elif kind < 8:
            values.discard(one)
        elif kind == 8:
            values.update(some)
        elif kind == 9:
            values |= set(some)
        elif kind == 10 and draw.random() < 0.2:
            values &= set(pool[:len(pool) // 2])
        elif kind == 10:
            values -= set(some)
        elif kind == 11 and values:
            values.pop()
        else:
            values.update(dict.fromkeys(some))
    return values


def check_they_stay_alike(draw, pool, a, b):
    for _ in range(30):
        assert [*a] == [*b] and layout_of(a) == layout_of(b)
        one, kind = draw.choice(pool), draw.random()
        if kind < 0.5:
            a.add(one)
            b.add(one)
        elif kind < 0.8 or not a:
            a.discard(one)
            b.discard(one)
        else:
            assert a.pop() is b.pop()
    assert [*a.copy(), *(a | {1, 9, 17})] == [*b.copy(), *(b | {1, 9, 17})]


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_a_set_with_the_content_of_another_goes_on_alike(seed):
    draw = random.Random(seed)
    for _ in range(10):
        pool = [draw.choice(KINDS)(draw) for _ in range(draw.choice((5, 20, 100, 600)))]
        first, other = lived(draw, pool), lived(draw, pool)
        content = content_of_set(first)
        assert can_be_given(content)
        check_they_stay_alike(draw, pool, set_of(content), first)
        first = lived(draw, pool)
        if content_of_set(first).layout[:8] != bytes(8):        # no method of a set that has popped goes back to the start
            give_content(other, *content_of_set(first))
            check_they_stay_alike(draw, pool, other, first)


def test_layouts_tell_histories_apart_that_show_the_same_order():
    plain, longer, removed, popped = {1, 2}, set(range(30)), {1, 2, 4}, {0, 1, 2}
    longer &= {1, 2}
    larger = set(range(30))
    for v in range(3, 30):
        larger.discard(v)
    larger.discard(0)
    removed.discard(4)
    popped.pop()
    assert [*plain] == [*longer] == [*larger] == [*removed] == [*popped] == [1, 2]
    assert len({layout_of(x) for x in (plain, larger, removed, popped)}) == 4
    assert layout_of({1, 2}) == layout_of(frozenset((1, 2))) == layout_of(plain)


def test_methods_of_a_class_are_not_called():
    class Own(set):
        def add(self, value):
            raise AssertionError

        discard = clear = update = pop = __iter__ = add

    made = Own()
    give_content(made, *content_of_set({0, 8, 16}))
    assert layout_of(made) == layout_of({0, 8, 16})


def test_elements_that_are_made_anew_are_added():
    class Own:
        pass

    content = content_of_set({1, Own(), 2})
    made: set = set()
    give_content(made, (1, 2, Own()) if content.elements[1] == 2 else content.elements, content.layout)
    assert {1, 2} < made and len(made) == 3


def test_an_interpreter_that_does_not_tell_layouts_repeats_no_set(monkeypatch):
    monkeypatch.setattr(set_layout, "knows_layouts", lambda: False)
    assert layout_of({1}) != layout_of({1})
    assert not can_be_given(content_of_set({1}))


@pytest.mark.parametrize("change", [lambda s: s.add(7), lambda s: s.discard(16), lambda s: s.add("k"), lambda s: s.add(24),
                                    lambda s: None])
def test_a_set_keeps_the_elements_that_stay(change, monkeypatch):
    """Other threads may ask for them meanwhile, as they may while eager code adds or removes one."""
    a, b = [set_of(content_of_set({0, 8, 16, 3, "t"})) for _ in range(2)]
    change(a)
    monkeypatch.setattr(set_layout, "_rebuild", lambda *_: pytest.fail("the set was emptied"))
    give_content(b, *content_of_set(a))
    assert content_of_set(a) == content_of_set(b)
