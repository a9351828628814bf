"""The CUDA backend as the runtime sees it: `backend.py` joins the rooms and registers their operators.

Rooms, from the bottom to the top: driver, memory, compiler, replay, ops/products, ops/conv, graph, ops/index, ops/nn,
ops/linalg, ops/math, the files here, offline.

A room imports itself and the rooms before it.
"""
