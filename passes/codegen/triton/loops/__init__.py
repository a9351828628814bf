"""Loop nests from `ir/kernel` on tiles: elementwise, reductions, single-pass sums of exponentials and variances, multi-tensor
launches.

Way in: `configs.launches` picks a strategy and tiles from sizes. A row's result is the same in every batch.
"""
