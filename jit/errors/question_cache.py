"""Values that a recording has read out of tensors: a cache of the answers, their keys, and their text for messages."""

import numpy as np

from ...ir.graph.graph import Builder, Value
from ...passes.simplify.cse import Equals


class QuestionCache:
    """Answers of a recording, by value and way of reading: reading an equal value again, as `x[mask]`, `y[mask]`, asks
    nothing."""

    def __init__(self, builder: Builder):
        self._builder, self._equals, self._entered = builder, Equals(), 0
        self._answers: dict = {}      # (number of a value, how it was read) -> what Python got

    def _key(self, value: Value, how: str):
        nodes = self._builder.nodes
        for node in nodes[self._entered:]:
            self._equals.enter(node)
        self._entered = len(nodes)
        return self._equals.of(value), how

    def answer(self, value: Value, how: str):
        return self._answers.get(self._key(value, how))

    def add(self, value: Value, how: str, seen):
        self._answers[self._key(value, how)] = seen


def frozen_value(seen):
    """Return a value that was read in a form that can be a dictionary key."""
    if isinstance(seen, np.ndarray):
        return ("array", seen.shape, str(seen.dtype), seen.tobytes())
    if isinstance(seen, list):
        return ("list", tuple([frozen_value(v) for v in seen]))
    if isinstance(seen, float):
        return ("float", seen.hex())
    return (type(seen).__name__, seen)


def readable(frozen) -> str:
    """Return the text of a frozen value for messages."""
    kind, *rest = frozen
    if kind == "array":
        shape, dtype, data = rest
        values = np.frombuffer(data, dtype).reshape(shape)
        return f"{dtype} {values.tolist()}" if values.size <= 8 else f"an array of {dtype}{list(shape)}"
    if kind == "list":
        return "[" + ", ".join([readable(v) for v in rest[0][:8]]) + (", ...]" if len(rest[0]) > 8 else "]")
    return repr(float.fromhex(rest[0]) if kind == "float" else rest[0])
