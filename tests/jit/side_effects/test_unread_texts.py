"""Texts of symbolic numbers, by table: eager's results, and few recordings where nothing reads the text."""

import pytest

import ingot
from ingot import jit

LENGTHS = (4, 8, 9, 120)


def check(holds, message=None, raises=True):
    if not holds:
        if raises:
            raise ValueError(f"{holds} is false.\n{message}")
        return False
    return True


def with_prefix(message):
    return f"[{message}]"


def looks(message, x):
    return x * len(message)


def in_closure(message, x):
    return (lambda: x * len(message))()


class Batch:
    """An object whose text tells its size."""

    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Batch({self.n})"

    def check(self, holds, message):
        check(holds, message=f"{self.n}: {message}")


def of_variable(x):
    message = f"got {x.shape[0]}"
    check(x.ndim == 2, message)
    if message and message is not None:
        check(x.ndim == 2, message=message)
    return x * 2


def of_object(x):
    batch = Batch(x.shape[0])
    batch.check(True, f"got {batch}")
    return x * 2


def of_item(x):
    total = x.sum().item()
    check(x.ndim == 2, f"sum {total:.3f} and {total}")
    return x * total


def of_branch(x):
    check(x.ndim == 2, f"got {x.shape[0]}" if x.ndim == 2 else f"got {x.shape}")
    return x * 2


def caught(x):
    try:
        check(x.ndim == 3, f"got {x.shape[0]}")
    except ValueError as error:
        return x * len(str(error))


def in_table(x):
    return x * {"8": 1.0, "got 9": 3.0}.get(f"got {x.shape[0]}", 2.0)


def by_locals(x):
    text = f"{x.shape[0]}"
    return x * len(locals()["text"])


def in_loop(x):
    text = ""
    for _ in range(2):
        text = f"{text}{x.shape[0]}"
    return x * len(text)


def or_default(x):
    return x * len(f"{x.shape[0]}" or "none")


def by_spec(x):
    return x * len(f"{'a':>{x.shape[0]}}")


def cut(x):
    return looks(f"{x.shape!s:.14}" if x.ndim == 2 else "", x)


# (program, recordings at most; None where each length has its own)
PROGRAMS = [
    (lambda x: (check(x.ndim > 1, f"got {x.shape}"), x * 2)[1], 2), (of_variable, 2), (of_object, 2), (of_branch, 2),
    (lambda x: (check(x.ndim > 1, f"{x.shape[0] / 2:.1f} {x.shape!r} {x.shape[0]!s}"), x * 2)[1], 2),
    (lambda x: (check(x.ndim > 1, "got {}, {}".format(x.shape, x.shape[0])), x * 2)[1], 2),  # noqa: UP032
    (lambda x: (check(x.ndim > 1, "got %s" % (x.shape,)), x * 2)[1], 2),
    (lambda x: (check(x.ndim > 1, str(x.shape[0])), check(True, repr(x.shape)), x * 2)[-1], 2),
    (lambda x: (check(x.ndim > 1, format(x.shape[0], "d")), check(True, with_prefix(with_prefix(f"{x.ndim}"))), x * 2)[-1], 2),
    (lambda x: (check(x.ndim > 1, with_prefix(f"{x.shape[0]}")), x * 2)[1], 2), (of_item, 2),
    (lambda x: x * (1 if check(x.ndim == 3, f"got {x.shape}", raises=False) else 2), 2),
    (caught, None), (in_table, None), (by_locals, None), (in_loop, None), (or_default, None), (by_spec, None), (cut, None),
    (lambda x: x * float("{!s:.1}".format(x.shape[0])), None),  # noqa: UP032
    (lambda x: x * looks(message=f"{x.shape[0]}", x=2), None),
    (lambda x: x * len(f"got {x.shape[0]}"), None), (lambda x: looks(f"{x.shape[0]}", x), None),
    (lambda x: in_closure(f"{x.shape[0]}", x), None), (lambda x: x * len(with_prefix(f"{x.shape[0]}")), None),
    (lambda x: x * (f"{x.shape[0]}" == "8"), None), (lambda x: x * len([f"{x.shape[0]}"][0]), None),
    (lambda x: x * looks(*[f"{x.shape[0]}", 2]), None), (lambda x: x * float(f"{x.sum().item()}"), None),
    (lambda x: x * max(f"{x.shape[0]}", "8").count("8"), None), (lambda x: x * len(f"{Batch(x.shape[0])}".upper()), None),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_texts_fix_numbers_only_where_something_reads_them(program):
    fn, most = program
    traced = jit.trace(fn)
    for n in LENGTHS:
        x = ingot.full((n, 2), n / 8)
        assert traced(x).tolist() == fn(x).tolist(), n
    assert most is None or traced.stats()["compiles"] <= most, traced.stats()["misses"]


def test_an_error_has_its_text():
    traced = jit.trace(lambda x: (check(x.ndim == 2, f"got {x.shape[0]}"), x * 2)[1])
    for n in LENGTHS[:3]:
        traced(ingot.ones(n, 2))
    with pytest.raises(ValueError, match="got 7"):
        traced(ingot.ones(7))
