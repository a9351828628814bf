"""Factorisations, triangular systems and Fourier transforms as pool tasks, on the microkernel.

Signs and pivots are LAPACK's. Large matrices take these kernels panel by panel; `runtime/cpu/linalg` arranges the panels.
"""
