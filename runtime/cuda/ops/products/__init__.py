"""Matrix products as launches, with prologue and epilogue, and several sets of operands in one launch.

Way in: `products.multiply(case, ...)`. Called by steps of a graph, so it must not import `graph`.
"""
