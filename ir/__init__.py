"""The intermediate representations as plain data: element types, operators, graphs and kernels.

Rooms, from the bottom to the top: the files here, error_texts, symbols, opdef, reference, ops/core, ops/index, ops/linalg,
ops/math, ops/nn, ops/quantized, ops/packed, graph, kernel, draw.

A room imports itself and the rooms before it.
"""
