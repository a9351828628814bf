"""Convolutions as launches of products: gathered operands, channels-last images, packed channels.

Way in: `implicit_gemm.convolve` and `transpose`. Called by steps of a graph, so it must not import `graph`.
"""
