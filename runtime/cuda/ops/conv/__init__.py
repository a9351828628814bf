"""Convolutions as launches of products: gathered operands, channels-last images, packed channels.

Way in: `implicit_gemm.convolve` and `transpose`. Steps of graphs call them, so this room does not import `graph`.
"""
