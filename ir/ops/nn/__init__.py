"""Operators of neural networks: activations, normalisation, losses, embedding, attention, recurrence, convolution, pools,
resampling.

Low precision is computed in float32 and rounded once. Knows no layout but NCHW: other layouts are in `packed`.
"""
