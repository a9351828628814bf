"""Stand-ins for Python numbers and containers while a call is recorded.

Way in: `LazyScalar` (a lazy scalar from `item()`), `SymScalar`, `Table`, `ThreadView`. A proxy behaves like the value it stands
for; if it cannot, recording raises. It must not know guards or the recorder's graph.
"""
