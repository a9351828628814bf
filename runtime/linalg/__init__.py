"""`ingot.linalg`, `ingot.fft`, `ingot.special`: norms, solvers, factorisations, Fourier transforms, special functions.

Way in: these namespaces. A result without a gradient rule raises in backward.
"""
