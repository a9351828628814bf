"""Operators that move elements or find them by index: copies, gather, scatter, sort, search, scans, random draws.

Way in: the `OPERATORS` table of each file. Draws have the bits of the CPU's streams.
"""
