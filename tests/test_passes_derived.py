"""What depends on weights alone is cut off, and nothing else."""

import numpy as np

from graphs import graph_of
from ingot.ir.interp import interpret
from ingot.ir.ops.blocked import conv_blocked, pack_filters
from ingot.ir.verify import verify
from ingot.passes.derived import split_derived

GRAPH = """
    graph g(%x: f64[1,4,5,5], %w: f64[4,4,3,3], %s: f64[4], %b: f64[1,1,1,1,4]) {
      %0: f64[4,1,1,1] = reshape(%s, shape=(4, 1, 1, 1))
      %1: f64[4,4,3,3] = expand(%0, shape=(4, 4, 3, 3))
      %2: f64[4,4,3,3] = mul(%w, %1)
      %3: f64[144] = pack_filters(%2, kernel=('direct', 1, False, 4), size=144)
      %4: f64[1,1,1,1,4] = mul(%b, 2.0)
      %5: f64[1,1,5,5,4] = conv_blocked(%x, %3, %4, dilation=(1, 1), epilogue=(('add', 'a', 'o0'),), filters=(4, 4, 3, 3),
        groups=1, in_blocks=False, kernel=('direct', 1, False, 4), lanes=4, padding=((1, 1), (1, 1)), stride=(1, 1))
      %6: f64[4] = mul(%s, 3.0)
      return %5, %6
    }"""


def cut_of(stable):
    g = graph_of(GRAPH.replace(",\n        groups", ", groups"))
    return g, split_derived(g, frozenset(stable))


def check(g, cut):
    rng = np.random.default_rng(4)
    arrays = [rng.standard_normal(v.shape) for v in g.inputs]
    made = interpret(verify(cut.derived), [arrays[i] for i in cut.sources]).outputs
    got = interpret(verify(cut.main), [*arrays, *made]).outputs
    for a, b in zip(interpret(g, arrays).outputs, got, strict=True):
        assert (a == b).all()


def test_weights_and_what_stands_beside_are_cut_off():
    g, cut = cut_of({1, 2, 3})
    assert cut.sources == (1, 2, 3)
    assert len(cut.derived.outputs) == 2
    assert pack_filters not in [n.op for n in cut.main.nodes]
    assert [n.op for n in cut.main.nodes].count(conv_blocked) == 1
    assert len(cut.main.nodes) == 2, "the product that is returned stays, and only it"
    check(g, cut)


def test_what_changes_stays():
    g, cut = cut_of({1, 3})                  # the scale is not stable, so neither is the weight that it scales
    assert cut.sources == (3,)
    assert pack_filters in [n.op for n in cut.main.nodes]
    check(g, cut)


def test_nothing_to_cut():
    for stable in (set(), {0}, {1}, {2}):
        assert cut_of(stable)[1] is None
