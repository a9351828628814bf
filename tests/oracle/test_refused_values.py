"""Functions called with values that they may refuse: replays raise eager's errors, also if nothing reads the results."""

import numpy as np
import pytest

import ingot
import row_sample
from ingot import jit, nn
from oracle.row import fill, lookup, prepare
from oracle.test_oracle import FAMILIES

NAN, INF = float("nan"), float("inf")
ODD = {"f": (NAN, -1.5, 2.5, 0.0, INF, -1e30), "i": (-1, 99, 0, -99), "b": (False, True), "u": (255, 0), "c": (complex(NAN), 0)}
RUNS, PARTS = 28, 16        # runs that share the rows, and tests that share those of a run


def callable_rows() -> list:
    """Return the rows whose target is called with the arguments of the row alone."""
    return [(family, row) for family, rows in FAMILIES.items() for row in rows
            if row.kind in ("function", "in place", "attribute") and not row.options.get("eager")]


ROWS = callable_rows()


def call_of(row):
    """Return (function of tensors, arrays) of a row."""
    template, arrays = prepare(ingot, (row.args, row.kwargs))
    arrays = [np.asarray(a) for a, _ in arrays]

    def call(*tensors):
        args, kwargs = fill(template, tensors)
        if row.target.startswith("Tensor."):
            found = getattr(args[0], row.target.removeprefix("Tensor."))
            return found(*args[1:], **kwargs) if callable(found) else found
        return lookup(ingot, row.target)(*args, **kwargs)

    return call, arrays


def odd(arrays):
    """Yield (what was changed, arrays) with odd values everywhere, or in the middle, of one array."""
    for i, a in enumerate(arrays):
        for value in ODD.get(a.dtype.kind, ()) if a.size else ():
            for start in {0, a.size // 2}:
                changed = a.copy()
                changed.reshape(-1)[start:start + 1 if start else None] = value
                yield f"{value} in argument {i} from {start}", [*arrays[:i], changed, *arrays[i + 1:]]


def error_of(function, arrays) -> str:
    try:
        function(*[ingot.tensor(a) for a in arrays])
    except jit.TraceError:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def differences(row) -> list:
    """Return the odd values for which a replay of the row raises another error than eager code."""
    call, arrays = call_of(row)

    def unread(*tensors):
        call(*tensors)

    if isinstance(lookup(ingot, row.target), type(nn.Module)) or error_of(unread, arrays):
        return []
    traced = jit.trace(unread)
    for _ in range(2):
        assert not error_of(traced, arrays)
    found = []
    for what, changed in odd(arrays):
        eager, replayed = error_of(unread, changed), error_of(traced, changed)
        if eager != replayed:
            found.append(f"{row.name}, {what}: {eager or 'nothing'} becomes {replayed or 'nothing'}")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_replays_refuse_what_eager_code_refuses(part, pytestconfig):
    """The seed of the run draws the rows."""
    rows = row_sample.some(ROWS, pytestconfig.option.seed, "refused values", RUNS)[part::PARTS]
    wrong = [f"{family}:{line}" for family, row in rows for line in differences(row)]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:20])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_replays_refuse_what_eager_code_refuses_in_all_rows(part):
    wrong = [f"{family}:{line}" for family, row in ROWS[part::PARTS] for line in differences(row)]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:20])
