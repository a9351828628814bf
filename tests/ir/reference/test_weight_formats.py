"""Formats of stored weights: decoded numbers against loops over the layout of each block, and packed ones within bounds.

The seed of drawn blocks is the name of the format. The package `gguf` decodes the same blocks in `make test-peers`.
"""

import numpy as np
import pytest

from ingot.ir.errors import ArgumentError, ShapeError
from ingot.ir.reference.weight_formats import FORMATS, format_named

F32 = np.float32
LEVELS = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
GROUPS = tuple(f"{sign}int{bits}_group{size}" for sign in ("", "u") for bits in (4, 5, 6, 8) for size in (32, 128))
NAMES = (*FORMATS, *GROUPS)


def half(b, at):
    return F32(np.frombuffer(bytes(b[at:at + 2]), "<f2")[0])


def single(b, at):
    return np.frombuffer(bytes(b[at:at + 4]), "<f4")[0]


def signed(byte):
    return byte - 256 if byte > 127 else byte


def nibble(b, at, i):
    """Nibble i of 32 in 16 bytes: the low ones first."""
    return b[at + i % 16] >> 4 * (i // 16) & 15


def q4_0(b):
    return [half(b, 0) * F32(nibble(b, 2, i) - 8) for i in range(32)]


def q4_1(b):
    return [half(b, 0) * F32(nibble(b, 4, i)) + half(b, 2) for i in range(32)]


def q5_0(b):
    high = int.from_bytes(b[2:6], "little")
    return [half(b, 0) * F32((nibble(b, 6, i) | (high >> i & 1) << 4) - 16) for i in range(32)]


def q5_1(b):
    high = int.from_bytes(b[4:8], "little")
    return [half(b, 0) * F32(nibble(b, 8, i) | (high >> i & 1) << 4) + half(b, 2) for i in range(32)]


def q8_0(b):
    return [half(b, 0) * F32(signed(b[2 + i])) for i in range(32)]


def q2_k(b):
    out = []
    for i in range(256):
        scale = b[i // 16]
        code = b[16 + 32 * (i // 128) + i % 32] >> 2 * (i // 32 % 4) & 3
        out.append(half(b, 80) * F32(scale & 15) * F32(code) - half(b, 82) * F32(scale >> 4))
    return out


def q3_k(b):
    out = []
    for i in range(256):
        j = i // 16
        scale = (b[96 + j % 8] >> 4 * (j // 8) & 15) | (b[104 + j % 4] >> 2 * (j // 4) & 3) << 4
        code = (b[32 + 32 * (i // 128) + i % 32] >> 2 * (i // 32 % 4) & 3) - (0 if b[i % 32] >> i // 32 & 1 else 4)
        out.append(half(b, 108) * F32(scale - 32) * F32(code))
    return out


def six_bits(s, j):
    """Scale and minimum j of 8 in 12 bytes."""
    if j < 4:
        return s[j] & 63, s[j + 4] & 63
    return (s[j + 4] & 15) | (s[j - 4] >> 6) << 4, (s[j + 4] >> 4) | (s[j] >> 6) << 4


def q4_k(b, codes=16, high=None):
    out = []
    for i in range(256):
        scale, minimum = six_bits(b[4:16], i // 32)
        code = b[codes + 32 * (i // 64) + i % 32] >> 4 * (i // 32 % 2) & 15
        code |= (b[high + i % 32] >> i // 32 & 1) << 4 if high else 0
        out.append(half(b, 0) * F32(scale) * F32(code) - half(b, 2) * F32(minimum))
    return out


def q5_k(b):
    return q4_k(b, 48, 16)


def q6_k(b):
    out = []
    for i in range(256):
        part, j = i // 128, i % 128
        low = b[64 * part + j % 64] >> 4 * (j // 64) & 15
        high = b[128 + 32 * part + j % 32] >> 2 * (j // 32) & 3
        out.append(half(b, 208) * F32(signed(b[192 + i // 16])) * F32((low | high << 4) - 32))
    return out


def iq4_nl(b):
    return [half(b, 0) * F32(LEVELS[nibble(b, 2, i)]) for i in range(32)]


def iq4_xs(b):
    out, high = [], int.from_bytes(b[2:4], "little")
    for i in range(256):
        j = i // 32
        scale = (b[4 + j // 2] >> 4 * (j % 2) & 15) | (high >> 2 * j & 3) << 4
        out.append(half(b, 0) * F32(scale - 32) * F32(LEVELS[nibble(b, 8 + 16 * j, i % 32)]))
    return out


def f16(b):
    return [half(b, 0)]


def bf16(b):
    return [single([0, 0, *b], 0)]


def group(b, bits, size, has_minimum):
    """A group in units of 32 numbers: nibbles, then one or two further bits of each."""
    start, out = 8 if has_minimum else 4, []
    for i in range(size):
        unit, j = divmod(i, 32)
        code = b[start + i] if bits == 8 else nibble(b, start + 16 * unit, j)
        run = 4 * (bits - 4)
        if bits in (5, 6):
            at = start + size // 2 + run * unit
            code |= (b[at + j % run] >> (bits - 4) * (j // run) & (1 << bits - 4) - 1) << 4
        if has_minimum:
            out.append(single(b, 0) * F32(code) + single(b, 4))
        else:
            out.append(single(b, 0) * F32(signed(code) if bits == 8 else code - (1 << bits - 1)))
    return out


DECODERS = {"F16": f16, "BF16": bf16, "Q4_0": q4_0, "Q4_1": q4_1, "Q5_0": q5_0, "Q5_1": q5_1, "Q8_0": q8_0, "Q2_K": q2_k,
            "Q3_K": q3_k, "Q4_K": q4_k, "Q5_K": q5_k, "Q6_K": q6_k, "IQ4_NL": iq4_nl, "IQ4_XS": iq4_xs}


def decoder(name):
    if name in DECODERS:
        return DECODERS[name]
    bits, size = name.lstrip("u").removeprefix("int").split("_group")
    return lambda b: group(b, int(bits), int(size), name[0] == "u")


def drawn(name, count):
    return np.random.default_rng([*name.encode()]).integers(0, 256, (count, format_named(name).nbytes), np.uint8)


def same_bits(got, want):
    return bool(((got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))).all())


@pytest.mark.parametrize("name", NAMES)
def test_decoded_blocks_equal_the_layout_bit_for_bit(name):
    form, decode = format_named(name), decoder(name)
    blocks = drawn(name, 40 if form.block > 1 else 4000)
    with np.errstate(all="ignore"):
        want = np.array([decode(b) for b in blocks.tolist()], F32)
    assert same_bits(form.unpack(blocks, form.block), want)


@pytest.mark.peer
@pytest.mark.parametrize("name", [n for n in FORMATS if n != "F16"])
def test_decoded_blocks_equal_the_peer_bit_for_bit(name):
    gguf = pytest.importorskip("gguf")
    form = FORMATS[name]
    rows = drawn(name, 2000).reshape(500, -1)
    with np.errstate(all="ignore"):
        want = gguf.quants.dequantize(rows, gguf.GGMLQuantizationType[name])
    assert same_bits(form.unpack(rows, 4 * form.block), want)


CONSTANTS = {       # a block whose bytes are 0x3c01, 0x3c01 and so on, its first and last numbers in hexadecimal
    "Q4_0": ("-0x1.c000000000000p+2", "-0x1.4000000000000p+2"), "Q8_0": ("0x1.0000000000000p+0", "0x1.e000000000000p+5"),
}


def block_of_words(name):
    form = format_named(name)
    return np.frombuffer(b"\x00\x3c" + bytes([1, 0x3c] * form.nbytes), np.uint8)[:form.nbytes]


@pytest.mark.parametrize("name", CONSTANTS)
def test_decoded_constants(name):
    numbers = format_named(name).unpack(block_of_words(name), format_named(name).block)
    assert (float(numbers[0]).hex(), float(numbers[-1]).hex()) == CONSTANTS[name]


def worst(name, weights) -> float:
    """Largest error of packed numbers, in units of the largest magnitude of their block."""
    form = format_named(name)
    got = form.unpack(form.pack(weights), weights.shape[-1])
    return float((np.abs(got - weights).max(-1) / np.abs(weights).max(-1)).max())


# Formats with scales that are rounded themselves: measured on these numbers, and rounded up.
BOUNDS = {"F16": 2 ** -11, "BF16": 2 ** -8, "Q2_K": 0.6, "Q3_K": 0.3, "Q4_K": 0.12, "Q5_K": 0.06, "Q6_K": 0.035, "IQ4_NL": 0.13,
          "IQ4_XS": 0.15}


def bound(name) -> float:
    """Return what half a step may be, in units of the largest magnitude, or a whole one below a largest code that is missing:
    codes from -8 to 7 reach 8 steps on one side. Scales of float16 add one part in 2000."""
    if name in BOUNDS:
        return BOUNDS[name]
    codes = format_named(name).codes
    steps = (1 << codes.width) - 1 if codes.lowest == 0 else -codes.lowest if not codes.signed else codes.highest
    return (1 if codes.offset else 0.5) * (2 if codes.lowest == 0 else 1) / steps + 1e-3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0, 1, 33, 256, 300])
def test_packed_numbers_are_the_nearest(name, size):
    rng = np.random.default_rng([size, *name.encode()])
    form = format_named(name)
    weights = rng.standard_normal((3, 2, size)).astype(F32)
    rows = form.pack(weights)
    assert rows.shape == (3, 2, form.bytes_of_row(size)) and form.unpack(rows, size).shape == weights.shape
    if size:
        assert worst(name, weights) <= bound(name)


@pytest.mark.parametrize("name", NAMES)
def test_packing_what_was_unpacked_keeps_it(name):
    """Numbers of a format are its own nearest ones, for one level of scales; zeros stay zeros in all."""
    form = format_named(name)
    zeros = np.zeros((2, 2 * form.block), F32)
    assert not form.unpack(form.pack(zeros), zeros.shape[-1]).any()
    if not form.scales:
        weights = np.random.default_rng(1).standard_normal((4, form.block)).astype(F32)
        once = form.unpack(form.pack(weights), form.block)
        np.testing.assert_allclose(form.unpack(form.pack(once), form.block), once, rtol=2e-3, atol=2e-3)


def test_errors():
    for name in ("Q9_9", "int3_group32", "int4_group31", "int4_group0", "int4_group999999", "uint4", ""):
        with pytest.raises(ArgumentError):
            format_named(name)
    form = format_named("Q4_0")
    for bad in (np.inf, np.nan):
        with pytest.raises(ArgumentError, match="finite"):
            form.pack(np.full((1, 32), bad, F32))
    with pytest.raises(ArgumentError, match="float16 cannot hold"):
        form.pack(np.full((1, 32), 1e30, F32))
    with pytest.raises(ShapeError, match="18 bytes"):
        form.unpack(np.zeros((2, 17), np.uint8), 32)
    with pytest.raises(ShapeError):
        form.pack(np.float32(1))
