"""Kernels as Triton source: readable Python text, written without Triton and without a GPU.

Rooms, from the bottom to the top: ir, loops, contract, conv, attention, sequence, index, linalg.
A room imports itself and the rooms before it. A generator returns a `Source`; `runtime/cuda/compiler` compiles it. Generators
take dtypes, sizes and kernels of `ir/kernel`, and know no arrays and no graphs.
"""
