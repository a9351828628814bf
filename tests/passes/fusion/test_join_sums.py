"""Sums that read the same value become one kernel, and updates run as soon as nothing else reads the memory they overwrite."""

import numpy as np
import pytest

import mock_cuda
from graph_interpreter import interpret
from graphs import graph_of
from ingot.passes.fusion import join_sums as passes
from ingot.passes.fusion import recompute
from ingot.passes.schedule import device_plan as plans
from ingot.runtime.cuda import backend
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.graph.program import DeviceGraph


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    for module in (passes, recompute):
        monkeypatch.setattr(module, "LEAST", 0)


def normal(rng, shape):
    return rng.standard_normal(shape).astype(np.float32)


def whole(rng, shape):
    """Return small integers as floats, whose sums of products are exact in any order."""
    return rng.integers(-3, 4, shape).astype(np.float32)


def checked(text, targets, numbers=normal):
    """Return [(operator names, read inputs, written inputs)] of the steps of a graph after it ran."""
    graph = graph_of(text)
    steps = plans.plan(graph, frozenset(), targets)
    arrays = [numbers(np.random.default_rng(i), v.shape) for i, v in enumerate(graph.inputs)]
    with mock_cuda.installed():
        there = [backend.to_device(a) for a in arrays]
        made = DeviceGraph(steps, eager.run_into)
        found = made.run(there)
        for i, a in enumerate(found):
            rtol, atol = (0, 0) if numbers is whole else (1e-4, 1e-4)
            np.testing.assert_allclose(backend.to_host(a), interpret(graph, arrays).outputs[i], rtol=rtol, atol=atol)
        assert all(found[i].memory is there[targets[i]].memory for i in made.in_place)
    return [(sorted({n.op.name for n in (s.group.nodes if getattr(s, "group", None) else [s.node])}),
             sorted(graph.inputs.index(v) for v in set(s.reads) if v.is_input)) for s in steps.steps], made.in_place


def test_gradients_of_a_norm_are_one_kernel():
    """Both sums need the product; the row kernel made its other factor before."""
    steps, in_place = checked("""
        graph g(%w: f32[64], %b: f32[64], %x: f32[96,64], %m: f32[64,64]) {
          %0: f32[96,64] = matmul(%x, %m)
          %1: f32[96,64] = mul(%0, %x)
          %2: f32[96,1] = sum(%1, dim=(1,), keepdim=True)
          %3: f32[96,64] = expand(%2, shape=(96, 64))
          %4: f32[96,64] = mul(%0, %3)
          %5: f32[64,64] = matmul(%m, %m)
          %6: f32[64] = sum(%1, dim=(0,), keepdim=False)
          %7: f32[64] = sub(%w, %6)
          %8: f32[64] = sum(%0, dim=(0,), keepdim=False)
          %9: f32[64] = sub(%b, %8)
          return %7, %9, %4
        }""", {0: 0, 1: 1}, whole)
    assert (["mul", "sub", "sum"], [0, 1, 2]) in steps and in_place == {0, 1}
    assert sum("sub" in names for names, _ in steps) == 1


UPDATES = """
    graph g(%p: f32[8,8], %q: f32[8,8], %x: f32[8,8]) {
      %0: f32[8,8] = matmul(%x, %p)
      %1: f32[8,8] = sub(%q, %0)
      %2: f32[8,8] = matmul(%0, %x)
      %3: f32[8,8] = mul(%p, %2)
      %4: f32[8,8] = matmul(%2, LATE)
      %5: f32[8,8] = sort_of(%4)
      return %3, %1, %5
    }"""


@pytest.mark.parametrize("late, order", [("%x", ["matmul", "sub", "matmul", "mul", "matmul", "argsort"]),
                                         ("%p", ["matmul", "sub", "matmul", "matmul", "mul", "argsort"]),
                                         ("%q", ["matmul", "matmul", "mul", "matmul", "sub", "argsort"])],
                         ids=["nothing", "one", "the other"])
def test_updates_wait_for_those_that_read_what_they_write_over(late, order, monkeypatch):
    text = UPDATES.replace("LATE", late).replace("f32[8,8] = sort_of(%4)", "i64[8,8] = argsort(%4, descending=False, dim=1)")
    for name in ("fuse_epilogues", "fuse_prologues"):
        monkeypatch.setattr(plans, name, lambda groups, *rest: groups)
    steps, in_place = checked(text, {0: 0, 1: 1})
    assert [names[0] for names, _ in steps] == order and in_place == {0, 1}


def test_an_update_that_reads_what_another_one_writes_over_comes_first():
    text = """
        graph g(%p: f32[8,8], %q: f32[8,8], %x: f32[8,8]) {
          %0: f32[8,8] = mul(%p, %x)
          %1: f32[8,8] = matmul(%x, %x)
          %2: f32[8,8] = exp(%1)
          %3: f32[8,1] = sum(%2, dim=(1,), keepdim=True)
          %4: f32[8,8] = expand(%3, shape=(8, 8))
          %5: f32[8,8] = matmul(%4, %x)
          %6: f32[8,8] = matmul(%p, %5)
          %7: f32[8,8] = sub(%q, %6)
          return %0, %7
        }"""
    checked(text, {0: 0, 1: 1})
    checked(text.replace("matmul(%p, %5)", "matmul(%5, %5)").replace("sub(%q, %6)", "sub(%p, %6)"), {0: 0, 1: 1})
