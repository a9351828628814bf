"""What a recorded function has read out of tensors so far. Who reads the same again, as `x[mask]` and `y[mask]` do, gets the
same answer: a path asks each question once."""

from ...ir.graph.graph import Builder, Value
from ...passes.simplify.cse import Equals


class Answers:
    """The answers of a recording, by what was asked of which value."""

    def __init__(self, builder: Builder):
        self._builder, self._equals, self._entered = builder, Equals(), 0
        self._given: dict = {}      # (number of a value, how it was read) -> what Python got

    def _key(self, value: Value, how: str):
        nodes = self._builder.nodes
        for node in nodes[self._entered:]:
            self._equals.enter(node)
        self._entered = len(nodes)
        return self._equals.of(value), how

    def given(self, value: Value, how: str):
        """What Python got, or None."""
        return self._given.get(self._key(value, how))

    def give(self, value: Value, how: str, seen):
        """Python got this."""
        self._given[self._key(value, how)] = seen
