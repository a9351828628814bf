"""Factorisations, triangular systems and Fourier transforms as pool tasks, on the micro-kernel.

Signs and pivots are LAPACK's.
"""
