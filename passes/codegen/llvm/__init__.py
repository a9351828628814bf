"""LLVM IR as text: an emitter, and the native kernels written with it.

Rooms, from the bottom to the top: ir, pool, contract, loops, conv, attention, sequence, index, linalg.
A room imports itself and the rooms before it. A generator returns the text of a module with pool tasks or plain functions;
`runtime/cpu/compiler` compiles it. Generators know no arrays, no graphs and not LLVM itself.
"""
