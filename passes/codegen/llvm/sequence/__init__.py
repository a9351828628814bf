"""Kernels that walk along time: steps of recurrent layers forward and backward, their packed weights, and CTC loss.

The cells are those of `codegen/recurrent_cells`. One pool task is one step; the walk is the caller's.
"""
