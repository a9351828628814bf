"""Pool tasks on positions and along one dim: lookups, gather and scatter, sorting, search, scans, linear maps, random draws.

Sums over repeated positions run in the order of the positions. Indices are in range: callers check them.
"""
