"""Kernels of neural network layers: attention, recurrent layers, norms, losses, int8 convolutions, resampling.

Way in: the tables `OPERATORS`, and `forward` and `gradients` of `attention` and `recurrent`. Low precision is computed in
float32 and rounded once. Must not know graphs.
"""
