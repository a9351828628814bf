"""The CPU: compiling and loading kernels, threads, memory, and the kernels that run on them.

Rooms, from the bottom to the top: compiler, memory, calls, loops, gemm, conv, index, nn, linalg, graph, the files here.

A room imports itself and the rooms before it.
"""
