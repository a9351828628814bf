"""C code that looks at the very types of numbers: a traced function gives eager results, or says where it cannot."""

import array
from datetime import timedelta
from decimal import Decimal

import pytest

import ingot
from ingot import jit
from ingot.jit.errors.errors import TraceError

TAKES = {"timedelta": lambda v: timedelta(seconds=v) / timedelta(seconds=1), "decimal": lambda v: float(Decimal(v)),
         "array": lambda v: array.array("d", [v])[0], "text": lambda v: float("%.3f" % v), "plain": lambda v: v}
NUMBERS = {"read": lambda x, v: x.sum().item(), "float": lambda x, v: float(x.sum()), "int": lambda x, v: int(x.sum()),
           "argument": lambda x, v: v, "size": lambda x, v: x.shape[0]}


def calls(fn, wrap):
    """Return the results of a function for some calls; the third comes twice."""
    made = wrap(fn)
    return [made(ingot.full((2 + i,), float(i)), 3 * i) for i in (0, 1, 2, 2, 3)]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("take", TAKES)
def test_functions_without_effects_give_what_eager_gives(take, number):
    def fn(x, v):
        return (x * 2).sum().item(), TAKES[take](NUMBERS[number](x, v)), type(TAKES[take](NUMBERS[number](x, v)))

    assert calls(fn, jit.trace) == calls(fn, lambda f: f)


@pytest.mark.parametrize("effect", ["tensor", "attribute", "draw", "host"])
@pytest.mark.parametrize("number", ["read", "argument"])
def test_writes_happen_once(number, effect, capsys):
    class Held:
        count = 0

    held, total = Held(), ingot.zeros(())

    def fn(x, v):
        if effect == "tensor":
            total.add_(1)
        elif effect == "attribute":
            held.count += 1
        elif effect == "draw":
            ingot.rand(())
        else:
            print("called", total)
        return TAKES["decimal"](NUMBERS[number](x, v))

    traced, given = jit.trace(fn), []
    ingot.manual_seed(3)
    for i in range(5):
        x = ingot.full((2,), float(i))
        try:
            given.append((traced(x, i), 2.0 * i if number == "read" else i))
        except TraceError as error:
            assert "test_numbers_in_c_code.py" in str(error) and "jit.host" in str(error)
    assert len(given) == 4 and all(a == b for a, b in given)
    drawn = ingot.rand(())
    ingot.manual_seed(3)
    for _ in range(5 if effect == "draw" else 0):
        ingot.rand(())
    assert drawn == ingot.rand(())
    done = {"tensor": total.item(), "attribute": held.count, "draw": 5, "host": capsys.readouterr().out.count("called")}
    assert done[effect] in ((5,) if effect != "host" else (4, 5))


def test_errors_of_user_code_pass_unchanged():
    @jit.trace
    def fn(x):
        return x + len(3)

    with pytest.raises(TypeError) as caught:
        fn(ingot.ones(2))
    assert not isinstance(caught.value, TraceError)


def test_tables_of_characters_give_numbers_once():
    class Table:
        count, step = 0, 0

        def __getitem__(self, k):
            self.count += 1
            return k + self.step

    def run(wrap):
        table = Table()

        def fn(x):
            return x * ord("a".translate(table)), table.count

        call, found = wrap(fn), []
        for step in (0, 1, 2, 3, 3):
            table.step = step
            x, count = call(ingot.ones(2))
            found.append((x.tolist(), count))
        return found

    assert run(jit.trace) == run(lambda fn: fn)
