"""Lowering of groups: golden kernels, and any graph as kernels against the interpreter, on numpy and natively."""

import textwrap

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import arrays_for, graph_of, random_graph, same_bits
from ingot.ir.kernel.kernel import to_text
from ingot.passes.fusion.fuse import fuse
from ingot.passes.fusion.lower import lower
from ingot.passes.rewrite.kernel_body import Body, Unfit
from ingot.passes.simplify.decompose import decompose
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph.program import CompiledGraph


def kernel_of_text(text):
    group, = fuse(graph_of(text))
    return lower(group.body)


def golden(lowered, text):
    got = to_text(lowered.kernel).replace(lowered.kernel.name, "k", 1)
    assert got == textwrap.dedent(text).strip()


def test_broadcasts_and_transposes_are_strides():
    made = kernel_of_text("""
        graph g(%x: f32[4,5], %b: f32[5], %t: f32[5,4]) {
          %0: f32[4,5] = expand(%b, shape=(4, 5))
          %1: f32[4,5] = mul(%x, %0)
          %2: f32[4,5] = permute(%t, dims=(1, 0))
          %3: f32[4,5] = add(%1, %2)
          return %3
        }""")
    golden(made, """
        kernel k {
          parallel p0: n_p0
          parallel p1: n_p1
          in b0: f32[s0_p0, 1]
          in b1: f32[0, 1]
          in b2: f32[s2_p0, s2_p1]
          out b3: f32[s3_p0, 1]
          point:
            v0: f32 = load b0
            v1: f32 = load b1
            v2: f32 = mul v0 v1
            v3: f32 = load b2
            v4: f32 = add v2 v3
            store v4 -> b3
        }""")
    assert made.symbols["s2_p1"] == 4


def test_expensive_values_are_stored_in_the_buffer_of_a_later_result():
    made = kernel_of_text("""
        graph g(%x: f32[4,5]) {
          %0: f32[4,1] = amax(%x, dim=(1,), keepdim=True)
          %1: f32[4,5] = expand(%0, shape=(4, 5))
          %2: f32[4,5] = sub(%x, %1)
          %3: f32[4,5] = exp(%2)
          %4: f32[4,1] = sum(%3, dim=(1,), keepdim=True)
          %5: f32[4,1] = div(1.0, %4)
          %6: f32[4,5] = expand(%5, shape=(4, 5))
          %7: f32[4,5] = mul(%3, %6)
          return %7
        }""")
    golden(made, """
        kernel k {
          parallel p0: n_p0
          reduce r0: n_r0
          in b0: f32[s0_p0, 1]
          out b1: f32[s1_p0, 1]
          sweep:
            v0_1: f32 = load b0
            v1: f32 = reduce v0_1 [max]
          sweep:
            v0_2: f32 = load b0
            v2_2: f32 = sub v0_2 v1
            v3_2: f32 = exp v2_2
            store v3_2 -> b1
            v5: f32 = reduce v3_2 [sum]
          point:
            v4_2p: f32 = const 1.0
            v6: f32 = div v4_2p v5
          sweep:
            v3_3: f32 = load b1
            v7_3: f32 = mul v3_3 v6
            store v7_3 -> b1
        }""")


FAR = """
    graph g(%y: f32[4,{n}], %g: f32[4,{n}], %h: f32[4,{n}]) {{
      %0: f32[4,{n}] = add(%g, %h)
      %1: bool[4,{n}] = gt(%y, 0)
      %2: f32[4,{n}] = where(%1, %0, 0.0)
      %3: f32[4,1] = sum(%2, dim=(1,), keepdim=True)
      %4: f32[4,{n}] = expand(%3, shape=(4, {n}))
      %5: f32[4,{n}] = sub(%2, %4)
      return %2, %5
    }}"""


@pytest.mark.parametrize(("n", "launches", "loads"), [(20000, True, [3, 1]), (20000, False, [3, 3]), (5, True, [3, 3])])
def test_results_of_several_loads_are_stored_where_each_sweep_reads_memory(n, launches, loads):
    """Otherwise their operands would be fetched again."""
    graph = graph_of(FAR.format(n=n))
    kernel = lower(Body(graph.nodes, (4, n), (1,), graph.outputs), launches=launches).kernel
    assert [sum(i.op == "load" for i in s.body) for s in kernel.stages if s.over == "sweep"] == loads


def test_a_rows_value_can_fill_the_row():
    g = graph_of("""
        graph g(%x: f32[3,5]) {
          %0: f32[3,1] = sum(%x, dim=(1,), keepdim=True)
          %1: f32[3,5] = expand(%0, shape=(3, 5))
          %2: f32[3,5] = copy(%1)
          %3: f32[3] = reshape(%0, shape=(3,))
          %4: f32[3] = neg(%3)
          return %2, %4
        }""")
    assert len(fuse(g)) == 1
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    full, row = CompiledGraph(g, kernel_of, frozenset([0, 1])).run([x])
    assert (full == x.sum(1, keepdims=True)).all()
    assert (row == -x.sum(1)).all()


def test_other_sizes_give_the_same_kernel():
    texts = [f"""
        graph g(%x: f32[{n},{m}]) {{
          %0: f32[{n},{m}] = exp(%x)
          %1: f32[{n}] = sum(%0, dim=(1,), keepdim=False)
          return %1
        }}""" for n, m in ((30, 40), (50, 7000))]
    assert kernel_of_text(texts[0]).kernel == kernel_of_text(texts[1]).kernel


def test_patterns_without_strides_are_refused():
    g = graph_of("""
        graph g(%x: f32[4,5]) {
          %0: f32[5,4] = permute(%x, dims=(1, 0))
          %1: f32[20] = reshape(%0, shape=(20,))
          %2: f32[20] = exp(%1)
          return %2
        }""")
    with pytest.raises(Unfit, match="reshape"):
        Body(g.nodes[2:], (20,), (), [g.outputs[0]])


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_mean_the_same_compiled(seed):
    rng = np.random.default_rng(seed)
    g = decompose(random_graph(rng))
    arrays = arrays_for(g, rng)
    made = CompiledGraph(g, kernel_of, owned=frozenset(range(len(g.outputs))))
    with np.errstate(all="ignore"):
        got = made.run([np.array(a) for a in arrays])
    for a, b in zip(interpret(g, arrays).outputs, got):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(b, a, rtol=3e-5 if a.dtype == np.float32 else 1e-12, atol=1e-6,
                                       err_msg=f"seed {seed}\n{g}")
        else:
            assert same_bits(a, b), f"seed {seed}\n{g}"


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "i32"])
@pytest.mark.parametrize("shape", [(1, 3), (6, 40), (4, 7, 5), (3, 2000)], ids=str)
def test_elements_picked_by_class(shape, kind):
    """Invalid classes give 0 and read nothing."""
    rows = (shape[0], *shape[2:])
    g = graph_of(f"""
        graph g(%x: {kind}{list(shape)}, %y: i64{list(rows)}) {{
          %0: {kind}{list(rows)} = take_class(%x, %y)
          %1: {kind}{list(rows)} = neg(%0)
          return %0, %1
        }}""".replace(", ", ",").replace(",%", ", %").replace("%x,", "%x, "))
    rng = np.random.default_rng(8)
    x = (9 * rng.standard_normal(shape)).astype(g.inputs[0].dtype.np)
    y = rng.integers(0, shape[1], rows)
    y.reshape(-1)[::2] = rng.choice([-1, -100, shape[1], 2**62, -2**62], y.reshape(-1)[::2].shape)
    made = CompiledGraph(g, kernel_of, frozenset([0, 1]))
    assert made.plan.steps[0].kernels
    for a, b in zip(made.run([x, y]), interpret(g, [x, y]).outputs, strict=True):
        assert (a == b).all(), "seed 8"
