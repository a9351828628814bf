"""Operators on few bits: int8 linear and convolution, scaled float8 products, ranges and steps of quantisers, products with
stored weights.

Passes and quantised layers make them. Integer sums are exact on every backend.
"""
