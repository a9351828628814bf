"""Sizes that depend on data: the number of elements of a mask, the value of `int(lengths.max())`.

    x[mask]                         # counts the mask's elements
    n = int(hit.sum()); x[:n]
    x.split(counts.tolist())

The first number that such a line gives is an answer: the path behind it holds for this number alone. From the first recording
on in which the line gives another number, it is a symbol. Then the path holds for all numbers that meet the conditions noted
behind the line, once it agreed with a recording for another number. For 0 and for 1, which mean something else to shapes, the
path holds only after it agreed with a recording in which a number of the line was 0 or 1. A recording that does other work for
them makes them answers of their own.
"""

import re
from itertools import pairwise

from ...ir.interrupts import raise_interrupt
from ...ir.symbols.substitute import condition_check

MANY = "size", "any"             # the answer, or a part of a list, for all numbers that a symbol stands for
SIZED = "size", "tolist"         # ways of reading that may give sizes
_FEW = frozenset((0, 1))         # numbers that mean something else to shapes
_WORDS = re.compile(r"[A-Za-z_]\w*")


def hints_before_call(scope) -> dict:
    """Return {name: value} of the symbols of a scope that are known at the call."""
    return {name: value for name, value in scope.hints.items() if name not in scope.reads}


def conditions_before_call(scope) -> dict:
    """Return the conditions of a scope that can be checked before a call."""
    return {text: line for text, line in scope.conditions.items() if not _mentions(text, scope)}


def symbols_in(answer) -> int:
    """Return how many numbers of an answer are symbols."""
    return answer[1].count(MANY) if answer[0] == "list" else int(answer == MANY)


def values_for(recorded, answer) -> tuple | None:
    """Return the values of the symbols of a recorded answer if it covers this one, else None."""
    if recorded == MANY:
        return answer[1:] if answer[0] == "int" else None
    if recorded[0] != "list" or answer[0] != "list" or len(recorded[1]) != len(answer[1]):
        return None
    pairs = [pair for pair in zip(recorded[1], answer[1]) if pair[0] != pair[1]]
    return tuple([n for _, (_, n) in pairs]) if all(mark == MANY for mark, _ in pairs) else None


def _mentions(text, scope) -> bool:
    return bool(scope.reads) and not scope.reads.keys().isdisjoint(_WORDS.findall(text))


class Stage:
    """Conditions of a segment of a path on numbers that were read before it."""

    def __init__(self, scope=None, conditions=(), reads=0):
        names = [] if scope is None else list(scope.hints)[: len(scope.hints) - len(scope.reads) + reads]
        self.conditions, self.count, self.reads = tuple(conditions), len(names), reads      # count: symbols up to it
        self.holds = condition_check(self.conditions, names)
        self._lines = [scope.reads[name] for name in names[len(names) - reads:]] if reads else []
        # for each number that was read, its values in recordings that agreed
        self.agreed_values: list = [{scope.hints[name]} for name in names[len(names) - reads:]] if reads else []

    def takes(self, symbols) -> bool:
        """Return whether the segment is good for the values of the symbols so far."""
        if not self.reads:
            return True
        try:
            holds = self.holds(*symbols[: self.count])
        except (ArithmeticError, ValueError) as error:
            raise_interrupt(error, self.holds, *symbols[: self.count])
            return False
        read = symbols[self.count - self.reads: self.count]
        few = {(line, n) for line, values in zip(self._lines, self.agreed_values) for n in values & _FEW}
        return holds and all(n in values or (len(values - _FEW) > 1 and (n > 1 or (line, n) in few))
                              for n, values, line in zip(read, self.agreed_values, self._lines))

    def agreed(self, other: "Stage"):
        """Note that a recording of the segment with other numbers was the same."""
        for mine, theirs in zip(self.agreed_values, other.agreed_values):
            mine |= theirs


def stages_of(recording) -> list:
    """Return the stage of each segment of a recording."""
    scope, cuts = recording.scope, recording.cuts
    if scope is None or not scope.reads:
        return [Stage(scope)] * (len(cuts) + 1)
    conditions = list(scope.conditions)
    bounds = [0, *[cut.conditions for cut in cuts], len(conditions)]
    found, reads = [], 0
    for i, (start, end) in enumerate(pairwise(bounds)):
        reads += symbols_in(cuts[i - 1].answer) if i > 0 else 0
        found.append(Stage(scope, [t for t in conditions[start:end] if _mentions(t, scope)], reads))
    return found


class DataSizes:
    """Lines of a function that give sizes, as far as calls have shown."""

    def __init__(self):
        self.lines: frozenset = frozenset()     # (file, line) of those whose next number becomes a symbol
        self._own: set = set()          # (line, 0 or 1): numbers that are answers of their own
        self._fixed: set = set()        # lines whose very number is needed
        self._first: dict = {}          # line -> the first answer that it gave

    def is_size(self, line, answer) -> bool:
        """Return whether the number that a line gives becomes a symbol: it gave another one before."""
        return line in self.lines or (line not in self._fixed and self._first.get(line, answer) != answer)

    def is_own(self, line, number: int) -> bool:
        """Return whether a number of a line that gives sizes is an answer of its own."""
        return number < 0 or (line, number) in self._own

    def varies(self, line):
        """Note that a line gave a number for which no path is recorded. Other lines that read integers may vary, too."""
        if line is not None and line not in self._fixed:
            self.lines |= {line, *self._first} - self._fixed

    def recorded(self, recording, others):
        """Note a recording that differs from those of `others`, the scopes of recordings for other numbers."""
        for cut in recording.cuts:
            if cut.line is not None and self._first.setdefault(cut.line, cut.answer) != cut.answer:
                self.varies(cut.line)
        scope = recording.scope
        reads = {} if scope is None else scope.reads
        lines = set(reads.values())
        theirs = [set(other.reads.values()) for other in others]
        # Recordings with a symbol for a line whose very number is needed say nothing about the other lines.
        has_disagreed = any(lines and lines <= known and known.isdisjoint(self._fixed) for known in theirs)
        own = {(line, scope.hints[name]) for name, line in reads.items() if scope.hints[name] in _FEW}
        if has_disagreed and not own <= self._own:
            self._own |= own
        else:
            self._fixed.update([line for name, line in reads.items() if has_disagreed or name in scope.pinned])
        self.lines -= self._fixed
