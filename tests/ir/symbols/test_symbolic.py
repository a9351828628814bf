"""Symbolic sizes: arithmetic agrees with numbers, and every answer is right for all values that meet the recorded
conditions."""

import itertools
import math
import operator
import random

import pytest

from graphs import graph_of_sizes
from ingot.ir.graph.text import parse, show
from ingot.ir.graph.verify import verify
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.symbols import polynomial
from ingot.ir.symbols.scope import Scope
from ingot.ir.symbols.substitute import (
    choice,
    condition_check,
    data_evaluator,
    evaluator,
    function_of,
    is_same,
    owned_by,
    parse_number,
)
from ingot.ir.symbols.symbolic import SymFloat, SymInt, extreme, judged, names_of, power_of_two

BINARY = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)
COMPARE = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def grown(rng, leaves, depth):
    """Return a random integer computation as a function of the leaves."""
    if not depth or rng.random() < 0.2:
        pick = rng.randrange(len(leaves) + 1)
        number = rng.randint(1, 9)
        return (lambda v: v[pick]) if pick < len(leaves) else (lambda v: number)
    op, a, b = rng.choice(BINARY), grown(rng, leaves, depth - 1), grown(rng, leaves, depth - 1)
    return lambda v: op(a(v), b(v))


@pytest.mark.parametrize("seed", range(60))
def test_arithmetic_agrees_with_numbers(seed):
    rng = random.Random(seed)
    names = ("b", "s", "t")
    f = grown(rng, names, 4)
    now = [rng.randint(2, 12) for _ in names]
    scope = Scope()
    try:
        made = f([scope.size(n, v) for n, v in zip(names, now)])
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            f(now)
        return
    assert (made.hint if type(made) is SymInt else made) == f(now), f"seed {seed}"
    if type(made) is not SymInt:
        return
    value, holds = evaluator((made,), names), condition_check(scope.conditions, names)
    for _ in range(40):
        other = [rng.randint(2, 40) for _ in names]
        if holds(*other):
            assert value(*other) == (f(other),), f"seed {seed}: {made.text} at {other}"


@pytest.mark.parametrize("seed", range(80))
def test_answers_hold_wherever_the_conditions_do(seed):
    rng = random.Random(seed)
    names = ("b", "s")
    f, g, test = grown(rng, names, 3), grown(rng, names, 3), rng.choice(COMPARE)
    now = [rng.randint(2, 9) for _ in names]
    scope = Scope()
    try:
        answer = test(*[h([scope.size(n, v) for n, v in zip(names, now)]) if h is f else h(list(scope.numbers.values()))
                        for h in (f, g)])
        assert answer == test(f(now), g(now))
    except ZeroDivisionError:
        return
    holds = condition_check(scope.conditions, names)
    assert holds(*now)
    for b in range(2, 14):
        for s in range(2, 14):
            if holds(b, s):
                assert test(f([b, s]), g([b, s])) == answer, f"seed {seed} at {b}, {s}: {list(scope.conditions)}"


FACTORS = (2.0, 0.5, 0.25, 1.5, 0.7, 1.3, 1 / 3, 0.1, 3, 7, -2, 1e-3, math.pi)
WHOLE = {"floor": math.floor, "ceil": math.ceil, "round": round, "int": lambda x: x.whole() if type(x) is SymFloat else int(x)}


def real(rng, leaves):
    """Return a random computation of a float from sizes."""
    pick, steps = rng.randrange(len(leaves)), []
    for _ in range(rng.randint(1, 3)):
        steps.append((rng.choice((operator.mul, operator.truediv, operator.add, operator.sub)), rng.choice(FACTORS)))

    def run(v):
        x = v[pick]
        for op, y in steps:
            x = op(x, y)
        return x * 1.0

    return run


@pytest.mark.parametrize("how", WHOLE)
@pytest.mark.parametrize("seed", range(60))
def test_rounded_quotients_become_integers(how, seed):
    rng = random.Random(seed)
    f, names = real(rng, "bs"), ("b", "s")
    now = [rng.randint(2, 40) for _ in names]
    scope = Scope()
    made = WHOLE[how](f([scope.size(n, v) for n, v in zip(names, now)]))
    if made is None:                # it is no quotient, or not the nearest one
        return
    assert (made.hint if type(made) is SymInt else made) == WHOLE[how](f(now)), f"seed {seed}"
    value, holds = evaluator((made,), names), condition_check(scope.conditions, names)
    assert holds(*now)
    for b in range(2, 60):
        for s in range(2, 60, 7):
            if holds(b, s):
                assert value(b, s) == (WHOLE[how](f([b, s])),), f"seed {seed} at {b}, {s}: {list(scope.conditions)}"


def test_a_rounded_multiple_of_a_size_is_an_integer_without_conditions():
    scope = Scope()
    b = scope.size("b", 9)
    found = [math.floor(b * 2.0), math.floor(b * 0.5), (b / 3).whole(), math.ceil(b / 16), (b * 1.5 - 1.0).whole()]
    assert evaluator(found, ("b",))(33) == (66, 16, 11, 3, 48) and not scope.conditions
    n = scope.count("n", 9)                 # any integer, which 53 bits may not hold
    assert math.floor(n / 3).text == "floordiv(n,3)"
    assert list(scope.conditions) == ["math_floor(((n) / (3))) == (floordiv(n,3))"]


def test_certain_answers_add_no_condition():
    scope = Scope()
    b, s = scope.size("b", 8), scope.size("s", 8)
    assert b != 1 and b >= 2 and b * s > b and b * s - b >= 2 and (b * 64) // 64 is b and (b == 0) is False
    assert (b * s) // s is b and (64 * b + 3) % 64 == 3 and -(-(4 * b) // 4) is b and math.prod((b, s, 2)) == 2 * s * b
    assert bool(b) and max(b, 1) is b and is_same((b, 4), (b, 4)) and not is_same(b, s)
    assert not scope.conditions


@pytest.mark.parametrize("read", [int, range, hash, str, repr, float, lambda n: [0] * n, lambda n: {8: 1}[n], "{:3d}".format,
                                  math.sqrt, lambda n: list(range(10))[n], lambda n: n & 7, lambda n: n.bit_length()])
def test_reading_a_value_adds_a_condition(read):
    scope = Scope()
    b = scope.size("b", 8)
    read(b)
    holds = condition_check(scope.conditions, ("b",))
    assert holds(8) and not holds(9)
    assert scope.pinned == {"b"}


def test_a_size_is_an_int_to_isinstance_only():
    b = Scope().size("b", 8)
    assert isinstance(b, int) and type(b) is SymInt and not hasattr(b, "shape")


def test_numbers_are_computed_as_python_does():
    scope = Scope()
    n, b = scope.number("n", 0.3), scope.size("b", 7)
    made = -(n * 2 + 1) / b - abs(n - 4) * b
    assert type(made) is SymFloat and made.hint == -(0.3 * 2 + 1) / 7 - abs(0.3 - 4) * 7
    assert not [c for c in scope.conditions if "!=" not in c]
    assert evaluator((made,), ("n", "b"))(-2.5, 3) == (-(-2.5 * 2 + 1) / 3 - abs(-2.5 - 4) * 3,)
    assert n > 0.1
    holds = condition_check(scope.conditions, ("n", "b"))
    assert holds(0.2, 7) and not holds(0.05, 7)
    math.sqrt(n)
    assert not condition_check(scope.conditions, ("n", "b"))(0.2, 7)


def test_text_of_symbolic_graphs_is_read_back():
    graph = graph_of_sizes()
    text = show(verify(graph))
    assert text.startswith("graph sizes[b=4, n=0.5, seq_len=6](%x: f32[b,seq_len,8])")
    again = parse(text)
    assert show(again) == text and again == graph
    verify(again)


@pytest.mark.parametrize("text, message", [
    ("graph g[b=4](%x: f32[c]) {\n return %x\n}", "expected a size"),
    ("graph g[b=1](%x: f32[b]) {\n return %x\n}", "at least 2"),
    ("graph g[b=4, b=5](%x: f32[b]) {\n return %x\n}", "new identifier"),
    ("graph g[b=4](%x: f32[b*]) {\n return %x\n}", "expected a size"),
    ("graph g[b=4](%x: f32[b]) {\n %0: f32[b] = mul(%x, number('b.x()'))\n return %0\n}", "expected an expression"),
    ("graph g[b=4](%x: f32[b]) {\n %0: f32[b+1] = mul(%x, 2.0)\n return %0\n}", "is declared f32[b+1]"),
    (f"graph g[b=4](%x: f32[{'*'.join(['b'] * 2000)}]) {{\n return %x\n}}", "a product of more than 64 sizes"),
    (f"graph g[b=4](%x: f32[b]) {{\n %0: f32[{'*'.join(f'floordiv(b+{i},{i + 2})' for i in range(40))}] = neg(%x)\n "
     "return %x\n}",
     "a product of sums that has more than 2048 terms"),
    (f"graph g[a=4, b=5, c=6](%x: f32[a+b+c-14]) {{\n %0: f32[{','.join(['a+b+c-14'] * 90)}] = expand(%x, shape=("
     f"{','.join(['a+b+c-14'] * 90)}))\n %1: f32[1] = reshape(%0, shape=(1,))\n return %1\n}}", "a size is a product of"),
])
def test_wrong_symbolic_text_is_refused(text, message):
    with pytest.raises(Exception, match="graph text") as caught:
        parse(text)
    assert message in str(caught.value)


def test_a_scope_at_other_values_has_numbers_for_sizes_of_one():
    scope = Scope(least=1)
    b, s, n = scope.size("b", 4), scope.size("s", 6), scope.count("n", 0)
    assert b >= 1 and not scope.conditions                     # certain
    assert b >= 2 and "b-2 >= 0" in scope.conditions            # as it is now
    assert n >= 0 and "n >= 0" in scope.conditions
    for values in itertools.product((1, 2, 5), (1, 3), (-1, 0, 1, 7)):
        inner = scope.at(values)
        for size in (b, s, b * s, b * s // 4 + s % 3, (b + s) // 2 - 1, n * b):
            made = owned_by(inner, size)
            assert made == polynomial.evaluate(size.poly, dict(zip("bsn", values)))
            assert not (names_of(made) & inner.fixed.keys())
        assert set(inner.fixed) == {name for name, v in zip("bs", values) if v == 1}
        assert [eval(c, {}, dict(zip("bsn", values))) for c in list(inner.conditions)[:2]] == [True, True]


class Named(float):
    """A user's own number class."""


class Answering:
    def __gt__(self, other):
        return "mine"


def test_comparison_with_other_types_adds_no_condition():
    scope = Scope()
    n = scope.number("n", 0.5)
    assert n != None and n != "fro" and n not in ((), (1, "x"), [None])    # noqa: E711
    assert scope.conditions.keys() <= {"(n == (1)) is False"}
    assert (n < Answering()) == "mine" and not scope.pinned
    with pytest.raises(TypeError):
        n < "x"             # noqa: B015
    assert n == Named(0.5) and scope.pinned == {"n"}           # C compares only floats with it


def test_operators_on_numbers_alone_are_expressions():
    scope = Scope()
    n = scope.number("n", 4.0)
    y = ew.log(ew.sub(n, 1.0))
    assert type(y) is SymFloat and y.hint == ew.log(3.0)
    assert evaluator((y,), scope.hints)(7.5) == (ew.log(6.5),)
    assert parse_number(scope, y.text).hint == y.hint
    assert ew.eq(n, 4.0) is True and "operator_eq(n, (4.0)) == True" in scope.conditions
    holds = condition_check(scope.conditions, scope.hints)
    assert holds(4.0) and not holds(5.0)


@pytest.mark.parametrize("judges", [False, True])
def test_choices_answer_by_hints_and_may_become_conditions(judges):
    """A scope that records choices keeps them as conditions: the result holds for sizes with the same choice."""
    scope = Scope(judges=judges)
    n, at_least_100 = scope.size("n", 50), choice("at_least_100", lambda a, b: a + b >= 100)
    assert not judged(n) > 90 and not at_least_100(n, 9) and at_least_100(3, 97)
    holds = condition_check(scope.conditions, ("n",))
    assert [holds(k) for k in (2, 50, 90, 91, 200)] == ([True, True, True, False, False] if judges else [True] * 5)
    assert len(scope.conditions) == 2 * judges


@pytest.mark.parametrize("now", [2, 3, 4, 5, 8, 9, 100])
def test_powers_of_two_hold_for_the_sizes_between(now):
    scope = Scope()
    found = power_of_two(scope.size("n", now))
    holds = condition_check(scope.conditions, ("n",))
    assert found == power_of_two(now) and [k for k in range(2, 300) if holds(k)] == [
        k for k in range(2, 300) if power_of_two(k) == found]
    assert [power_of_two(k) for k in range(6)] == [1, 1, 2, 4, 4, 8]


@pytest.mark.parametrize("seed", range(30))
def test_exact_quotients_become_conditions(seed):
    """Times their divisor they are the dividend, under a condition."""
    rng = random.Random(seed)
    scope = Scope()
    scope.exact = {}
    by, values = rng.choice((2, 3, 8)), [rng.randint(2, 20) for _ in range(2)]
    n, m = (scope.size(name, k) for name, k in zip("nm", values))
    whole = n * m // by
    f = lambda a, b: (a * b // by * by * 3 + a // by) * b + 8 * (b // by)
    found, holds = f(n, m), condition_check(scope.conditions, ("n", "m"))
    evaluate = evaluator((found, whole), ("n", "m"))
    for a, b in itertools.product(range(2, 21), repeat=2):
        if holds(a, b):
            assert evaluate(a, b) == (f(a, b), a * b // by)
    assert holds(*values) and (values[0] * values[1] % by or is_same(whole * by, n * m))
    plain = Scope()
    assert "floordiv" in (plain.size("n", 16) // 8 * 8).text and not plain.conditions


def test_numbers_may_be_refused_as_keys():
    scope = Scope()
    n, scope.is_key = scope.size("n", 5), False
    for ask in (lambda: {n: 1}, lambda: hash((n, 1)), lambda: n.key):
        with pytest.raises(TypeError, match="outlive"):
            ask()
    assert not scope.conditions and n == 5 and scope.conditions


def test_symbols_in_plain_data_are_replaced_by_numbers():
    scope, thing = Scope(), object()
    n, m = scope.size("n", 5), scope.size("m", 7)
    evaluate = data_evaluator((n, (n * m, "text", thing), slice(None, m, 2), (1.5, None, True), ()), ("n", "m"))
    assert evaluate(2, 3) == (2, (6, "text", thing), slice(None, 3, 2), (1.5, None, True), ())
    assert evaluate(2, 3)[1][2] is thing


@pytest.mark.parametrize("wrapped", ["({} + {})", "abs({} - {})", "math_floor(({} + 1.5) * -{})", "(-({}) + abs({}))"])
def test_expressions_of_any_depth_are_evaluated(wrapped):
    text, value = "a", 3.0
    step = function_of(("x", "y"), wrapped.format("x", "y"))
    for i in range(700):
        text = wrapped.format(text, i % 3)
        value = step(value, i % 3)
    assert function_of(("a",), f"({text}) == {value!r} and not ({text}) < {value!r}")(3.0) is True


# The larger one of two sizes.


def test_the_larger_size_holds_for_all_sizes():
    scope = Scope()
    a, b = scope.size("a", 8), scope.size("b", 3)
    both = extreme(max, [a, b, 5])
    assert both.hint == 8
    assert extreme(max, [b, a]) is extreme(max, [a, b]) and extreme(max, [a, a + 2]).text == "a+2"
    assert extreme(min, [a, b]).hint == 3 and extreme(min, (a, 4, b)).hint == 3
    assert extreme(max, [a, b]) >= 2 and not scope.conditions
    assert extreme(max, [a, True]) is None and extreme(max, [4, 5]) is None and extreme(max, [a, 2.0]) is None
    for values in ((8, 3), (2, 9), (4, 4)):
        found = evaluator((both, extreme(min, [a, 2 * b]), extreme(max, [a, b]) // 2), scope.hints)(*values)
        assert found == (max(*values, 5), min(values[0], 2 * values[1]), max(values) // 2)


def test_the_larger_size_as_text():
    source = "graph g[a=4, b=6](%x: f32[a], %y: f32[max(a,b)]) {\n  %0: f32[max(a,b)] = neg(%y)\n  return %0\n}\n"
    assert "max(a,b)" in show(parse(source)) and show(parse(show(parse(source)))) == show(parse(source))
