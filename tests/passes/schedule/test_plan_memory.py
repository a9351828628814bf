"""Memory plans: steps in one native call, shared memory, updates in place."""

import itertools

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import graph_of
from ingot.passes.schedule import plan_memory, plan_steps
from ingot.passes.schedule.plan_memory import arrange, place, plan
from ingot.passes.schedule.plan_steps import LINE, Call, Fused, Run
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph.program import CompiledGraph

CHAIN = """
    graph g(%x: f32[64], %y: f32[8,64]) {
      %0: f32[64] = exp(%x)
      %1: f32[8,64] = expand(%0, shape=(8, 64))
      %2: f32[8,64] = mul(%1, %y)
      %3: f32[64] = sum(%2, dim=(0,), keepdim=False)
      %4: f32[64] = exp(%3)
      %5: f32[8,64] = expand(%4, shape=(8, 64))
      %6: f32[8,64] = add(%5, %y)
      return %6
    }"""


def test_inner_values_lie_in_the_arena_apart_while_alive():
    run, = plan(graph_of(CHAIN)).steps
    assert type(run) is Run
    assert run.arena
    assert all(at % LINE == 0 and at >= LINE for at in run.arena.values())
    assert run.arena_bytes >= max(at + v.aval.size * v.dtype.itemsize for v, at in run.arena.items())
    assert [v.shape for v in run.writes] == [(8, 64)]


def test_values_for_calls_have_memory_of_their_own():
    g = graph_of("""
        graph g(%x: f32[4,6]) {
          %0: f32[4,6] = exp(%x)
          %1: f32[6,4] = permute(%0, dims=(1, 0))
          %2: f32[4,4] = matmul(%0, %1)
          %3: f32[4,4] = relu(%2)
          return %2, %3
        }""")
    steps = plan(g).steps
    assert [s.node.op.name if type(s) is Call else "run" for s in steps] == ["run", "permute", "matmul", "run"]
    assert steps[0].writes == [g.nodes[0].output]
    assert g.nodes[0].output in steps[2].dead


def test_kernels_recompute_values_that_are_cheaper_than_to_fetch():
    """Behind the product the narrow operand is read once more, and the sum of each row."""
    made = arrange(graph_of("""
        graph g(%x: bf16[256,256], %w: f32[256,256]) {
          %0: f32[256,256] = cast(%x, dtype=f32)
          %1: f32[256,1] = sum(%0, dim=(1,), keepdim=True)
          %2: f32[256,256] = expand(%1, shape=(256, 256))
          %3: f32[256,256] = sub(%0, %2)
          %4: f32[256,1] = amax(%3, dim=(1,), keepdim=True)
          %5: f32[256,256] = expand(%4, shape=(256, 256))
          %6: f32[256,256] = matmul(%5, %w)
          %7: f32[256,256] = mul(%6, %3)
          %8: f32[256,1] = sum(%7, dim=(1,), keepdim=True)
          return %4, %8
        }"""))
    first, last = (s for s in made.steps if type(s) is Fused)
    assert [v.shape for v, _, written in first.lowered.operands if written] == [(256, 1)] * 2
    assert {v.dtype.short for v, _, written in last.lowered.operands if v.shape == (256, 256)} == {"bf16", "f32"}


def in_place(text, targets):
    made = plan(graph_of(text), frozenset(targets), targets)
    return [made.graph.outputs.index(v) for v in made.in_place]


def test_an_update_after_the_last_read_is_written_in_place():
    text = """
        graph g(%w: f32[4,4], %x: f32[4,4]) {
          %0: f32[4,4] = matmul(%x, %w)
          %1: f32[4,4] = mul(%w, 0.5)
          %2: f32[4,4] = sub(%w, %1)
          return %0, %2
        }"""
    assert in_place(text, {1: 0}) == [1]
    g = graph_of(text)
    w, x = np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)
    want = interpret(g, [w, x]).outputs
    made = CompiledGraph(g, kernel_of, frozenset([0, 1]), {1: 0})
    got = made.run([w, x])
    assert made.in_place == {1}
    assert got[1] is w
    assert (w == want[1]).all()


def test_an_update_is_copied_where_the_old_value_is_still_read():
    transposed = """
        graph g(%w: f32[4,4]) {
          %0: f32[4,4] = permute(%w, dims=(1, 0))
          %1: f32[4,4] = add(%w, %0)
          return %1
        }"""
    assert in_place(transposed, {0: 0}) == []
    returned = """
        graph g(%w: f32[4,4]) {
          %0: f32[4,4] = neg(%w)
          return %0, %w
        }"""
    made = plan(graph_of(returned), frozenset([0]), {0: 0})
    assert not made.in_place
    swapped = """
        graph g(%a: f32[4], %b: f32[4]) {
          return %b, %a
        }"""
    assert in_place(swapped, {0: 0, 1: 1}) == [1]
    made = CompiledGraph(graph_of(swapped), kernel_of, frozenset([0, 1]), {0: 0, 1: 1})
    a, b = np.arange(4, dtype=np.float32), np.full(4, 7, np.float32)
    first, second = made.run([a, b])
    assert (first == 7).all()
    assert second is b
    assert (b == np.arange(4)).all()


def test_steps_on_inputs_alone_run_before_their_first_reader():
    g = graph_of("""
        graph g(%x: f32[8,8], %w: f32[8,8]) {
          %0: f32[8,8] = cumsum(%w, dim=0)
          %1: f32[8,8] = matmul(%x, %x)
          %2: f32[8,8] = matmul(%1, %x)
          %3: f32[8,8] = matmul(%2, %0)
          return %3
        }""")
    steps = plan(g, scratch_of=lambda step: 0).steps[0].steps
    assert [s.node.op.name for s in steps] == ["matmul", "matmul", "cumsum", "matmul"]


OVER = """
    graph g(%x: f32[8,64], %w: f32[64,64]) {{
      %0: f32[8,64] = matmul(%x, %w)
      %1: f32[8,64] = cumsum({first}, dim=1)
      %2: f32[8,64] = cumsum(%1, dim=0)
      %3: f32[8,64] = matmul(%2, %w)
      %4: f32[8,64] = add(%3, {last})
      %5: f32[8,64] = matmul(%4, %w)
      return %5{also}
    }}"""


@pytest.mark.parametrize("first, last, also, over", [
    ("%0", "%x", "", {1: 0, 2: 1}),
    ("%0", "%0", "", {2: 1}),                       # the operand is read again
    ("%0", "%1", "", {1: 0}),
    ("%x", "%x", "", {2: 1}),                       # it is an input
    ("%0", "%x", ", %2", {1: 0}),                   # the result leaves
    ("%0", "%x", ", %1", {})])
def test_a_native_result_may_overwrite_a_dead_operand(first, last, also, over):
    """If its native code allows it, as is pretended here for a cumulative sum."""
    g = graph_of(OVER.format(first=first, last=last, also=also))
    values = {v: i for i, v in enumerate(n.output for n in g.nodes)}

    def over_of(step):
        return {step.node.output: step.node.inputs[0]} if step.node.op.name == "cumsum" else {}

    run, = place(arrange(g), lambda step: 0, over_of).steps
    makers = {v: i for i, s in enumerate(run.steps) for v in plan_steps.writes_of(s)}
    ends = {v: i for i, s in enumerate(run.steps) for v in (*plan_steps.writes_of(s), *plan_steps.reads_of(s))}
    shared = {}
    for a, b in itertools.combinations(sorted(run.arena, key=makers.get), 2):
        if run.arena[a] == run.arena[b] and ends[a] >= makers[b]:
            shared[values[b]] = values[a]
    assert shared == over
    for a, b in itertools.combinations(sorted(run.arena, key=makers.get), 2):
        size = [v.aval.size * v.dtype.itemsize for v in (a, b)]
        apart = run.arena[a] + size[0] <= run.arena[b] or run.arena[b] + size[1] <= run.arena[a]
        assert apart or ends[a] < makers[b] or shared.get(values[b]) == values[a]


@pytest.mark.parametrize("operands, is_over", [("%0, %x", True), ("%0, %0", False)])
def test_no_result_overwrites_an_operand_that_its_step_reads_twice(operands, is_over):
    """The native code may read the second one after it has written there. As is pretended here for a product."""
    g = graph_of(f"""
        graph g(%x: f32[64,64]) {{
          %0: f32[64,64] = matmul(%x, %x)
          %1: f32[64,64] = matmul({operands})
          %2: f32[64,64] = matmul(%1, %x)
          return %2
        }}""")
    operand, result = g.nodes[0].output, g.nodes[1].output
    run, = place(arrange(g), lambda step: 0, lambda step: {result: operand} if step.node.output is result else {}).steps
    assert (run.arena[result] == run.arena[operand]) is is_over


@pytest.mark.parametrize("seed", range(6))
def test_arena_offsets_are_disjoint_while_alive_and_tight(seed):
    rng = np.random.default_rng(seed)
    firsts = sorted(rng.integers(0, 60, 120).tolist())
    lives = [plan_memory.Life(i, int(np.exp2(rng.uniform(6, 22))) // LINE * LINE, first, int(first + rng.integers(0, 30)))
             for i, first in enumerate(firsts)]
    most = max(sum(x.size for x in lives if x.first <= step <= x.last) for step in range(90))
    in_order = plan_memory.allocate(lives, LINE)
    for at, end in (in_order, plan_memory._closer(lives, *in_order)):
        for x, y in itertools.combinations(lives, 2):
            overlap = x.first <= y.last and y.first <= x.last
            apart = at[x.what] + x.size <= at[y.what] or at[y.what] + y.size <= at[x.what]
            assert apart or not overlap, f"seed {seed}: {x} and {y} share bytes"
        assert end == max(at[x.what] + x.size for x in lives) and min(at.values()) >= LINE
    assert end <= min(in_order[1], 1.25 * most), f"seed {seed}: {end} bytes for {most}"
