"""Loop nests from `ir/kernel` on tiles: elementwise, reductions, single-pass softmax sums and variances, one launch for many
tensors.

Way in: `configs.launches`, which picks a strategy and tiles from sizes. A row's result is the same in every batch.
"""
