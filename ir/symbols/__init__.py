"""Symbolic numbers, known only at call time: `Scope.size` makes one, `SymInt` and `SymFloat` compute with it.

`substitute` replaces symbols in plain data. Equal polynomials are equal data; an answer that depends on a size is recorded as a
condition. Must not know operators (`substitute` is served their scalar functions) nor graphs.
"""
