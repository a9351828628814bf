"""Functions of elements that fusion does not generate: integer division, special functions, many tensors in one launch and
their norms.

Way in: the `OPERATORS` tables, `multi_tensor.sweep`.
"""
