"""Softmax and norms as operators give the bits of their kernels in eager mode."""

import numpy as np
import pytest

from graphs import check_untouched, graph_of, same_bits
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.op import OPS
from ingot.passes.simplify.row_composites import BODIES, row_bodies
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
    after = verify(row_bodies(g))
    assert not any(n.op in BODIES for n in after.nodes)
    rng = np.random.default_rng(5)
    arrays = {a: rng.standard_normal(SHAPES[a]).astype(kind.np) for a in values}
    want = kernel_of(OPS[name])(*[arrays.get(a) for a in args], **params)
    got = CompiledGraph(after, kernel_of).run(list(arrays.values()))
    for a, c in zip(want if type(want) is tuple else (want,), got, strict=True):
        assert same_bits(a, c), np.abs(a - c).max()


def test_what_eager_runs_by_its_reference_stays_whole():
    check_untouched(row_bodies, """
        graph g(%x: f32[3,4], %b: f32[4]) {
          %0: f32[3,4] = layer_norm(%x, None, %b, dims=1, eps=1e-05)
          return %0
        }""")
    check_untouched(row_bodies, """
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
    kinds = [v.dtype.short for n in row_bodies(g).nodes for v in n.outputs]
    assert kinds[0] == "f32"
    assert kinds.count("bf16") == 1
