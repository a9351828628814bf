"""Passes from operators to simpler operators: canonical forms, constants, common subexpressions, dead code, algebra,
decomposition of composites.

Every pass is `Graph -> Graph` and keeps the bits.
"""
