"""Factorisations, triangular systems and Fourier transforms on tiles, block by block.

Errors are recorded in a status word and raised by the host.
"""
