"""Matrix products, plain, grouped and by the Hopper copy engine, with prologues and epilogues inside their tiles.

Way in: `matmul.source`. Must not know how graphs are fused.
"""
