"""Kernels as text: every scalar function defined once, and the code generators of both backends.

Rooms, from the bottom to the top: scalars, the files here, llvm, triton.
A room imports itself and the rooms before it. Generators take sizes, dtypes and kernels of `ir/kernel`; they know no graphs
and no passes.
"""
