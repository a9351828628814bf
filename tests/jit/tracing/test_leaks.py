"""Dropped recordings leave nothing behind."""

import contextlib
import copy
import gc
import time
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


@pytest.mark.filterwarnings("default:.*(computed before the call|never used); call backward")
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


class Reads(ingot.nn.Module):
    """A module whose guards and writes lead to it in many ways."""

    def __init__(self):
        super().__init__()
        self.inner, self.scale, self.steps, self.log, self.options = ingot.nn.Linear(3, 3), 2.0, 0, [], {"a": 1.0}
        self.register_buffer("mean", ingot.zeros(3))

    def forward(self, x):
        self.steps += 1
        self.log.append(self.steps)
        self.mean.add_(x.detach().mean(0))
        names = [name for name, _ in self.named_parameters()]
        return self.inner(x) * self.scale * len(names) + self.mean * self.options["a"] * (2 if hasattr(self, "missing") else 1)


class Raises(Reads):
    """Raises, by the user's code, at the third call."""

    def forward(self, x):
        y = super().forward(x)
        if self.steps > 2:
            raise ValueError("three")
        return y


class Refused(Reads):
    def forward(self, x):
        return super().forward(x) * time.time()


class Caught(Reads):
    """Catches the error of an operator, and raises another one."""

    def forward(self, x):
        try:
            return super().forward(x) @ x
        except RuntimeError as error:
            raise ValueError("shapes") from error


class Index(Reads):
    """Asks compiled code for a row that is not there, at the third call."""

    def forward(self, x):
        return super().forward(x).index_select(0, x[0, :1].to(ingot.int64))


OWNERS = {"trace": jit.trace, "compile": ingot.compile, "fullgraph": lambda net: jit.trace(net, fullgraph=True),
          "copy": lambda net: copy.copy(jit.trace(net)), "closure": lambda net: jit.trace(lambda x: net(x))}


@pytest.mark.parametrize("owner, kind, calls", [
    *[("trace", Reads, n) for n in (0, 1)], *[("trace", kind, 3) for kind in (Reads, Raises, Refused, Caught, Index)],
    *[(owner, Reads, 3) for owner in OWNERS if owner != "trace"], ("closure", Refused, 1), ("closure", Raises, 3)])
def test_modules_die_with_what_is_traced_of_them(owner, kind, calls):
    """After errors as well, and without the garbage collector: a traced module holds its recordings, whose guards do not hold
    it."""
    gc.collect()
    gc.disable()
    try:
        net = kind()
        traced, alive = OWNERS[owner](net), [weakref.ref(net), *[weakref.ref(p) for p in net.parameters()]]
        for call in range(calls):
            x = ingot.full((2, 3), 9.0 * (call == 2))
            with contextlib.suppress(ValueError, IndexError, jit.TraceError):
                traced(x)
            alive.append(weakref.ref(x))
        del net, traced
        x = None
        assert [ref() for ref in alive] == [None] * len(alive)
    finally:
        gc.enable()
