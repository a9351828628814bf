"""Operators that all other families build on: elementwise arithmetic, views and copies, constants, complex parts, reductions,
scans, moments, random draws, host calls; and shared rules (`elementwise_rules`, `pointwise`, `batching`).

One record per operator. Bodies and gradients are written in records, so they trace and differentiate again. 8-bit floats are
for storage; casts saturate like PyTorch's.
"""
