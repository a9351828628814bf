"""Operators of neural network layers: convolutions and pools, attention, recurrent layers, losses, resampling.

Way in: the `OPERATORS` table of each file. An operator returns NotImplemented where it has no kernel for its inputs; then the
general way takes it.
"""
