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


def test_bindings_of_sizes_share_what_calls_them():
    traced = jit.trace(lambda x: (x.sin() * 2 + x.sum()).softmax(0))
    for n in range(2, 10):
        traced(ingot.ones(n))
    before = len(call._live_reads)
    for n in range(10, 60):
        traced(ingot.ones(n))
    assert traced.stats()["bindings"] > 50 and len(call._live_reads) <= before + 2
