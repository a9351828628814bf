"""Call counts from which compiling an operator sequence on few elements pays.

Compiling takes a fixed time for any graph, and a little for each operator; the time it saves at a call grows with their number.
So calls of many operators are compiled sooner: when they have taken about as long as compiling takes.
"""

MIN_CALLS = 32          # calls before which no operators are counted
_BASE = 768             # calls of one operator that take as long as the fixed part of compiling


def call_threshold(operators: int) -> int:
    """Return the count of calls of so many operators that take about as long as compiling them."""
    return MIN_CALLS + _BASE // max(1, operators)
