"""Attention without its score matrix: forward, gradients, dropout, split keys, and the choice of tiles.

Up to 64 queries divide the keys among programs (split KV); causal attention begins with its longest blocks.
"""
