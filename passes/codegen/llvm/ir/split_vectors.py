"""Vectors cut into pieces that an instruction takes, and joined again."""

from .types import Value, element_of, lanes_of, vector


def pieces(f, value: Value, lanes: int) -> list[Value]:
    """The lanes of a vector, so many at a time."""
    whole = lanes_of(value.type)
    if whole == lanes:
        return [value]
    if value.name.startswith("splat"):
        return [Value(vector(lanes, element_of(value.type)), value.name)] * (whole // lanes)
    return [f.shuffle(value, value, range(at, at + lanes)) for at in range(0, whole, lanes)]


def joined(f, vectors: list[Value]) -> Value:
    """Some vectors, a power of two, as one."""
    while len(vectors) > 1:
        vectors = [f.shuffle(a, b, range(2 * lanes_of(a.type))) for a, b in zip(vectors[::2], vectors[1::2])]
    return vectors[0]
