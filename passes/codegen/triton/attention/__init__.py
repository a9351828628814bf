"""Attention without its score matrix: forward, gradients, dropout, split keys, and the choice of tiles."""
