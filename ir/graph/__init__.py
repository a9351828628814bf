"""Graphs of operators in SSA form: built, printed, parsed, verified.

`Builder` makes one, `show` and `parse` turn it into text and back, `verify` checks it. A graph is frozen once it is
built. The interpreter that tests compare with is `tests/support/graph_interpreter.py`.
"""
