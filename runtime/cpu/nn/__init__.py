"""Kernels of neural network layers: attention, recurrent layers, norms, losses, int8 convolutions, resampling.

Way in: `forward` and `gradients` of each family file, and the registered operators. Low precision is computed in float32 and
rounded once. Must not know graphs.
"""
