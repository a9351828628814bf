"""Exact NumPy definitions that generated code is tested against: scalar functions, Bessel functions, float8 casts, Philox,
formats of stored weights.

Pure functions of arrays; must not know operators.
"""
