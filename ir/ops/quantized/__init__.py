"""Operators on 8-bit numbers: int8 linear and convolution, scaled float8 products, ranges and steps of quantisers.

Passes and quantised layers make them. Integer sums are exact on every backend.
"""
