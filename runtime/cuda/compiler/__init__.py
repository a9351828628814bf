"""Kernels on a GPU: Triton source to machine code, loading and launching, tuning, precision, user kernels in Triton.

Way in: `kernels.Prepared` for fused kernels, `kernels.launch` for hand-written ones, `copies.write`. A second process needs no
Triton.
"""
