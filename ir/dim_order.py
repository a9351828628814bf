"""The memory order of an array's dims, from slow to fast.

Elementwise results take the order of their operands where these agree, else row-major: numpy's rule, so a result lies the same
whatever computed it. An order is a permutation of the dims; None is row-major.
"""

from collections.abc import Sequence

FEWEST = 1 << 11            # elements from which a kernel may be faster than numpy
MANY, SHORT_ROW = 1 << 13, 16


def agreed(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple | None:
    """Return the order of a result of these sizes from its operands' strides; a broadcast dim has stride 0.

    Two dims change places only where every operand that has both has them the other way round.
    """
    fast_first = list(range(len(sizes) - 1, -1, -1))
    for here in range(1, len(sizes)):
        place, dim = here, fast_first[here]
        for before in range(here - 1, -1, -1):
            other = fast_first[before]
            swapped = [abs(s[other]) > abs(s[dim]) for s in strides if s[dim] and s[other] and sizes[dim] > 1 < sizes[other]]
            if swapped and not all(swapped):
                break
            if swapped:
                place = before
        fast_first.insert(place, fast_first.pop(here))
    order = tuple(reversed(fast_first))
    long = [d for d in order if sizes[d] != 1]
    return None if long == sorted(long) else order


def order_of(array) -> tuple | None:
    """Return the order that a result of an array's shape takes over from it."""
    return None if array.flags.c_contiguous else agreed(array.shape, [array.strides])


def inverse(order: Sequence[int]) -> tuple:
    """Return the inverse permutation."""
    back = [0] * len(order)
    for place, dim in enumerate(order):
        back[dim] = place
    return tuple(back)


def channels_last(ndim: int) -> tuple:
    """Return the order that moves the second dim behind all others."""
    return (0, *range(2, ndim), 1)


def channels_second(ndim: int) -> tuple:
    """Return the order that moves the last dim to the second place."""
    return (0, ndim - 1, *range(1, ndim - 1))


def in_pieces(array) -> bool:
    """Return whether numpy would copy a strided array in rows so short, or so many, that kernels are faster from `FEWEST`
    on."""
    if array.flags.forc:
        return False
    row, strides = array.shape[-1], array.strides
    return array.size >= MANY or (row < SHORT_ROW and (len(strides) < 2 or strides[-2] != row * strides[-1]))
