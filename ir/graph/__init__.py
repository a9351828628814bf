"""Graphs of operators in SSA form: built, printed, parsed, verified, interpreted.

`Builder` makes one, `show` and `parse` turn it into text and back, `verify` checks it, `interp.interpret` is its meaning on
NumPy. A graph is frozen once it is built.
"""
