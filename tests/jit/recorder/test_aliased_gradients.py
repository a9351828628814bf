"""Gradients that share memory with other tensors: views (of an argument, of one buffer for all), one tensor for two leaves, one
that is also reached otherwise. Traced calls agree with eager ones."""

import pytest

import ingot
from ingot import jit
from side_by_side import numbers


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
