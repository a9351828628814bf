"""Memory for arrays and for values inside native calls.

Way in: `alloc.empty` and `Arenas`; large arrays reuse regions of `heap.py`. Every array is aligned to a cache line. Knows no
kernels and no operators.
"""
