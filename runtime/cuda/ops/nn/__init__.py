"""Operators of neural network layers: convolutions and pools, attention, recurrent layers, losses, resampling.

Way in: the `OPERATORS` table of each file. An operator returns NotImplemented if it has no kernel for its inputs; then the
generic way of `graph/eager.py` runs. Attention gradients are two kernels and seven products, as fast as one kernel with atomic
adds. Only attention lets Triton's functions flush subnormals (`Source.flush`). Attention with dropout draws its mask again in
the backward.
"""
