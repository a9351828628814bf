"""Functions that compute elements: elementwise, reductions, scans, sorts, products, statistics, and Python's operators.

Way in: names in `ingot.*` and methods of Tensor.
"""
