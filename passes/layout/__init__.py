"""Passes that choose memory layouts: blocked channels, channels last, dim orders, padded columns, materialised views.

Inputs and results keep the order that callers asked for. A value exists plainly, in blocks, or both; the second form is made on
demand, so reorders stand only at the ends of a network. On GPUs, matrices of odd rows (50257 classes) are padded between
products.
"""
