"""The tape (`runtime/core/taping.py`): generated code for a kind of call does what the step-by-step path does.

node       the same edges, saved values, guards and results that carry gradients, for every operator of the table of samples,
           with each argument's history left out in turn
kinds      calls of other kinds get code of their own; those with many arguments, or unusual ones, go step by step
"""

import itertools

import numpy as np
import pytest

import ingot
from ingot.ir import dtype as dt
from ingot.ir.opdef.op import NO_GRAD, OPS
from ingot.runtime.core import taping
from ingot.runtime.core.node import ComplexNode, Node, Output
from ingot.runtime.core.tensor import Tensor, wrap
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)
from tests.runtime.core.test_specialized_calls import arrays

NAMES = sorted(n for n in SAMPLES if OPS[n].vjp is not NO_GRAD)


@pytest.fixture(autouse=True)
def nothing_written():
    taping.written.clear()
    yield
    taping.written.clear()


def called(op, sample, which):
    """Return a sample's arguments as tensors, of which those in `which` require gradients, and the results."""
    args = [wrap(a.copy()) if isinstance(a, np.ndarray) else a for a in arrays(sample)]
    for i in which:
        args[i].requires_grad_()
    with ingot.no_grad():
        out = op(*args, **sample.params)
    return args, out


def histories(sample):
    """Yield choices of arguments with a history: all that can have one, and all but one."""
    found = [i for i, a in enumerate(arrays(sample)) if isinstance(a, np.ndarray) and dt.from_numpy(a.dtype).is_inexact]
    return [which for which in (tuple(found), *itertools.combinations(found, max(0, len(found) - 1))) if which]


def facts(args, out):
    """Return the node of a call, with objects by the names of their places."""
    names = {id(t._node): f"history {i}" for i, t in enumerate(args) if isinstance(t, Tensor) and t._node is not None}
    outs = out if isinstance(out, tuple) else (out,)
    names |= {id(t._a): f"array {i}" for i, t in enumerate((*args, *outs)) if isinstance(t, Tensor)}
    names |= {id(t._shared): f"storage {i}" for i, t in enumerate((*args, *outs)) if isinstance(t, Tensor) and t._shared}
    node = next((t._node for t in outs if t is not None and t._node is not None), None)
    node = node.source if type(node) is Output else node

    def described(x):
        if isinstance(x, tuple):
            return [described(y) for y in x]
        if type(x) is Node:                 # a broadcast that numpy did
            return [x.op.name, x.params, described(x.edges), described(x.saved)]
        return names.get(id(x), str(x))

    if not isinstance(node, Node):
        return None
    guards = [(described(storage), version) for storage, version in node.guards]
    return (type(node) is ComplexNode, node.op.name, node.params, described(node.edges), described(node.saved), sorted(guards),
            described(node.outs), node.inexact_outs and tuple(node.inexact_outs),
            [t is not None and type(t._node).__name__ for t in outs], [t is not None and t._shared is not None for t in outs])


@pytest.mark.parametrize("name", NAMES)
def test_generated_taping_equals_the_step_by_step_path(name):
    op = OPS[name]
    for number, sample in enumerate(rows(name)):
        for which in histories(sample):
            found = []
            several = isinstance(called(op, sample, which)[1], tuple)
            for put in (taping.record, taping._several_by_steps if several else taping._by_steps):
                args, out = called(op, sample, which)
                if op.is_view:
                    out = Tensor.__new__(Tensor)
                    out._a, out._node, out._shared = op.ref(args[0]._a, **sample.params), None, args[0]._storage
                put(op, args, sample.params, out)
                found.append(facts(args, out))
            assert found[0] == found[1], f"sample {number}, histories of {which}"


def test_kinds_of_calls_have_code_of_their_own():
    x, w = ingot.ones(2, 3, requires_grad=True), ingot.ones(4, 3, requires_grad=True)
    for args in ((x, w, None), (x, w.detach(), None), (x.detach(), w, None), (x, w, ingot.ones(4))):
        ingot.nn.functional.linear(*args)
    assert len({key for key in taping.written if key[0].name == "linear"}) == 4
    assert all(put.__name__ == "put" for put in taping.written.values())


def test_many_arguments_go_step_by_step():
    parts = [ingot.full((2,), float(i), requires_grad=True) for i in range(2 * taping._MOST)]
    ingot.cat(parts).square().sum().backward()
    assert [p.grad.tolist() for p in parts] == [[2.0 * i] * 2 for i in range(len(parts))]
    assert taping._by_steps in taping.written.values()


def test_operands_that_numpy_lays_over_each_other_get_gradients_of_their_own_shapes():
    x, y, z = (ingot.ones(*shape, requires_grad=True) for shape in ((2, 3), (3,), (2, 1)))
    ingot.addcmul(x, y, z, value=2.0).sum().backward()
    ingot.where(x > 0, y, z).sum().backward()
    assert any(key[0].broadcasts and put.__name__ == "put" for key, put in taping.written.items())
    assert (x.grad.tolist(), y.grad.tolist(), z.grad.tolist()) == ([[1.0] * 3] * 2, [6.0] * 3, [[6.0]] * 2)
