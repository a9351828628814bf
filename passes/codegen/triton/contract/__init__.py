"""Matrix products, plain, grouped and by the Hopper copy engine, with prologues and epilogues inside their tiles.

Way in: `matmul.source`. The room must not know how graphs are fused. Deep products of few tiles are cut along the depth and
added in order.
"""
