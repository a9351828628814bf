"""Passes that choose how values lie in memory: blocked channels, channels last, dim orders, padded columns, copies for code
that cannot read views.

Inputs and results keep the order that callers asked for.
"""
