"""Elements by index, order or random stream: gather, scatter, embedding lookups, sort, search, scans, draws.

Way in: the tables `OPERATORS`, and one function an operator (`gathers.gather`, `lookup.take`, `scans.scan`). Sums by index add
in the order of the indices, so results are deterministic. Knows no layers.
"""
