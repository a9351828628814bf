"""Expanded softmax and norms give the bits of their kernels in eager mode."""

import numpy as np
import pytest

import ingot
from graphs import check_rewrite, check_untouched, graph_of, same_bits
from ingot import jit
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.op import OPS
from ingot.passes.simplify.composite_kernels import (
    BODIES,
    expand_mean_pools,
    expand_row_composites,
    share_gelu_parts,
    widen_attention,
)
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph.program import CompiledGraph

CALLS = [
    ("softmax", ["x"], {"dim": 1}), ("softmax", ["x"], {"dim": 0}), ("log_softmax", ["x"], {"dim": 2}),
    ("layer_norm", ["x", "w", "b"], {"dims": 1, "eps": 1e-5}), ("layer_norm", ["x", None, None], {"dims": 2, "eps": 1e-5}),
    ("rms_norm", ["x", "w"], {"dims": 1, "eps": 1e-6}), ("rms_norm", ["x", None], {"dims": 1, "eps": 1e-6}),
    ("layer_norm_grad", ["g", "x", "w"], {"dims": 1, "eps": 1e-5}),
    ("layer_norm_grad", ["g", "x", None], {"dims": 2, "eps": 1e-5}),
]
SHAPES = {"x": (6, 7, 40), "g": (6, 7, 40), "w": (40,), "b": (40,)}


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name, args, params", CALLS, ids=lambda v: str(v))
def test_compiled_bodies_give_the_bits_of_the_kernels(name, args, params, dtype):
    from ingot.ir.dtype import float32, float64
    from ingot.ir.graph.graph import Builder
    from ingot.ir.opdef.aval import Aval

    kind = float32 if dtype == "f32" else float64
    b = Builder("g")
    values = {a: b.input(a, Aval(SHAPES[a], kind)) for a in args if a}
    found = b.call(OPS[name], *[values.get(a) for a in args], **params)
    g = b.finish(found if type(found) is tuple else [found])
    after = verify(expand_row_composites(g))
    assert not any(n.op in BODIES for n in after.nodes)
    rng = np.random.default_rng(5)
    arrays = {a: rng.standard_normal(SHAPES[a]).astype(kind.np) for a in values}
    want = kernel_of(OPS[name])(*[arrays.get(a) for a in args], **params)
    got = CompiledGraph(after, kernel_of).run(list(arrays.values()))
    for a, c in zip(want if type(want) is tuple else (want,), got, strict=True):
        assert same_bits(a, c), np.abs(a - c).max()


def test_composites_that_eager_code_runs_by_reference_stay_whole():
    check_untouched(expand_row_composites, """
        graph g(%x: f32[3,4], %b: f32[4]) {
          %0: f32[3,4] = layer_norm(%x, None, %b, dims=1, eps=1e-05)
          return %0
        }""")
    check_untouched(expand_row_composites, """
        graph g(%x: f32[0,4]) {
          %0: f32[0,4] = softmax(%x, dim=1)
          return %0
        }""")


def test_low_precision_is_rounded_once():
    g = graph_of("""
        graph g(%x: bf16[3,4]) {
          %0: bf16[3,4] = softmax(%x, dim=1)
          return %0
        }""")
    kinds = [v.dtype.short for n in expand_row_composites(g).nodes for v in n.outputs]
    assert kinds[0] == "f32"
    assert kinds.count("bf16") == 1


BOTH = """
    graph g(%x: f32[3,4]) {
      %0: f32[3,4] = gelu(%x)
      %1: f32[3,4] = mul(%x, 0.7071067811865476)
      %2: f32[3,4] = erf(%1)
      return %0, %2
    }"""


def test_gelu_beside_its_error_function_becomes_its_parts():
    check_rewrite(share_gelu_parts, BOTH.replace("3,4", "5"), """
        graph g(%x: f32[5]) {
          %0: f32[5] = mul(%x, 0.5)
          %1: f32[5] = mul(%x, 0.7071067811865476)
          %2: f32[5] = erf(%1)
          %3: f32[5] = add(%2, 1.0)
          %4: f32[5] = mul(%0, %3)
          %5: f32[5] = mul(%x, 0.7071067811865476)
          %6: f32[5] = erf(%5)
          return %4, %6
        }""")


SLOPE = """
    graph g(%x: f32[5]) {
      %0: f32[5] = gelu(%x)
      %1: f32[5] = gelu_slope(%x)
      return %0, %1
    }"""


def test_gelu_beside_its_slope_becomes_its_parts():
    check_rewrite(share_gelu_parts, SLOPE, """
        graph g(%x: f32[5]) {
          %0: f32[5] = mul(%x, 0.5)
          %1: f32[5] = mul(%x, 0.7071067811865476)
          %2: f32[5] = erf(%1)
          %3: f32[5] = add(%2, 1.0)
          %4: f32[5] = mul(%0, %3)
          %5: f32[5] = mul(%x, 0.7071067811865476)
          %6: f32[5] = erf(%5)
          %7: f32[5] = add(%6, 1.0)
          %8: f32[5] = mul(%7, 0.5)
          %9: f32[5] = mul(%x, %x)
          %10: f32[5] = mul(%9, -0.5)
          %11: f32[5] = exp(%10)
          %12: f32[5] = mul(%11, 0.3989422804014327)
          %13: f32[5] = mul(%x, %12)
          %14: f32[5] = add(%8, %13)
          return %4, %14
        }""")


@pytest.mark.parametrize("text", [BOTH.replace("0.7071067811865476", "0.7"), BOTH.replace("erf(%1)", "sin(%1)"),
                                  BOTH.replace("gelu(%x)", "gelu_tanh(%x)"), BOTH.replace("f32", "f16"),
                                  SLOPE.replace("f32", "f16")])
def test_other_gelus_stay_whole(text):
    check_untouched(share_gelu_parts, text)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("text", [BOTH, SLOPE])
def test_the_parts_give_the_bits_of_the_kernel(text, kind):
    g = graph_of(text.replace("f32", kind).replace("3,4", "40,50").replace("[5]", "[40,50]"))
    x = np.concatenate([np.random.default_rng(0).standard_normal(1990) * 3,
                        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, 9.0, -9.0]]).reshape(40, 50)
    x = x.astype(g.inputs[0].dtype.np)
    found, other = CompiledGraph(share_gelu_parts(g), kernel_of).run([x])
    assert same_bits(kernel_of(OPS["gelu"])(x), found)
    assert text is BOTH or same_bits(kernel_of(OPS["gelu_slope"])(x), other)


PLAIN = """
    graph g(%q: f32[1,2,4,8], %k: f32[1,2,4,8], %v: f32[1,2,4,8]) {
      %0: f32[1,2,4,8], %1: f32[1,2,4] = attention(%q, %k, %v, None, causal=True, scale=0.5)
      return %0
    }"""


def test_operands_and_results_are_cast():
    check_rewrite(widen_attention, PLAIN.replace("f32", "bf16").replace("bf16[1,2,4] =", "f32[1,2,4] ="), """
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
    check_untouched(widen_attention, PLAIN.replace("f32", kind))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("masked", [False, True])
def test_traced_training_gives_the_bits_of_eager(kind, masked):
    rng = np.random.default_rng(0)
    kind = getattr(ingot, kind)
    q, k, v, g = (ingot.tensor(rng.standard_normal((2, 3, 20, 16)).astype(np.float32)).to(kind) for _ in range(4))
    mask = ingot.tensor(rng.standard_normal((20, 20)).astype(np.float32)).to(kind) if masked else None

    def step(*arguments):
        leaves = [x.detach().requires_grad_() for x in arguments]
        out = ingot.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=mask, is_causal=not masked)
        out.backward(g)
        return (out.detach() * 2, *[x.grad for x in leaves])

    want, traced = step(q, k, v), ingot.jit.trace(step)
    for _ in range(3):
        for one, other in zip(want, traced(q, k, v)):
            assert same_bits(one.float().numpy(), other.float().numpy())


F = ingot.nn.functional
POOL = "%0: f32[{out}] = avg_pool(%x, counted={zero}, divisor={divisor}, kernel={kernel}, padding={pad}, stride={stride})"
ZERO = "((0, 0), (0, 0))"


def pool(out, kernel, stride, divisor=None, pad=ZERO):
    line = POOL.format(out=out, kernel=kernel, stride=stride, divisor=divisor, zero=ZERO, pad=pad)
    return f"graph g(%x: f32[2,3,8,12]) {{\n{line}\nreturn %0\n}}"


@pytest.mark.parametrize("divisor, count", [(None, "96.0"), (5, "5.0")])
def test_a_pool_over_a_whole_plane_is_one_sum(divisor, count):
    check_rewrite(expand_mean_pools, pool("2,3,1,1", (8, 12), (1, 1), divisor), f"""
        graph g(%x: f32[2,3,8,12]) {{
          %0: f32[2,3,1,1] = sum(%x, dim=(2, 3), keepdim=True)
          %1: f32[2,3,1,1] = div(%0, {count})
          return %1
        }}""")


def test_pools_over_bins_are_sums_along_one_dim_after_the_other():
    check_rewrite(expand_mean_pools, pool("2,3,2,3", (4, 4), (4, 4)), """
        graph g(%x: f32[2,3,8,12]) {
          %0: f32[2,3,2,4,12] = reshape(%x, shape=(2, 3, 2, 4, 12))
          %1: f32[2,3,2,12] = sum(%0, dim=(3,), keepdim=False)
          %2: f32[2,3,2,3,4] = reshape(%1, shape=(2, 3, 2, 3, 4))
          %3: f32[2,3,2,3] = sum(%2, dim=(4,), keepdim=False)
          %4: f32[2,3,2,3] = div(%3, 16.0)
          return %4
        }""")


@pytest.mark.parametrize("text", [pool("2,3,4,6", (2, 2), (2, 2)), pool("2,3,5,9", (4, 4), (1, 1)),
                                  pool("2,3,2,2", (4, 5), (4, 5)), pool("2,3,3,3", (4, 4), (4, 4), pad="((2, 2), (0, 0))")],
                         ids=["few", "they meet", "some stay over", "padded"])
def test_other_pools_stay(text):
    check_untouched(expand_mean_pools, text)


@pytest.mark.parametrize("kernel", [(8, 12), (4, 4), (8, 3)])
@pytest.mark.parametrize("dtype", [ingot.float64, ingot.bfloat16], ids=str)
def test_pools_have_the_bits_of_eager_mode(kernel, dtype):
    run = jit.trace(lambda x: F.avg_pool2d(x.exp(), kernel))
    for seed in range(3):
        x = ingot.randn(2, 3, 8, 12, generator=ingot.Generator().manual_seed(seed)).to(dtype)
        got, want = run(x), F.avg_pool2d(x.exp(), kernel)
        np.testing.assert_array_equal(got.double().numpy(), want.double().numpy(), err_msg=f"seed {seed}")
    assert "0 other calls" in run.explain()
