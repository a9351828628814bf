"""Slow, exact definitions in NumPy that generated code is tested against: scalar functions that NumPy lacks, Bessel functions,
8-bit float casts, Philox random numbers.

Pure functions of arrays; must not know operators.
"""
