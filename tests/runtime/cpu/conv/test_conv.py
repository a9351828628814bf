"""Convolution kernels against the references in float64: random geometries, algorithms, layouts, threads, targets."""

import functools
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from blocked_arrays import block, lanes_of, pack_weight, run_fused, unblock
from ingot.ir import config, target
from ingot.ir.errors import ShapeError
from ingot.ir.opdef.op import OPS
from ingot.ir.ops.nn import conv as ops
from ingot.ir.ops.packed.blocked import run_epilogue
from ingot.passes.codegen.llvm.contract.microkernel import Precision
from ingot.passes.codegen.llvm.conv import conv as direct_code
from ingot.passes.codegen.llvm.conv import conv_depthwise as depthwise_code
from ingot.passes.codegen.llvm.conv import conv_grad as grad_code
from ingot.passes.codegen.llvm.conv import conv_reorder
from ingot.passes.codegen.llvm.conv import winograd as winograd_code
from ingot.passes.codegen.llvm.conv.conv_depthwise_planar import PlanesKernel, PlaneWindow
from ingot.passes.codegen.llvm.conv.conv_epilogue import Address, Lines, Usual, following
from ingot.passes.codegen.llvm.conv.conv_few_channels import FewOutputsKernel, TurnKernel
from ingot.passes.codegen.llvm.conv.winograd_half import HalfKernel
from ingot.passes.codegen.llvm.loops.programs import runner_text
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.conv import conv, conv_algorithm, conv_depthwise, conv_fused, conv_plan, winograd
from seeds import seeds

TOLERANCE = {"float32": 2e-6, "float64": 4e-15}      # relative to the sum of the absolute products of a result
PLAIN = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}


def draw(rng, shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


def geometry(rng, kind):
    """Return (x shape, w shape, parameters) of a random convolution that has results."""
    while True:
        rank = int(rng.integers(1, 4))
        size = [int(n) for n in rng.integers(1, 34 if rank < 3 else 9, rank)]
        kernel, stride, dilation = ([int(n) for n in rng.integers(1, most, rank)] for most in (5, 4, 4))
        padding = [tuple(int(n) for n in rng.integers(-1, 4, 2)) for _ in range(rank)]
        if all(n + lo + hi > d * (k - 1) and n + min(lo, 0) + min(hi, 0) > 0
               for n, (lo, hi), k, d in zip(size, padding, kernel, dilation)):
            break
    groups = {"dense": 1, "grouped": int(rng.integers(2, 5)), "depthwise": int(rng.integers(2, 40))}[kind]
    inputs = 1 if kind == "depthwise" else int(rng.choice([1, 3, 8, 16, 17, 40, 64]))
    outputs = int(rng.integers(1, 3)) if kind == "depthwise" else int(rng.choice([1, 5, 16, 24, 64, 80, 112, 176]))
    params = {"stride": tuple(stride), "padding": tuple(padding), "dilation": tuple(dilation), "groups": groups}
    return (int(rng.integers(1, 4)), inputs * groups, *size), (outputs * groups, inputs, *kernel), params


def check(found, op, arrays, params, dtype, message):
    """Compare `found` with the reference in float64, relative to the sum of absolute products."""
    wide = [None if a is None else a.astype(np.float64) for a in arrays]
    wanted = op.ref(*wide, **params)
    scale = op.ref(*[None if a is None else np.abs(a) for a in wide], **params)
    assert found.shape == wanted.shape and found.dtype == arrays[0].dtype and found.flags.c_contiguous, message
    error = (np.abs(found - wanted) / np.maximum(scale, 1e-300)).max()
    assert error <= TOLERANCE[dtype], f"{message}: error {error:.1e}"


@pytest.mark.parametrize("kind", ["dense", "grouped", "depthwise"])
@pytest.mark.parametrize("seed", seeds(12, 24))
def test_random_geometries(kind, seed, threads):
    rng = np.random.default_rng([seed, len(kind)])
    threads(int(rng.integers(1, 4)))
    dtype = ("float32", "float64")[seed % 2]
    x_shape, w_shape, params = geometry(rng, kind)
    x, w, b = draw(rng, x_shape, dtype), draw(rng, w_shape, dtype), draw(rng, w_shape[:1], dtype)
    message = f"seed {seed}: {x_shape} {w_shape} {params} {dtype}"
    y = kernel_of(ops.conv)(x, w, b, **params)
    check(y, ops.conv, (x, w, b), params, dtype, message)
    check(kernel_of(ops.conv)(x, w, None, **params), ops.conv, (x, w, None), params, dtype, message)
    g = draw(rng, y.shape, dtype)
    for op, arrays, size in ((ops.conv_input_grad, (g, w), x_shape[2:]), (ops.conv_weight_grad, (x, g), w_shape[2:])):
        sized = params | {"size": size}
        check(kernel_of(op)(*arrays, **sized), op, arrays, sized, dtype, f"{op.name}, {message}")


@pytest.mark.parametrize("shape", [(1, 64, 56, 56), (2, 40, 13, 17), (1, 32, 8, 8), (3, 100, 7, 9), (1, 400, 6, 6)], ids=str)
@pytest.mark.parametrize("algorithm, bound", [(winograd.F2, 1.1), (winograd.HALF, 1.1), (winograd.F2X4, 1.7),
                                              (winograd.HALF2X4, 1.7), (winograd.F4, 3.0), (winograd.STRIDED, 1.1)], ids=str)
@pytest.mark.parametrize("after", ["nothing", "relu", "offset"])
def test_winograd_is_as_accurate_as_stated(shape, algorithm, bound, after, threads, monkeypatch):
    rng, outputs, padding = np.random.default_rng(shape[1]), 70, ((1, 2), (0, 1))
    x, w = draw(rng, shape, "float32"), draw(rng, (outputs, shape[1], 3, 3), "float32") / np.float32(3 * shape[1] ** 0.5)
    x = np.maximum(x, 0) if after == "relu" else x + np.float32(2 * (after == "offset"))
    b, params = draw(rng, (outputs,), "float32"), PLAIN | {"padding": padding, "stride": (algorithm.stride,) * 2}
    wanted = ops.conv.ref(*(a.astype(np.float64) for a in (x, w, b)), **params)
    g = conv_plan.geometry_of(shape, w.shape, params["stride"], padding, params["dilation"], 1, 4)
    results, errors = [], []
    for chosen in (None, algorithm):
        monkeypatch.setattr(winograd, "choose", lambda g, prepared=False, chosen=chosen: chosen)
        run = conv.direct(g, np.dtype(np.float32), wanted.shape, chosen)
        results.append(run(x, w, b))
        errors.append(np.sqrt(np.square(results[-1] - wanted).mean()))
    assert not np.array_equal(*results), "the algorithm was not taken"
    assert errors[1] <= bound * errors[0], f"rms errors {errors}"


needs_winograd = pytest.mark.skipif(not target.host().fma, reason="the algorithm needs a fused multiply-add")


@needs_winograd
@pytest.mark.parametrize("numerics, algorithm", [("default", winograd.F2X4), ("fast", winograd.F4)])
def test_winograd_does_not_spread_infinities_and_nans(numerics, algorithm):
    rng = np.random.default_rng(0)
    x, w = draw(rng, (2, 64, 30, 30), "float32"), draw(rng, (64, 64, 3, 3), "float32")
    x[0, 3, 4, 5], x[1, 60, 29, 0], x[1, 7, 12, 13], x[0, 1, 20, 20] = np.inf, np.nan, -np.inf, 3e38
    g = conv_plan.geometry_of(x.shape, w.shape, (1, 1), PLAIN["padding"], (1, 1), 1, 4)
    with config.override(numerics=numerics):
        assert winograd.choose(g) == algorithm
        y = kernel_of(ops.conv)(x, w, None, **PLAIN)
    with np.errstate(all="ignore"):
        wanted = ops.conv.ref(x.astype(np.float64), w.astype(np.float64), None, **PLAIN).astype(np.float32)
    assert np.array_equal(np.isnan(y), np.isnan(wanted)) and np.array_equal(np.isposinf(y), np.isposinf(wanted))
    near = np.isfinite(wanted) & (np.abs(wanted) < 1e6)
    assert np.abs(y[near] - wanted[near]).max() < 1e-3


@needs_winograd
def test_strict_numerics_keep_integers_exact():
    rng = np.random.default_rng(1)
    x = rng.integers(-3, 4, (1, 64, 20, 20)).astype(np.float32)
    w = rng.integers(-3, 4, (64, 64, 3, 3)).astype(np.float32)
    wanted = ops.conv.ref(x.astype(np.float64), w.astype(np.float64), None, **PLAIN)
    with config.override(numerics="strict"):
        assert np.array_equal(kernel_of(ops.conv)(x, w, None, **PLAIN), wanted)
    strided = PLAIN | {"stride": (2, 2)}
    g = conv_plan.geometry_of(x.shape, w.shape, strided["stride"], strided["padding"], (1, 1), 1, 4)
    found = conv.direct(g, np.dtype(np.float32), (1, 64, 10, 10), winograd.STRIDED)(x, w, None)
    assert np.array_equal(found, wanted[:, :, ::2, ::2]), "it only adds"
    for numerics in ("default", "fast"):
        with config.override(numerics=numerics):
            assert not np.array_equal(kernel_of(ops.conv)(x, w, None, **PLAIN), wanted), "tiles of four columns round"


@needs_winograd
def test_eager_operators_follow_the_numerics_switch():
    """Kernels run in a context of their own."""
    x, w = ingot.randn(1, 64, 20, 20), ingot.randn(64, 64, 3, 3)
    usual = F.conv2d(x, w, padding=1)
    with config.override(numerics="strict"):
        strict = F.conv2d(x, w, padding=1)
    assert not ingot.equal(usual, strict) and ingot.equal(usual, F.conv2d(x, w, padding=1))


@needs_winograd
@pytest.mark.parametrize("sizes", [(20,), (20, 22, 26)], ids=["one size", "several"])
def test_traced_gradients_follow_the_numerics_switch(sizes):
    """Plans of the same shapes under another switch are not reused."""
    def gradients(x, w):
        y = F.relu(F.conv2d(x, w, padding=1))
        return ingot.autograd.grad(F.conv2d(y, w, padding=1).square().sum(), (x, w))

    w = ingot.randn(64, 64, 3, 3, generator=ingot.Generator().manual_seed(0)).requires_grad_()
    images = [ingot.randn(2, 64, n, n, generator=ingot.Generator().manual_seed(n)).requires_grad_() for n in sizes]
    traced, seen = ingot.jit.trace(gradients), {}
    for numerics in ("default", "strict", "default"):
        with config.override(numerics=numerics):
            want = [gradients(x, w) for x in images]
            for _ in range(3):
                got = [traced(x, w) for x in images]
                assert all(ingot.equal(a, b) for xs, ys in zip(got, want) for a, b in zip(xs, ys)), numerics
        seen[numerics] = want
    assert not any(ingot.equal(a, b) for xs, ys in zip(seen["default"], seen["strict"]) for a, b in zip(xs, ys))


SHAPES = [((2, 64, 14, 14), (96, 64, 3, 3), 1, 1, 1), ((1, 3, 40, 40), (32, 3, 7, 7), 2, 3, 1),
          ((2, 64, 24, 24), (128, 64, 1, 1), 1, 0, 1), ((1, 256, 9, 9), (512, 256, 3, 3), 2, 1, 1),
          ((2, 48, 15, 15), (48, 1, 3, 3), 2, 1, 48), ((1, 64, 7, 7), (64, 32, 3, 3), 1, 1, 2)]


@pytest.mark.parametrize("x_shape, w_shape, stride, pad, groups", SHAPES, ids=str)
def test_threads_change_nothing(x_shape, w_shape, stride, pad, groups, threads):
    rng = np.random.default_rng(2)
    x, w = draw(rng, x_shape, "float32"), draw(rng, w_shape, "float32")
    params = {"stride": (stride,) * 2, "padding": ((pad, pad),) * 2, "dilation": (1, 1), "groups": groups}
    results = []
    for count in (1, 2, 3):
        threads(count)
        y = kernel_of(ops.conv)(x, w, None, **params)
        results.append((y, kernel_of(ops.conv_input_grad)(y, w, size=x_shape[2:], **params),
                        kernel_of(ops.conv_weight_grad)(x, y, size=w_shape[2:], **params)))
    for one, other in zip(results[0] * 2, results[1] + results[2]):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("dilation", [1, 400])
def test_long_rows_are_shared(dilation, threads):
    rng = np.random.default_rng(6)
    x, w = draw(rng, (1, 5, 3001), "float32"), draw(rng, (24, 5, 3), "float32")
    params = {"stride": (1,), "padding": ((dilation, dilation + 1),), "dilation": (dilation,), "groups": 1}
    results = []
    for count in (1, 4):
        threads(count)
        results.append(kernel_of(ops.conv)(x, w, None, **params))
    check(results[0], ops.conv, (x, w, None), params, "float32", "long row")
    assert np.array_equal(*results)


def test_any_strides_and_alignment():
    rng = np.random.default_rng(3)
    whole = draw(rng, (2, 20, 20, 16), "float32")
    x, w = whole.transpose(0, 3, 1, 2)[:, :, ::2, ::-1], draw(rng, (8, 16, 3, 3), "float32")[::-1]
    check(kernel_of(ops.conv)(x, w, None, **PLAIN), ops.conv, (x, w, None), PLAIN, "float32", "strided")
    bytes_ = np.zeros(x.size * 4 + 1, np.uint8)
    moved = bytes_[1:].view(np.float32).reshape(x.shape)
    moved[...] = x
    check(kernel_of(ops.conv)(moved, w, None, **PLAIN), ops.conv, (x, w, None), PLAIN, "float32", "unaligned")


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_round_once(dtype):
    rng = np.random.default_rng(4)
    x, w, b = draw(rng, (2, 20, 9, 9), dtype), draw(rng, (24, 20, 3, 3), dtype), draw(rng, (24,), dtype)
    y = kernel_of(ops.conv)(x, w, b, **PLAIN)
    wanted = ops.conv.ref(*(a.astype(np.float64) for a in (x, w, b)), **PLAIN)
    step = float(ml_dtypes.finfo(dtype).eps)
    assert y.dtype == dtype and np.abs(y.astype(np.float64) - wanted).max() <= step * np.abs(wanted).max()


def test_more_dims_and_empty_batches_use_the_reference():
    x, w = np.ones((1, 2, 3, 3, 3, 3), np.float32), np.ones((2, 2, 1, 1, 1, 1), np.float32)
    four = {"stride": (1,) * 4, "padding": ((0, 0),) * 4, "dilation": (1,) * 4, "groups": 1}
    assert (kernel_of(ops.conv)(x, w, None, **four) == 2).all()
    empty = kernel_of(ops.conv)(np.ones((0, 16, 8, 8), np.float32), np.ones((4, 16, 3, 3), np.float32), None, **PLAIN)
    assert empty.shape == (0, 4, 8, 8)


RELU = ("relu", "v1")
AFTER = {                                   # lines, kinds of arrays, operand words where the usual epilogue does it
    "nothing": ((), (), None),
    "bias": ((("add", "a", "o0"),), ("channel",), (Address(0), 0, 0)),
    "bias, relu": ((("add", "a", "o0"), ("relu", "v0")), ("channel",), (Address(0), 0, 1)),
    "bias, array": ((("add", "a", "o0"), ("add", "v0", "o1")), ("channel", "full"), (Address(0), Address(1), 0)),
    "bias, array, relu": ((("add", "a", "o0"), ("add", "v0", "o1"), RELU), ("channel", "full"), (Address(0), Address(1), 1)),
    "bias, earlier array": ((("add", "o1", "a"), ("add", "o0", "v0"), RELU), ("full", "channel"), (Address(1), Address(0), 1)),
    "array, bias": ((("add", "a", "o0"), ("add", "v0", "o1")), ("full", "channel"), None),
    "array": ((("add", "a", "o0"),), ("full",), None),
    "two biases": ((("add", "a", "o0"), ("add", "v0", "o1")), ("channel", "channel"), None),
    "three arrays": ((("add", "a", "o0"), ("add", "v0", "o1"), ("add", "v1", "o2")), ("channel", "full", "full"), None),
    "relu, bias": ((("relu", "a"), ("add", "v0", "o0")), ("channel",), None),
    "bias, number": ((("add", "a", "o0"), ("add", "v0", 0.5)), ("channel",), None),
    "twice": ((("add", "a", "o0"), ("add", "v0", "v0")), ("channel",), None),
    "less bias": ((("sub", "a", "o0"),), ("channel",), None),
    "scale, bias, array, bounds": ((("mul", "a", "o0"), ("add", "v0", "o1"), ("add", "v1", "o2"), ("maximum", "v2", 0.0),
                                    ("minimum", "v3", 6.0)), ("channel", "channel", "full"), None)}


@pytest.mark.parametrize("after", AFTER)
def test_usual_epilogues_are_known(after):
    lines, kinds, words = AFTER[after]
    found = following(Lines(lines, kinds, "float"))
    assert (type(found.code) is Usual) == (words is not None)
    assert found.words == (words or tuple(map(Address, range(len(kinds)))))
    places = [f"array {number}" for number in range(len(kinds))]
    assert found.block(places) == [places[w.number] if isinstance(w, Address) else w for w in found.words]
    apart = following(Lines(lines, kinds, "float"), shares=False)
    assert type(apart.code) is not Usual and apart.words == tuple(map(Address, range(len(kinds))))


def after_blocked(x, w, lines, beside, x_blocked, params):
    """Return the epilogue `lines` of a convolution, by the kernels of blocks."""
    g = conv_plan.geometry_of(x.shape, w.shape, *params.values(), x.dtype.itemsize)
    algorithm = None if conv_fused.runs_in_lanes(g) else conv_algorithm.choose(replace(g, x_full=x_blocked), prepared=True)
    made = conv_fused.FusedConv(x.shape, w.shape, x.dtype, **params, lines=lines, x_blocked=x_blocked, algorithm=algorithm)
    packed = pack_weight(w, params["groups"], x_blocked, algorithm)
    given = [block(array) for array in beside]
    return unblock(run_fused(made, block(x) if x_blocked else x, packed, given, (w,) if algorithm else ()), len(w))


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("x_shape, w_shape, stride, pad, groups", SHAPES, ids=str)
def test_fused_convolutions(x_shape, w_shape, stride, pad, groups, after):
    if groups not in (1, x_shape[1]) and x_shape[1] // groups % lanes_of(np.float32):
        pytest.skip("no kernel of blocks takes such groups")
    rng, (lines, kinds, _) = np.random.default_rng(5), AFTER[after]
    x, w = draw(rng, x_shape, "float32"), draw(rng, w_shape, "float32")
    params = {"stride": (stride,) * 2, "padding": ((pad, pad),) * 2, "dilation": (1, 1), "groups": groups}
    plain = ops.conv.ref(x.astype(np.float64), w.astype(np.float64), None, **params)
    shapes = {"full": plain.shape, "channel": (1, w_shape[0], 1, 1)}
    beside = [draw(rng, shapes[kind], "float32") for kind in kinds]
    wanted = run_epilogue(lines, plain, beside, lambda name, *arguments: OPS[name].ref(*arguments))
    for x_blocked in (True, False):
        found = after_blocked(x, w, Lines(lines, kinds, "float"), beside, x_blocked, params)
        assert np.abs(found - wanted).max() <= 5e-6 * max(np.abs(wanted).max(), np.abs(plain).max())


@pytest.mark.parametrize("after", ["bias", "bias, relu", "bias, array", "bias, array, relu"])
@pytest.mark.parametrize("taps, channels", [(1, 64), (3, 8), (3, 64)])
def test_usual_epilogues_give_the_bits_of_their_lines(taps, channels, after, monkeypatch):
    rng, (lines, kinds, _), params = np.random.default_rng(6), AFTER[after], dict(PLAIN, padding=((taps // 2,) * 2,) * 2)
    x, w = draw(rng, (1, channels, 9, 9), "float32"), draw(rng, (channels, channels, taps, taps), "float32")
    x[0, :, 4, 4], x[0, :, 0, 0] = np.nan, 0
    beside = [draw(rng, (1, channels, *((9, 9) if kind == "full" else (1, 1))), "float32") for kind in kinds]
    usual = after_blocked(x, w, Lines(lines, kinds, "float"), beside, True, params)
    monkeypatch.setattr(conv_fused, "following", functools.partial(following, shares=False))
    np.testing.assert_array_equal(usual, after_blocked(x, w, Lines(lines, kinds, "float"), beside, True, params))
    assert np.isnan(usual).any() and np.isfinite(usual).any()


@pytest.mark.parametrize("channels", [1, 3, 16, 19, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocking_round_trip(channels, dtype):
    x = draw(np.random.default_rng(channels), (2, channels, 5, 7), dtype)
    blocks = block(x)
    lanes = lanes_of(dtype)
    padded = np.zeros((2, blocks.shape[1] * lanes, 5, 7), dtype)
    padded[:, :channels] = x
    assert np.array_equal(blocks, padded.reshape(2, -1, lanes, 5, 7).transpose(0, 1, 3, 4, 2))
    assert np.array_equal(unblock(blocks, channels), x)


def test_unsupported_groups_of_blocked_convolutions_are_named():
    with pytest.raises(ShapeError, match="each of 2 groups must be a multiple of"):
        after_blocked(np.ones((1, 36, 8, 8), np.float32), np.ones((36, 18, 3, 3), np.float32), Lines((), (), "float"), (), True,
                      dict(PLAIN, groups=2))


def test_tensors_use_the_kernels_and_their_gradients():
    ingot.manual_seed(0)
    x, w = ingot.randn(2, 18, 9, 9, dtype=ingot.float64), ingot.randn(20, 9, 3, 3, dtype=ingot.float64)
    x.requires_grad_(), w.requires_grad_()
    assert ingot.autograd.gradcheck(lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2), (x, w), fast_mode=True)


def modules(machine):
    """Yield the text of every kind of module for a target."""
    pattern = conv_depthwise.pattern_of(conv_plan.Window(20, 20, 3, 1, 1, 1))
    for element in ("float", "double"):
        precision = Precision.of(element)
        yield direct_code.ConvKernel(machine, precision, 2, Usual(element)).text()
        yield direct_code.ConvKernel(machine, precision, 2, written=7).text()
        yield FewOutputsKernel(machine, precision, 1, written=3 * machine.lanes(8), outputs=3).text()
        yield TurnKernel(machine, element).text()
        yield grad_code.WeightGradKernel(machine, precision, 2).text()
        yield from (conv_reorder.reorder_text(machine, element, variant) for variant in conv_reorder.VARIANTS)
        made = depthwise_code.DepthwiseKernel(machine, element, pattern)
        yield from (made.text(), made.weight_text())
        yield from (PlanesKernel(machine, element, PlaneWindow((3, 3), (1, step), (1, 1)), 4, machine.lanes(8)).text()
                    for step in (1, 2))
    for made in (*(winograd_code.WinogradKernel(machine, tile) for tile in ((2, 2), (2, 4), (4, 4))),
                 winograd_code.WinogradKernel(machine, (2, 2), stride=2),
                 *(HalfKernel(machine, tile) for tile in ((2, 2), (2, 4)))):
        yield from (made.text(), made.filter_text())
    yield runner_text(machine)


@pytest.mark.parametrize("level", ["x86-64-v4", "x86-64-v3", "aarch64"])
def test_modules_compile_for_every_target(level):
    for text in modules(target.cpu(level)):
        assert compiler.emit_object(text, target.cpu(level))
