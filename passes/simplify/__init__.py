"""Passes from operators to simpler operators: canonical forms, constants, common subexpressions, dead code, algebra,
composites.

Every pass is `Graph -> Graph` and keeps the bits.
"""
