"""Kernels along time and over classes: steps of recurrent layers, CTC, class targets of losses.

Bad targets are recorded in a status word and raised by the host.
"""
