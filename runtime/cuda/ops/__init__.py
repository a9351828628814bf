"""Operators of the CUDA backend, one room a family.

`products` and `conv` hold the launches that steps of graphs use; the other rooms stand above `graph` and enter their
operators in an `OPERATORS` table.
"""
