"""LLVM IR as text: the emitter, and the native kernels that are written with it.

Rooms, from the bottom to the top: ir, pool, contract, loops, conv, attention, sequence, index, linalg.

A room imports itself and the rooms before it.
"""
