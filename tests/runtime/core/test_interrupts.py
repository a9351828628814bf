"""Exceptions from signal handlers in eager operators: they reach the caller, and no operator runs twice for them."""

import signal

import pytest

import ingot
from interrupts import Interrupted, install_as_handler, is_from_outside, points_of, raised_at

X, BOTH = ingot.ones(4), (ingot.ones(4), ingot.full((4,), 2.0))
CALLS = {
    "x + y": lambda: BOTH[0] + BOTH[1], "2 - x": lambda: 2.0 - BOTH[0], "sin": lambda: ingot.sin(X),
    "maximum": lambda: ingot.maximum(*BOTH), "large": lambda: ingot.zeros(1 << 16) + 1.0, "rand": lambda: ingot.rand(4),
    "index": lambda: X[1:] @ X[1:], "x += y": lambda: X.add_(BOTH[1]), "x *= 1.5": lambda: X.mul_(1.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_exception_from_outside_reaches_the_caller_of_an_operator(name):
    call, before = CALLS[name], signal.getsignal(signal.SIGUSR2)
    install_as_handler(signal.SIGUSR2)
    try:
        for _ in range(3):
            call()
        for number in range(points_of(call)):
            old = X.tolist()
            _, error, reached = raised_at(number, call, Interrupted)
            assert is_from_outside(error) or not reached, (number, error)
            changed = ingot.tensor(old)
            if "=" in name and X.tolist() != old:
                changed = changed + 2.0 if name == "x += y" else changed * 1.5
            assert X.tolist() == changed.tolist(), "it ran twice"
            X.fill_(1.0)
    finally:
        signal.signal(signal.SIGUSR2, before)
