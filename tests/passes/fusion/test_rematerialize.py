"""Rematerialisation: cheap values are recomputed after the peak; expensive ones, and those without live operands, are kept."""

import numpy as np
import pytest

import ingot
from graphs import check_rewrite, check_untouched, graph_of, same_bits
from ingot import jit
from ingot.passes.fusion.fuse import fuse
from ingot.passes.fusion.rematerialize import rematerialize
from ingot.passes.schedule.plan_memory import arrange, place
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph import program
from ingot.runtime.cpu.graph.program import CompiledGraph, arrange_for_cpu

STEP = """
    graph g(%x: f32[256,128], %a: f32[128,128]) {{
      %0: f32[256,128] = matmul(%x, %a)
      %1: f32[256,128] = {makes}
      %2: f32[256,128] = matmul(%1, %a)
      %3: f32[256,128] = matmul(%2, %a)
      %4: f32[128,256] = permute(%3, dims=(1, 0))
      %5: f32[128,128] = matmul(%4, %1)
      %6: f32[256,128] = mul(%3, {reads})
      return %5, %6
    }}"""


def test_a_copy_waits_for_the_late_operand_of_its_reader():
    check_rewrite(rematerialize, STEP.format(makes="exp(%0)", reads="%0"), """
        graph g(%x: f32[256,128], %a: f32[128,128]) {
          %0: f32[256,128] = matmul(%x, %a)
          %1: f32[256,128] = exp(%0)
          %2: f32[256,128] = matmul(%1, %a)
          %3: f32[256,128] = matmul(%2, %a)
          %4: f32[128,256] = permute(%3, dims=(1, 0))
          %5: f32[256,128] = later(%0, %3)
          %6: f32[256,128] = exp(%5)
          %7: f32[128,128] = matmul(%4, %6)
          %8: f32[256,128] = mul(%3, %0)
          return %7, %8
        }""")


def test_other_nodes_of_the_same_sources_are_delayed_too():
    check_rewrite(rematerialize, """
        graph g(%x: f32[256,128], %a: f32[128,128], %w: f32[128]) {
          %0: f32[256,128] = matmul(%x, %a)
          %1: f32[256,128] = expand(%w, shape=(256, 128))
          %2: f32[256,128] = mul(%0, %1)
          %3: f32[256,128] = matmul(%2, %a)
          %4: f32[256,128] = matmul(%3, %a)
          %5: f32[128,256] = permute(%4, dims=(1, 0))
          %6: f32[128,128] = matmul(%5, %2)
          %7: f32[256,128] = exp(%0)
          %8: f32[256,128] = mul(%4, %7)
          return %6, %8
        }""", """
        graph g(%x: f32[256,128], %a: f32[128,128], %w: f32[128]) {
          %0: f32[256,128] = matmul(%x, %a)
          %1: f32[256,128] = expand(%w, shape=(256, 128))
          %2: f32[256,128] = mul(%0, %1)
          %3: f32[256,128] = matmul(%2, %a)
          %4: f32[256,128] = matmul(%3, %a)
          %5: f32[128,256] = permute(%4, dims=(1, 0))
          %6: f32[256,128] = later(%0, %4)
          %7: f32[128] = later(%w, %4)
          %8: f32[256,128] = expand(%7, shape=(256, 128))
          %9: f32[256,128] = mul(%6, %8)
          %10: f32[128,128] = matmul(%5, %9)
          %11: f32[256,128] = exp(%6)
          %12: f32[256,128] = mul(%4, %11)
          return %10, %12
        }""")


@pytest.mark.parametrize("makes, reads", [
    ("exp(%0)", "%1"),              # what it is made of is gone
    ("lgamma(%0)", "%0"),           # dear
    ("softmax(%0, dim=1)", "%0"),   # no work on elements
    ("contiguous(%0)", "%0"),       # a copy
])
def test_expensive_values_and_those_without_sources_are_saved(makes, reads):
    check_untouched(rematerialize, STEP.format(makes=makes, reads=reads))


def test_nodes_of_inputs_alone_are_delayed_as_well():
    made = rematerialize(graph_of(STEP.format(makes="exp(%x)", reads="%x")))
    assert [n.op.name for n in made.nodes] == ["exp", "matmul", "matmul", "permute", "later", "exp", "matmul", "mul"]


def test_small_values_and_values_of_one_kernel_are_saved():
    check_untouched(rematerialize, STEP.format(makes="exp(%0)", reads="%0").replace("256", "64"))
    check_untouched(rematerialize, """
        graph g(%x: f32[256,128]) {
          %0: f32[256,128] = exp(%x)
          %1: f32[256,128] = sin(%0)
          %2: f32[256,128] = mul(%1, %0)
          %3: f32[256,128] = tanh(%2)
          %4: f32[256,128] = mul(%3, %0)
          return %4
        }""")


def test_copies_run_apart_from_their_originals_and_nothing_is_saved_between():
    g = graph_of(STEP.format(makes="exp(%0)", reads="%0"))
    names = [" ".join(n.op.name for n in group.nodes) for group in fuse(rematerialize(g))]
    assert names == ["matmul", "exp", "matmul", "matmul", "exp mul", "matmul"]
    stored, recomputed = (max(s.arena_bytes for s in place(arrange(x), lambda s: 0).steps) for x in (g, rematerialize(g)))
    assert recomputed < stored


def test_rematerialised_values_have_the_same_bits():
    g = graph_of(STEP.format(makes="gelu(%0)", reads="%0"))
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(v.shape).astype(np.float32) / 8 for v in g.inputs]
    plain = CompiledGraph(arrange(g), kernel_of).run(list(arrays))
    again = CompiledGraph(arrange_for_cpu(g), kernel_of).run(list(arrays))
    assert all(map(same_bits, plain, again))


def test_host_kernels_take_delayed_values():
    """Between native calls a delayed value is handed over as it is."""
    g = graph_of("""
        graph g(%x: f64[64,64], %y: f64[64,64]) {
          %0: f64[64,64] = exp(%x)
          %1: f64[64,64] = later(%0, %y)
          %2: f64[64,64] = inv(%1)
          return %2
        }""")
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 64, 64))
    found, = CompiledGraph(g, kernel_of).run([x, y])
    np.testing.assert_allclose(found, np.linalg.inv(np.exp(x)))


class Block(ingot.nn.Module):
    """A transformer's feed-forward block, with the norm before it."""

    def __init__(self, width):
        super().__init__()
        nn = ingot.nn
        self.layers = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.layers(x)


def gradients(x):
    ingot.manual_seed(0)
    network = ingot.nn.Sequential(Block(64), Block(64))

    def step(x):
        network.zero_grad()
        loss = network(x).square().mean()
        loss.backward()
        return loss

    run = jit.trace(step)
    losses = [run(x).item() for _ in range(3)]
    return [np.array(losses), *[p.grad.numpy().copy() for p in network.parameters()]]


def test_gradients_of_a_network_have_the_same_bits(monkeypatch):
    x, made = ingot.randn(512, 64), []
    monkeypatch.setattr(program, "rematerialize", lambda graph: made.append(rematerialize(graph)) or made[-1])
    again = gradients(x)
    assert [n.op.name for g in made for n in g.nodes].count("later") > 1
    monkeypatch.setattr(program, "rematerialize", lambda graph: graph)
    assert all(map(same_bits, again, gradients(x)))
