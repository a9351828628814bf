"""Pool tasks on positions and along one dim: lookups, gather and scatter, sorting, search, scans, linear maps, random draws.

Sums over repeated positions run in the order of the positions. Callers check that indices are in range, except for gathers.
"""
