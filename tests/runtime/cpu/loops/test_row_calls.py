"""Row operators and random draws of eager mode against NumPy in float64."""

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.errors import ShapeError
from ingot.ir.reference import philox
from ingot.runtime.cpu.index.draws import draw
from ingot.runtime.cpu.loops import kernels


def softmax_of(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("dtype, tolerance", [(dt.float32, 2e-6), (dt.float64, 1e-14), (dt.float16, 1e-3), (dt.bfloat16, 8e-3)],
                         ids=lambda v: str(v))
@pytest.mark.parametrize("shape, dim", [((5, 7), -1), ((3, 300), 1), ((2, 9000), 1), ((6, 4, 5), 1), ((40, 33), 0)])
def test_softmax_family(shape, dim, dtype, tolerance):
    x = (3 * np.random.default_rng(9).standard_normal(shape)).astype(dtype.np)
    wide = x.astype(np.float64)
    p = softmax_of(wide, dim)
    got = kernels.rowop("softmax", dtype)(x, dim=dim).astype(np.float64)
    np.testing.assert_allclose(got, p, rtol=max(tolerance, 4e-6) if dtype is dt.float32 else 2 * tolerance, atol=tolerance)
    got = kernels.rowop("log_softmax", dtype)(x, dim=dim).astype(np.float64)
    np.testing.assert_allclose(got, np.log(p), rtol=tolerance, atol=tolerance)
    got = kernels.rowop("logsumexp", dtype)(x, dim=dim).astype(np.float64)
    np.testing.assert_allclose(got, np.log(np.exp(wide).sum(dim)), rtol=tolerance, atol=tolerance)


def test_softmax_of_masked_rows():
    x = np.zeros((2, 20), np.float32)
    x[0, 5:] = -np.inf
    x[1] = -np.inf
    got = kernels.rowop("softmax", dt.float32)(x)
    np.testing.assert_allclose(got[0], [0.2] * 5 + [0] * 15, rtol=1e-6)
    assert np.isnan(got[1]).all()
    assert kernels.rowop("logsumexp", dt.float32)(x)[1] == -np.inf


def test_norms_and_their_gradients():
    rng = np.random.default_rng(10)
    x, g = rng.standard_normal((2, 37, 96))
    w, b = rng.standard_normal((2, 96))
    y, mean, rstd = kernels.rowop("layer_norm", dt.float64, eps=1e-5)(x, w, b)
    h = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, h * w + b, rtol=1e-12, atol=1e-12)
    r = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    gw = g * w
    want = r * (gw - gw.mean(1, keepdims=True) - h * (gw * h).mean(1, keepdims=True))
    dx = kernels.rowop("layer_norm_backward", dt.float64, eps=1e-5)(g, x, w)[0]
    np.testing.assert_allclose(dx, want, rtol=1e-10, atol=1e-12)
    dw, db = kernels.rowop("norm_weight_backward", dt.float64)(g, x, mean, rstd, dim=0)
    np.testing.assert_allclose(dw, (g * h).sum(0), rtol=1e-10)
    np.testing.assert_allclose(db, g.sum(0), rtol=1e-10)
    y, rstd = kernels.rowop("rms_norm", dt.float64, eps=1e-6)(x, w)
    r = 1 / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(y, x * r * w, rtol=1e-12)
    want = r * (gw - x * r * (gw * x * r).mean(1, keepdims=True))
    dx, rstd = kernels.rowop("rms_norm_backward", dt.float64, eps=1e-6)(g, x, w)
    np.testing.assert_allclose(dx, want, rtol=1e-10, atol=1e-12)
    dw = kernels.rowop("norm_weight_backward", dt.float64, centred=False, bias=False)(g, x, rstd, dim=0)
    np.testing.assert_allclose(dw, (g * x * r).sum(0), rtol=1e-10)


def test_cross_entropy_and_its_gradient():
    rng = np.random.default_rng(11)
    x, target = rng.standard_normal((9, 50)), rng.integers(0, 50, 9)
    target[2], target[3] = -100, 50
    loss, lse = kernels.rowop("cross_entropy", dt.float64)(x, target)
    want = -np.log(softmax_of(x))[np.arange(9), np.clip(target, 0, 49)]
    want[2], want[3] = 0, np.nan
    np.testing.assert_allclose(loss, want, rtol=1e-12)
    g = rng.standard_normal(9)
    dx = kernels.rowop("cross_entropy_backward", dt.float64)(g, x, lse, target)
    hot = (np.arange(50) == target[:, None]) * 1.0
    want = (softmax_of(x) - hot) * np.where(target == -100, 0, g)[:, None]
    np.testing.assert_allclose(dx, want, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("kind", ["sum", "prod"])
def test_scans(kind, dim):
    x = (1 + 0.1 * np.random.default_rng(12).standard_normal((9, 70, 11))).astype(np.float32)
    want = (np.cumsum if kind == "sum" else np.cumprod)(x.astype(np.float64), dim)
    np.testing.assert_array_equal(kernels.rowop("scan", dt.float32, kind=kind)(x, dim=dim), want.astype(np.float32))
    whole = np.arange(-20, 20)
    np.testing.assert_array_equal(kernels.rowop("scan", dt.int64)(whole), whole.cumsum())


SEEDS = [(0, 0), (2**63 + 7, 3), (123456789012345, 2**40)]


@pytest.mark.parametrize("seed, call", SEEDS)
def test_random_kernels_are_philox(seed, call):
    for n, start in ((1, 0), (37, 0), (1000, 5)):
        def drawn(name, **more):
            return draw(name)(seed, call, n, start, **more)

        np.testing.assert_array_equal(drawn("random_bits"), philox.bits(seed, call, n, start))
        np.testing.assert_array_equal(philox.bits_at(np.arange(start, start + n)[::-1], seed, call)[::-1],
                                      philox.bits(seed, call, n, start))
        np.testing.assert_array_equal(drawn("random_uniform"), philox.uniform01(seed, call, n, start=start))
        np.testing.assert_array_equal(drawn("random_uniform_double"), philox.uniform01(seed, call, n, np.float64, start))
        np.testing.assert_allclose(drawn("random_normal"), philox.normal(seed, call, n, start=start), rtol=3e-7)
        np.testing.assert_allclose(drawn("random_normal_double"), philox.normal(seed, call, n, np.float64, start), atol=1e-14)
        for span in (10, 2**50 + 3, 2**63 + 5, 2**64 - 1):
            np.testing.assert_array_equal(drawn("random_below", span=span), philox.randint(seed, call, n, 0, span, start))
        whole = philox.randint(seed, call, n, -2**63, 2**63, start)
        np.testing.assert_array_equal(drawn("random_below", span=2**64), (whole.view(np.uint64) + 2**63).view(np.int64))


def test_integers_of_the_whole_range_are_the_words():
    first, second = philox.bits(7, 3, 200).astype(np.uint64).reshape(-1, 2).T
    words = (first << np.uint64(32)) + second + np.uint64(2**63)
    assert philox.randint(7, 3, 100, -2**63, 2**63).tolist() == words.view(np.int64).tolist()


def test_philox_known_answers_and_moments():
    assert philox.bits(0, 0, 4).tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    everything = 2**64 - 1
    ones = philox.block([np.array([0xFFFFFFFF], np.uint64)] * 4, (0xFFFFFFFF, 0xFFFFFFFF))
    assert [int(w[0]) for w in ones] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert philox.bits(everything, everything, 8, 100).tolist() == philox.bits(everything, everything, 108)[100:].tolist()
    z = np.concatenate([draw("random_normal")(seed, 1, 200_000) for seed in range(10)]).astype(np.float64)
    assert abs(z.mean()) < 0.003
    assert abs(z.std() - 1) < 0.003
    assert abs((z**3).mean()) < 0.01
    assert abs((z**4).mean() - 3) < 0.03


@pytest.mark.parametrize("sizes", [(7, 8), (9, 8), (8, 7), (0, 8)])
def test_kernels_do_not_read_beyond_their_operands(sizes):
    x, w, b = np.zeros((3, 8)), *[np.zeros(n) for n in sizes]
    with pytest.raises(ShapeError, match="layer_norm of \\[3, 8\\] along dim 1 takes an array of 8 elements"):
        kernels.rowop("layer_norm", dt.float64, eps=1e-5)(x, w, b)
