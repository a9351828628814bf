"""Factorisations, triangular systems and Fourier transforms on tiles, block by block.

Kernels record errors in a status word, and the host raises them. Fourier rows up to 8192 are one launch, longer ones two.
"""
