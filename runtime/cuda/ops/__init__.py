"""Operators of the CUDA backend, one room a family.

`products` and `conv` hold the launches of graph steps. The other rooms stand above `graph` and list their operators in an
`OPERATORS` table, which `backend.py` registers.
"""
