"""Kernels of loop nests: elementwise functions, reductions, row operators, copies, data movement.

Way in: `kernels.elementwise`, `kernels.reduction`, `copies.in_order`. One scalar code and one reduction tree serve eager
calls and compiled graphs, so both give the same bits. Knows no products.
"""
