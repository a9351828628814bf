"""Kernels along time and over classes: steps of recurrent layers, CTC, class targets of losses.

Kernels record invalid targets in a status word, and the host raises the error.
"""
