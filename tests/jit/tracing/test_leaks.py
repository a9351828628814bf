"""Dropped recordings leave nothing behind."""

import gc
import weakref

import numpy as np
import pytest

import ingot
from graph_interpreter import interpret
from ingot import jit
from ingot.ir.errors import GraphError
from ingot.ir.graph.text import parse
from ingot.ir.ops.core.host_call import FUNCTIONS
from ingot.jit.replay import symbolic_job
from ingot.runtime.cpu.calls import call
from state_programs import Holder


def test_host_functions_are_freed_with_their_recordings():
    seen = []

    def recorded(k):
        big = Holder()
        seen.append(weakref.ref(big))
        more = jit.host(lambda v, big=big: v + k)
        traced = jit.trace(lambda x: more(x) * 2)
        for n in range(1, 6):
            assert (traced(ingot.ones(n)) == 2 + 2 * k).all()
        return traced

    before = len(FUNCTIONS)
    for k in range(4):
        traced = recorded(k)
        assert seen[-1]() is not None
        del traced
        gc.collect()
    assert [ref() for ref in seen] == [None] * 4 and len(FUNCTIONS) == before


def test_graph_text_finds_a_host_function_while_it_is_alive():
    def fn(x):
        return jit.host(lambda v: v + 1)(x) * 2

    traced = jit.trace(fn)
    traced(ingot.ones(2))
    traced(ingot.ones(2))
    graph = next(iter(next(iter(traced.graphs.values())).values()))
    again = parse(str(graph))
    assert interpret(again, [np.ones(2, np.float32)]).outputs[0].tolist() == [4.0, 4.0]
    assert parse(str(again)) == graph
    del traced, graph, fn
    gc.collect()
    with pytest.raises(GraphError, match="is gone"):
        interpret(again, [np.ones(2, np.float32)])


def test_bindings_of_sizes_share_what_calls_them(monkeypatch):
    monkeypatch.setattr(symbolic_job, "MOST_UNBOUND", 0)
    traced = jit.trace(lambda x: (x.sin() * 2 + x.sum()).softmax(0))
    for n in range(2, 10):
        traced(ingot.ones(n))
    before = len(call._live_reads)
    for n in range(10, 60):
        traced(ingot.ones(n))
    assert traced.stats()["bindings"] > 50 and len(call._live_reads) <= before + 2


WEIGHTS = ingot.randn(4, 4, requires_grad=True)
CALLS = {
    "double": lambda x: x * 2,
    "product": lambda x: x @ WEIGHTS,
    "itself": lambda x: x,
    "view": lambda x: x[0],
    "detach": lambda x: x.detach(),
    "saved result": lambda x: x.exp(),
    "loss": lambda x: (x * x).sum(),
    "number": lambda x: (x * x).sum().item(),
    "branch": lambda x: x * 2 if x.sum() > 0 else x * 3,
    "list": lambda x: [x * i for i in range(3)] + [x],
    "mask": lambda x: x[x > 0],
    "backward inside": lambda x: (x @ WEIGHTS).sum().backward(),
    "write": lambda x: (x * 1).mul_(2),
    "written argument": lambda x: x.detach().mul_(2),
}
ARGUMENTS = {
    "plain": lambda: ingot.randn(4, 4),
    "leaf": lambda: ingot.randn(4, 4, requires_grad=True),
    "no leaf": lambda: ingot.randn(4, 4, requires_grad=True) * 1,
    "view": lambda: ingot.randn(8, 4)[:4],
}


def lives(function, make, keeps: bool) -> tuple:
    """Return whether an argument lives while its result is kept, and then whether it and its array do."""
    x = make()
    argument, array = weakref.ref(x), weakref.ref(x._a)
    try:
        result = function(x)
    except jit.TraceError:
        return ()
    kept = result if keeps else None
    del result, x
    alive = argument() is not None, array() is not None
    del kept
    return alive, argument() is not None, array() is not None


@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("name", CALLS)
def test_arguments_die_when_their_owner_lets_go(name, kind):
    """Without the help of the garbage collector, at the recorded call and at replays."""
    function, make = CALLS[name], ARGUMENTS[kind]
    gc.collect()
    gc.disable()
    try:
        for keeps in (False, True):
            expected, traced = lives(function, make, keeps), jit.trace(function)
            for call in range(4):
                assert lives(traced, make, keeps) in (expected, ()), (call, keeps)
    finally:
        gc.enable()
