"""Exact NumPy definitions that generated code is tested against: scalar functions, Bessel functions, float8 casts, Philox.

Pure functions of arrays; must not know operators.
"""
