"""Call counts from which compiling an operator sequence on few elements pays.

Compiling takes a fixed time for any graph, and a little for each operator; what it saves at a call grows with their number. So
calls of many operators are compiled sooner: when they have taken about as long as compiling takes.
"""

LEAST = 32              # calls before which nobody asks how many operators there are
_EACH = 768             # calls of one operator that take as long as what compiling takes for any graph


def often(operators: int) -> int:
    """Return the count of calls of so many operators that take about as long as compiling them."""
    return LEAST + _EACH // max(1, operators)
