"""Kernels along time: steps of recurrent layers forward and backward, their packed weights, and CTC loss.

Cells are in `codegen/recurrent_cells`. One pool task is one step; the caller loops over steps.
"""
