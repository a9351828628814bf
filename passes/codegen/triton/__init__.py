"""Kernels as Triton source: readable Python text, made without Triton and without a GPU.

Rooms, from the bottom to the top: ir, loops, contract, conv, attention, sequence, index, linalg.

A room imports itself and the rooms before it.
"""
