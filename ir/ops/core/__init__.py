"""Operators that all other families are built on: elementwise arithmetic, views and copies, constants, complex parts,
reductions, scans, moments, random draws, lists of tensors, host calls; and the rules that families share (`elementwise_rules`,
`batching`).

One record per operator; bodies and gradients are written in records, so they trace and differentiate again.
"""
