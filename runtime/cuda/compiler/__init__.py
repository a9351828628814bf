"""Compile and launch kernels: Triton source to machine code (on disk), loading, tuning, packed launches.

Way in: `kernels.Prepared` for fused kernels, `kernels.launch` for hand-written ones. A second process needs no Triton.
Knows no operators.
"""
