"""Transforms of Winograd's minimal filtering F(m x n, 3 x 3), applied to vectors of channels.

F(4) takes the points 0, +-3/4, +-3/2 and infinity: all constants are exact in float32, and the error is that of the direct
kernel, about four times less than with the usual points 0, +-1, +-2. F(2) takes 0, +-1 and infinity. Each function transforms
one line; a tile is transformed along its columns, then along its rows.
"""

from collections.abc import Iterator

from ..ir.emit import Function
from ..ir.types import Value, constant

_P, _Q = 0.75, 1.5
_P2, _Q2 = _P * _P, _Q * _Q


def input_line(f: Function, d: list[Value], m: int) -> list[Value]:
    """Transform m + 2 elements of x to as many products' first factors."""
    if m == 2:
        return [f.fsub(d[0], d[2]), f.fadd(d[1], d[2]), f.fsub(d[2], d[1]), f.fsub(d[1], d[3])]

    def c(number):
        return constant(d[0].type, number)

    def ends(x, y, z):
        return f.fma(y, c(-(_P2 + _Q2)), f.fma(x, c(_P2 * _Q2), z))

    even_p, odd_p = f.fma(d[2], c(-_Q2), d[4]), f.fma(d[1], c(-_Q2), d[3])
    even_q, odd_q = f.fma(d[2], c(-_P2), d[4]), f.fma(d[1], c(-_P2), d[3])
    return [ends(d[0], d[2], d[4]), f.fma(odd_p, c(_P), even_p), f.fma(odd_p, c(-_P), even_p),
            f.fma(odd_q, c(_Q), even_q), f.fma(odd_q, c(-_Q), even_q), ends(d[1], d[3], d[5])]


def output_line(f: Function, x: list[Value], m: int) -> list[Value]:
    """Transform sums of four products to two results, of six to three or four (for four taps, or three)."""
    if len(x) == 4:
        return [f.fadd(f.fadd(x[0], x[1]), x[2]), f.fsub(f.fsub(x[1], x[2]), x[3])]

    def c(number):
        return constant(x[0].type, number)

    plus_p, minus_p, plus_q, minus_q = f.fadd(x[1], x[2]), f.fsub(x[1], x[2]), f.fadd(x[3], x[4]), f.fsub(x[3], x[4])
    found = [f.fadd(f.fadd(x[0], plus_p), plus_q), f.fma(minus_q, c(_Q), f.fmul(minus_p, c(_P)))]
    if m == 3:
        return [*found, f.fma(plus_q, c(_Q2), f.fma(plus_p, c(_P2), x[5]))]
    return [*found, f.fma(plus_q, c(_Q2), f.fmul(plus_p, c(_P2))),
            f.fma(minus_q, c(_Q ** 3), f.fma(minus_p, c(_P ** 3), x[5]))]


def filter_line(f: Function, g: list[Value], m: int) -> list[Value]:
    """Transform three taps, four for m = 3, to the products' second factors."""
    def c(number):
        return constant(g[0].type, number)

    if m == 2:
        half, middle = f.fmul(f.fadd(g[0], g[2]), c(0.5)), f.fmul(g[1], c(0.5))
        return [g[0], f.fadd(half, middle), f.fsub(half, middle), g[2]]
    found = [f.fmul(g[0], c(1 / (_P2 * _Q2)))]
    for point, scale in ((_P, 2 * _P2 * (_P2 - _Q2)), (_Q, 2 * _Q2 * (_Q2 - _P2))):
        even = f.fma(g[2], c(point * point / scale), f.fmul(g[0], c(1 / scale)))
        odd = f.fmul(g[1], c(point / scale))
        if len(g) == 4:
            odd = f.fma(g[3], c(point ** 3 / scale), odd)
        found += [f.fadd(even, odd), f.fsub(even, odd)]
    return [*found, g[-1]]


# Stride 2: F(2, 2) for the outer taps, plain products for the middle one; five products for two results.


def strided_input_line(f: Function, d: list[Value], _) -> list[Value]:
    """Transform five elements of x to as many products' first factors."""
    return [f.fsub(d[0], d[2]), d[2], d[1], d[3], f.fsub(d[4], d[2])]


def strided_filter_line(f: Function, g: list[Value], _) -> list[Value]:
    """Transform three taps to four second factors; the third serves two products."""
    return [g[0], f.fadd(g[0], g[2]), g[1], g[2]]


def strided_output_line(f: Function, x: list[Value], _) -> list[Value]:
    """Transform five sums of products to two results."""
    return [f.fadd(f.fadd(x[0], x[1]), x[2]), f.fadd(f.fadd(x[1], x[4]), x[3])]


PLAIN_SCALES = {2: (1.0, 0.5, 0.5, 1.0),
                4: (1 / (_P2 * _Q2), *[1 / (2 * _P2 * (_P2 - _Q2))] * 2, *[1 / (2 * _Q2 * (_Q2 - _P2))] * 2, 1.0)}


def plain_filter_line(f: Function, g: list[Value], m: int) -> Iterator[tuple[int, Value]]:
    """Yield (place, value) of `filter_line` in the fewest steps, without the factors `PLAIN_SCALES`, which the input carries.
    The ends come first, so that few values are in registers at a time."""
    yield 0, g[0]
    yield m + 1, g[2]
    if m == 2:
        ends = f.fadd(g[0], g[2])
        yield 1, f.fadd(ends, g[1])
        yield 2, f.fsub(ends, g[1])
        return
    for place, point in ((1, _P), (3, _Q)):
        even = f.fma(g[2], constant(g[0].type, point * point), g[0])
        yield place, f.fma(g[1], constant(g[0].type, point), even)
        yield place + 1, f.fma(g[1], constant(g[0].type, -point), even)


def transformed(f: Function, values: list[list[Value]], line, tile: tuple[int, int]) -> list[list[Value]]:
    """Apply a line transform along the columns of values[row][column], then along the rows, for results of m x n."""
    columns = [line(f, [row[j] for row in values], tile[0]) for j in range(len(values[0]))]
    return [line(f, [column[i] for column in columns], tile[1]) for i in range(len(columns[0]))]


# Transposes for F(2), which make a weight gradient of gradients and inputs: dg = G' ((A dy A') * (B' d B)) G.


def gradient_line(f: Function, dy: list[Value], m: int) -> list[Value]:
    """Transform two gradients of results to the products' second factors."""
    return [dy[0], f.fadd(dy[0], dy[1]), f.fsub(dy[0], dy[1]), f.fneg(dy[1])]


def weight_line(f: Function, u: list[Value], m: int) -> list[Value]:
    """Transform four sums of products to the gradients of three taps."""
    half = constant(u[0].type, 0.5)
    middle = f.fmul(f.fadd(u[1], u[2]), half)
    return [f.fadd(u[0], middle), f.fmul(f.fsub(u[1], u[2]), half), f.fadd(middle, u[3])]
