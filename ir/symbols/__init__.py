"""Numbers that are known only at call time: `Scope.size` makes a symbolic size, `SymInt` and `SymFloat` compute with it,
`substitute` replaces symbols in plain data.

Equal polynomials are equal data; an answer that depends on a size is recorded as a condition. Must not know operators (today
`substitute` asks `OPS`) nor graphs.
"""
