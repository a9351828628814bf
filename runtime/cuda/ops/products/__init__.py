"""Matrix products as launches, with prologue and epilogue, and several sets of operands in one launch.

Way in: `products.multiply(case, ...)`. Steps of graphs call it, so this room does not import `graph`. float32 products read the
second factor by columns. If columns lie along the depth, bank conflicts cost seven cycles for one, so such factors are copied
first where that is worth a launch. Deep products of few tiles are cut along the depth and added in order; these take no
epilogue. float8 products need sm_89; older chips widen the factors to float16 in a prologue.
"""
