"""Elementwise functions that fusion does not generate: integer division, special functions, lists of tensors and their norms.

Way in: the `OPERATORS` tables, `multi_tensor.sweep`.
"""
