"""Kernels as text: one definition of every scalar function, and how each backend spells a kernel.

Rooms, from the bottom to the top: scalars, the files here, llvm, triton.

A room imports itself and the rooms before it.
"""
