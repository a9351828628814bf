"""Random numbers as a function of (seed, call, element): Philox-4x32-10, the same on every device and thread count.

This is the one definition. Word number w of a call is output w mod 4 of the Philox block

    counter = (b mod 2^32, b >> 32, call mod 2^32, call >> 32)  with b = w >> 2
    key     = (seed mod 2^32, seed >> 32)

after ten rounds of: (c0, c1, c2, c3) <- (hi(M1 c2) ^ c1 ^ k0, lo(M1 c2), hi(M0 c0) ^ c3 ^ k1, lo(M0 c0)), the key growing by
(W0, W1) between rounds. `seed` and `call` count modulo 2^64; each random operator takes one call number. Element i reads

    bits, uniform01 in float32    word i;                uniform01 = (word >> 8) 2^-24
    uniform01 in float64          words 2i, 2i+1;        ((w0 >> 5) 2^26 + (w1 >> 6)) 2^-53
    normal in float32             words 2j, 2j+1;        sqrt(-2 log(1 - u)) cos(2 pi v) if i = 2j, with sin if i = 2j+1,
                                                         of u = w0 2^-32 and v = w1 2^-32
    normal in float64             words 4j .. 4j+3;      the same, of u and v that are uniform01 in float64
    randint in [low, low + span)  words 2i, 2i+1;        low + ((w0 2^32 + w1) span >> 64), off uniform by at most span 2^-64

so a value never depends on how many others are drawn beside it.
"""

import numpy as np

M0, M1 = 0xD2511F53, 0xCD9E8D57
W0, W1 = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def block(counter, key):
    """Return four uint32 arrays from counters (four arrays of uint64 below 2^32) and a key (two ints)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = np.uint64(M0) * c0, np.uint64(M1) * c2
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ np.uint64(k0), p1 & _MASK, (p0 >> _32) ^ c3 ^ np.uint64(k1), p0 & _MASK
        k0, k1 = (k0 + W0) & 0xFFFFFFFF, (k1 + W1) & 0xFFFFFFFF
    return c0, c1, c2, c3


def _key_and_call(seed, call):
    seed, call = int(seed) & (2**64 - 1), int(call) & (2**64 - 1)
    return (seed & 0xFFFFFFFF, seed >> 32), (np.uint64(call & 0xFFFFFFFF), np.uint64(call >> 32))


def _blocks(seed, call, first, count):
    """Return words 4*first .. of a call as an array [count, 4]."""
    key, (low, high) = _key_and_call(seed, call)
    b = np.arange(first, first + count, dtype=np.uint64)
    zero = np.zeros_like(b)
    words = block((b & _MASK, b >> _32, zero + low, zero + high), key)
    return np.stack(words, 1).astype(np.uint32)


def bits(seed: int, call: int, n: int, start: int = 0) -> np.ndarray:
    """Return words start .. start + n - 1 of a call."""
    first = start // 4
    return _blocks(seed, call, first, (start + n + 3) // 4 - first).ravel()[start - 4 * first:][:n]


def bits_at(index, seed: int, call: int) -> np.ndarray:
    """Return the words numbered by an integer array."""
    key, (low, high) = _key_and_call(seed, call)
    index = np.asarray(index, np.int64).astype(np.uint64)
    b = index >> np.uint64(2)
    zero = np.zeros_like(b)
    words = block((b & _MASK, b >> _32, zero + low, zero + high), key)
    return np.choose((index & np.uint64(3)).astype(np.int64), words).astype(np.uint32)


def _pairs(seed, call, n, start):
    words = bits(seed, call, 2 * n, 2 * start).astype(np.uint64)
    return words[0::2], words[1::2]


def uniform01(seed: int, call: int, n: int, dtype=np.float32, start: int = 0) -> np.ndarray:
    """Return uniform numbers in [0, 1): multiples of 2^-24 in float32, of 2^-53 in float64."""
    if np.dtype(dtype) == np.float32:
        return (bits(seed, call, n, start) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    a, b = _pairs(seed, call, n, start)
    return ((a >> np.uint64(5)).astype(np.float64) * 2.0**26 + (b >> np.uint64(6)).astype(np.float64)) * 2.0**-53


def normal(seed: int, call: int, n: int, dtype=np.float32, start: int = 0) -> np.ndarray:
    """Return standard normal numbers by Box-Muller, two for each radius and angle; float32 ones are rounded from float64."""
    first = start // 2
    count = (start + n + 1) // 2 - first
    if np.dtype(dtype) == np.float64:
        u, v = uniform01(seed, call, 2 * count, np.float64, 2 * first).reshape(-1, 2).T
    else:
        u, v = (words.astype(np.float64) * 2.0**-32 for words in _pairs(seed, call, count, first))
    radius, angle = np.sqrt(-2.0 * np.log1p(-u)), 2.0 * np.pi * v
    both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return both.ravel()[start - 2 * first:][:n].astype(dtype)


def randint(seed: int, call: int, n: int, low: int, high: int, start: int = 0) -> np.ndarray:
    """Return integers in [low, high) as int64."""
    a, b = _pairs(seed, call, n, start)
    span = int(high) - int(low)
    s0, s1 = np.uint64(span & 0xFFFFFFFF), np.uint64(span >> 32)
    middle = a * s0 + (b * s0 >> _32)
    upper = (b * s1) + (middle & _MASK)
    out = a * s1 + (middle >> _32) + (upper >> _32)
    return (out + np.uint64(int(low) & (2**64 - 1))).astype(np.int64)
