"""Attention of 16-bit floats in a graph is attention of float32 between casts, with the bits of its own kernel."""

import numpy as np
import pytest

import ingot
from graphs import check_rewrite, check_untouched, same_bits
from ingot.passes.simplify.wide_attention import wide_attention

PLAIN = """
    graph g(%q: f32[1,2,4,8], %k: f32[1,2,4,8], %v: f32[1,2,4,8]) {
      %0: f32[1,2,4,8], %1: f32[1,2,4] = attention(%q, %k, %v, None, causal=True, scale=0.5)
      return %0
    }"""


def test_operands_and_results_are_cast():
    check_rewrite(wide_attention, PLAIN.replace("f32", "bf16").replace("bf16[1,2,4] =", "f32[1,2,4] ="), """
        graph g(%q: bf16[1,2,4,8], %k: bf16[1,2,4,8], %v: bf16[1,2,4,8]) {
          %0: f32[1,2,4,8] = cast(%q, dtype=f32)
          %1: f32[1,2,4,8] = cast(%k, dtype=f32)
          %2: f32[1,2,4,8] = cast(%v, dtype=f32)
          %3: f32[1,2,4,8], %4: f32[1,2,4] = attention(%0, %1, %2, None, causal=True, scale=0.5)
          %5: bf16[1,2,4,8] = cast(%3, dtype=bf16)
          return %5
        }""")


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_wide_floats_stay(kind):
    check_untouched(wide_attention, PLAIN.replace("f32", kind))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("masked", [False, True])
def test_traced_training_gives_the_bits_of_eager(kind, masked):
    rng = np.random.default_rng(0)
    kind = getattr(ingot, kind)
    q, k, v, g = (ingot.tensor(rng.standard_normal((2, 3, 20, 16)).astype(np.float32)).to(kind) for _ in range(4))
    mask = ingot.tensor(rng.standard_normal((20, 20)).astype(np.float32)).to(kind) if masked else None

    def step(*given):
        leaves = [x.detach().requires_grad_() for x in given]
        out = ingot.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=mask, is_causal=not masked)
        out.backward(g)
        return (out.detach() * 2, *[x.grad for x in leaves])

    want, traced = step(q, k, v), ingot.jit.trace(step)
    for _ in range(3):
        for one, other in zip(want, traced(q, k, v)):
            assert same_bits(one.float().numpy(), other.float().numpy())
