"""Factorisations, solves, Fourier transforms, grouped and complex products.

Way in: the `OPERATORS` table of each file. The host waits for the status of a factorisation, except during captures: there a
status word raises later.
"""
