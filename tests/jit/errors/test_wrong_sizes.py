"""Sizes that do not fit are reported by a trace with symbolic sizes as by eager code: in numbers, not in symbols."""

import random
import re
from collections import defaultdict

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.opdef.op import OPS
from oracle import files, kinds  # noqa: F401  (registers the functions that rows name)
from oracle.row import fill, lookup, prepare

FAMILIES = "functions", "nn_functions", "losses", "linalg", "functional", "indexing", "methods"
MOST = 2        # rows of a function
# Eager code computes these by one operator, a trace by two; their messages differ in the name of the operator.
JOINED = {"add", "sub", "subtract", "addcmul", "addcdiv"}
PUBLIC = ingot, ingot.Tensor, ingot.nn.functional, ingot.linalg, ingot.special, ingot.fft


def rows() -> dict:
    """Return {function: its rows}."""
    found = defaultdict(list)
    for family in FAMILIES:
        for row in files.read(files.FOLDER / f"{family}.xz")[1]:
            if row.kind == "function" and not row.options:
                found[row.target].append(row)
    return found


ROWS = rows()


def report(function, arrays) -> str:
    """Return the error of a call, or "" if it works."""
    try:
        function(*[ingot.tensor(a) for a in arrays])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def with_a_longer_dim(arrays):
    """Yield the arrays with one dim of one of them longer by 1 or 2."""
    for k, a in enumerate(arrays):
        for d in range(a.ndim):
            for more in (1, 2):
                yield [*arrays[:k], np.concatenate([a, a.take(range(min(more, a.shape[d])), d)], d), *arrays[k + 1:]]


@pytest.mark.drawn
@pytest.mark.parametrize("target", [target for target in ROWS if target.rpartition(".")[2].rstrip("_") not in JOINED])
def test_messages_of_traces_are_those_of_eager_code(target):
    function, wrong = lookup(ingot, target), []
    for row in random.Random(target).sample(ROWS[target], min(MOST, len(ROWS[target]))):
        (args, kwargs), given = prepare(ingot, (row.args, row.kwargs))
        arrays = [np.array(a) for a, _ in given]

        def call(*tensors, args=args, kwargs=kwargs):
            return function(*fill(args, tensors), **fill(kwargs, tensors))

        traced = jit.trace(call, dynamic=True)
        if report(traced, arrays):      # such a call is not recorded, whatever its sizes
            continue
        for changed in with_a_longer_dim(arrays):
            said = report(call, changed)
            if said and report(traced, changed) != said:
                wrong.append((said, report(traced, changed)))
    assert not wrong, "\n".join(f"eager: {said}\ntraced: {found}" for said, found in wrong)


def with_another_kind(arrays):
    """Yield the arrays with one of another dtype or with one more dim."""
    for k, a in enumerate(arrays):
        for other in (a.astype(bool), a.astype(np.complex64), a.astype(np.int64), a[None]):
            yield [*arrays[:k], other, *arrays[k + 1:]]


def is_internal(name: str) -> bool:
    """Return whether a name is that of an operator which is no function, method or beginning of one."""
    return name in OPS and not any(public.startswith(name) for place in PUBLIC for public in dir(place))


@pytest.mark.drawn
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ROWS)
def test_messages_name_functions_of_users(target):
    function, wrong = lookup(ingot, target), []
    for row in random.Random(target).sample(ROWS[target], min(MOST, len(ROWS[target]))):
        (args, kwargs), given = prepare(ingot, (row.args, row.kwargs))
        arrays = [np.array(a) for a, _ in given]
        for changed in (*with_a_longer_dim(arrays), *with_another_kind(arrays)):
            said = report(lambda *tensors, a=args, k=kwargs: function(*fill(a, tensors), **fill(k, tensors)), changed)
            if is_internal(re.split("[: ]", said.partition(": ")[2])[0]):
                wrong.append(said)
    assert not wrong, "\n".join(wrong)
