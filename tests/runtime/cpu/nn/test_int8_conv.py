"""Convolutions of bytes: the bits of the reference for any level, threads, strides; sums and limits by hand."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.ir import target
from ingot.ir.dtype import by_name, float32, uint8
from ingot.ir.errors import IngotError
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.nn import conv as plain
from ingot.ir.ops.quantized.int8_conv import conv_int8, depthwise_int8, from_bytes, packed_channels, packed_weight, to_bytes
from ingot.passes.codegen.llvm.conv.int8_conv import Int8ConvKernel, tile_pixels
from ingot.passes.codegen.llvm.conv.int8_depthwise import Int8DepthwiseKernel
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.nn import int8_conv
from kernel_runs import DOTS, LEVELS, cpu_of
from samples.int8_conv import FINISHES, convolution_of, finish

# As in the samples, but of sizes that panels, tiles and rows of tiles are cut by; no groups: a window for each channel.
SHAPES = [(1, (1, 1), 4, 1, 1, (1, 1), (1, 1), (1, 1)), (2, (9, 16), 8, 40, 1, (3, 3), (1, 1), (1, 1)),
          (1, (8, 9), 64, 64, 1, (3, 2), (2, 1), (1, 2)), (2, (7, 7), 16, 48, 1, (1, 1), (1, 1), (1, 1)),
          (1, (7, 31), 32, 40, 2, (3, 3), (2, 2), (2, 2)), (3, (6, 6), 24, 96, 1, (1, 1), (2, 2), (1, 1)),
          (1, (16, 60), 4, 64, 1, (7, 7), (2, 2), (1, 1)), (1, (1, 300), 20, 90, 1, (1, 1), (1, 1), (1, 1)),
          (1, (1, 1), 512, 1000, 1, (1, 1), (1, 1), (1, 1)), (1, (3, 3), 64, 64, 4, (3, 3), (1, 1), (1, 1)),
          (2, (9, 20), 24, 0, None, (3, 3), (2, 2), (1, 1)), (1, (12, 9), 40, 0, None, (5, 3), (1, 1), (2, 1)),
          (1, (5, 19), 5, 0, None, (3, 3), (1, 2), (1, 1)), (1, (3, 3), 64, 0, None, (3, 3), (1, 1), (1, 1)),
          (2, (5, 12), 150, 0, None, (3, 3), (1, 1), (1, 1)), (1, (8, 17), 80, 0, None, (5, 5), (2, 2), (1, 1)),
          (1, (9, 9), 64, 0, None, (2, 4), (1, 1), (2, 2)), (1, (4, 7), 128, 0, None, (3, 2), (1, 3), (1, 1))]


@pytest.fixture(params=["host", *LEVELS, *DOTS])
def level(request, monkeypatch):
    """Select kernels of this machine, those of each level without its extras, and those of 256 bits that multiply bytes."""
    caches = int8_conv.plan, int8_conv._dense_task, int8_conv._depthwise_task
    if request.param != "host":
        machine = cpu_of(request.param)
        monkeypatch.setattr(int8_conv, "host", lambda: machine)
        compiled = lambda kernel: compiler.compile_module(kernel.text(), [kernel.symbol], machine)[kernel.symbol]
        monkeypatch.setattr(int8_conv, "task_of", compiled)
    for cache in caches:
        cache.cache_clear()
    yield request.param
    for cache in caches:
        cache.cache_clear()


def operator_of(case):
    return depthwise_int8 if case[4] is None else conv_int8


@pytest.mark.parametrize("case", SHAPES)
def test_kernels_equal_the_reference(level, threads, case):
    rng = np.random.default_rng(0)
    for kind, adds in itertools.product(FINISHES[1:], (False, True)):
        operands, params = convolution_of(rng, case, kind, adds, spread=4.0)
        want = operator_of(case).ref(*operands, **params)
        for count in (1, 3):
            threads(count)
            got = kernel_of(operator_of(case))(*operands, **params)
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (kind, adds, count)


@pytest.mark.parametrize("case", [SHAPES[1], SHAPES[3], SHAPES[10]])
def test_images_of_other_strides(case):
    """Rows and images are parts of a larger array, and so is the one to add."""
    operands, params = convolution_of(np.random.default_rng(1), case, FINISHES[1], True)
    want = operator_of(case).ref(*operands, **params)

    def within(a):
        wide = np.full([n + 2 for n in a.shape[:3]] + [a.shape[3] + 4], 99, np.uint8)
        part = wide[1:-1, 1:-1, 1:-1, :-4]
        part[...] = a
        return part

    x, *others, to_add = operands
    for images, added in ((within(x), within(to_add)), (x[::-1][::-1], np.asfortranarray(to_add))):
        assert kernel_of(operator_of(case))(images, *others, added, **params).tobytes() == want.tobytes()


def test_the_largest_sums():
    """255 times -128 and 127 over the largest depth: 32 bits hold it, and pairs of 16 bits would not."""
    for depth in (4, 1 << 16):
        w = np.full((2, depth, 1, 1), 127, np.int8)
        w[1] = -128
        x = np.full((1, 1, 2, depth), 255, np.uint8)
        start, factor = np.zeros(16, np.int32), np.ones(16, np.float32)
        out = kernel_of(conv_int8)(x, packed_weight(w, 1), start, factor, None, outs=2, groups=1, stride=(1, 1),
                                   dilation=(1, 1), **finish(float32, 0, 0, 255))
        assert out[0, 0, 1].tolist() == [np.float32(255 * 127 * depth), np.float32(-255 * 128 * depth)]


def test_limits_and_rounding():
    """With a weight of one, the result is (start + x) * factor, ties to even, shifted and clamped to the limits."""
    x = np.arange(256, dtype=np.uint8).reshape(1, 1, 64, 4)
    w = packed_weight(np.eye(4, dtype=np.int8).reshape(4, 4, 1, 1), 1)
    start, factor = packed_channels(np.full(4, -20, np.int32), 1), packed_channels(np.full(4, 0.5, np.float32), 1)
    out = kernel_of(conv_int8)(x, w, start, factor, None, outs=4, groups=1, stride=(1, 1), dilation=(1, 1),
                               **finish(uint8, 5, 3, 100)).reshape(-1)
    want = [min(max(round((n - 20) / 2) + 5, 3), 100) for n in range(256)]
    assert out.tolist() == want and want[:3] == [3, 3, 3] and want[21] == 5 and want[23] == 7


@pytest.mark.parametrize("groups", [1, 2])
def test_the_reference_is_a_convolution(groups):
    rng = np.random.default_rng(2)
    x, w = rng.integers(0, 256, (2, 8, 7, 6)) * 1.0, rng.integers(-127, 128, (6, 8 // groups, 3, 2)) * 1.0
    window = {"stride": (2, 1), "dilation": (1, 2), "groups": groups}
    want = plain.conv.ref(x, w, None, padding=((0, 0), (0, 0)), **window)
    zeros, ones = (packed_channels(np.full(6, n, kind), groups) for n, kind in ((0, np.int32), (1, np.float32)))
    got = conv_int8.ref(x.transpose(0, 2, 3, 1).astype(np.uint8), packed_weight(w.astype(np.int8), groups), zeros, ones, None,
                        outs=6, **window, **finish(float32, 0, 0, 255))
    assert np.array_equal(got.transpose(0, 3, 1, 2), want)


def test_bytes_survive_conversion_to_numbers_and_back():
    """A byte converted to its number and back is the same byte, for any scale."""
    rng = np.random.default_rng(3)
    every = np.arange(256, dtype=np.uint8)
    for scale in (1e-30, 1e36, *rng.random(20)):
        for zero in (0, 77, 255):
            steps = {"scale": float(scale), "zero": zero}
            assert np.array_equal(to_bytes.ref(from_bytes.ref(every, **steps), **steps), every)


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_every_target_compiles(name):
    machine = target.cpu(name)
    most = tile_pixels(machine, 1)
    assert compiler.emit_object(Int8ConvKernel(machine, 1, (most,), "u8", True).text(), machine)
    assert compiler.emit_object(Int8DepthwiseKernel(machine, "f32", False).text(), machine)
    if name == "x86-64-v4":
        machine = replace(machine, features=frozenset({"avx512vnni"}))
        assert compiler.emit_object(Int8ConvKernel(machine, 4, (5, 6), "u8", False).text(), machine)
        assert compiler.emit_object(Int8DepthwiseKernel(machine, "u8", False, (3, 3), 1).text(), machine)


def aval(kind, *shape):
    return Aval(shape, by_name(kind))


GOOD = {"x": aval("uint8", 1, 5, 5, 8), "w": aval("int8", 2, 3, 3, 2, 16, 4), "start": aval("int32", 32),
        "factor": aval("float32", 32), "residual": None}
PARAMS = {"outs": 20, "groups": 1, "stride": (1, 1), "dilation": (1, 1), **finish(uint8, 0, 0, 255)}


@pytest.mark.parametrize("change, words", [
    ({"x": aval("float32", 1, 5, 5, 8)}, "uint8"), ({"x": aval("uint8", 1, 5, 5, 9)}, "channels of the weight"),
    ({"x": aval("uint8", 1, 2, 5, 8)}, "no window"), ({"w": aval("int8", 2, 3, 3, 2, 4, 16)}, "16, 4"),
    ({"w": aval("int8", 3, 3, 3, 2, 16, 4)}, "20 channels in 1 groups"), ({"start": aval("int32", 20)}, "start of int32"),
    ({"factor": aval("float64", 32)}, "factor of float32"), ({"residual": aval("uint8", 1, 3, 3, 32)}, "what is added"),
    ({"w": aval("int8", 2, 3, 3, 1 << 12, 16, 4), "x": aval("uint8", 1, 5, 5, 1 << 14)}, "at most 65536"),
    ({"low": 9, "high": 8}, "high must be from 9 to 255"), ({"zero": 256}, "zero must be from 0 to 255"),
    ({"dtype": by_name("float64")}, r"dtype must be one of ingot\.uint8, ingot\.float32")])
def test_wrong_operands_raise(change, words):
    operands = {**GOOD, **{k: v for k, v in change.items() if k in GOOD}}
    assert str(conv_int8.infer(*GOOD.values(), **PARAMS)) == "uint8[1, 3, 3, 20]"
    with pytest.raises(IngotError, match=words):
        conv_int8.infer(*operands.values(), **{**PARAMS, **{k: v for k, v in change.items() if k not in GOOD}})


def test_vmap_over_images():
    operands, params = convolution_of(np.random.default_rng(4), SHAPES[1], FINISHES[1], True)
    x, w, start, factor, to_add = [ingot.tensor(a) for a in operands]
    images = x.reshape(2, 1, *x.shape[1:]), to_add.reshape(2, 1, *to_add.shape[1:])
    got = ingot.vmap(lambda x, b: conv_int8(x, w, start, factor, b, **params))(*images)
    assert np.array_equal(got.numpy()[:, 0], conv_int8.ref(*operands, **params))


PROTECTED_PROGRAM = """
import ctypes, mmap, sys
import numpy as np
sys.path.insert(0, {tests!r})
from ingot.runtime.core.dispatch import kernel_of
from samples.int8_conv import FINISHES, convolution_of
from test_int8_conv import SHAPES, operator_of

libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
mappings = []

def before_protected_memory(a):
    size = -(-a.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    whole = np.frombuffer(memory, np.uint8)
    assert libc.mprotect(whole.ctypes.data + size, mmap.PAGESIZE, 0) == 0
    mappings.append(memory)
    at = whole[size - a.nbytes:size].view(a.dtype).reshape(a.shape)
    at[...] = a
    return at

for case in SHAPES:
    for adds in (False, True):
        operands, params = convolution_of(np.random.default_rng(5), case, FINISHES[1], adds)
        protected = [None if a is None else before_protected_memory(a) for a in operands]
        op = operator_of(case)
        assert np.array_equal(kernel_of(op)(*protected, **params), op.ref(*operands, **params)), case
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory protected by mprotect")
def test_kernels_do_not_read_beyond_their_operands():
    """Each operand ends right before memory that may not be touched."""
    tests = Path(__file__).parent
    paths = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    program = PROTECTED_PROGRAM.format(tests=str(tests))
    done = subprocess.run([sys.executable, "-c", program], env=paths, text=True, capture_output=True,
                          check=False)
    assert done.stdout.strip() == "done", done.stderr or done.returncode
