"""Compile recordings and run them.

Way in: `Tree` (segments joined by observed values), `Job` and `SymbolicJob` (one compiled segment), `Replay` (one run),
`attach` (its backward). Invariant: nothing is written before the last guard of the path has held. It must not know how Python
state was tracked.
"""
