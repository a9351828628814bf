"""Fusion: `fuse` groups operations into kernels, `lower` gives a `Kernel`, products take epilogues and prologues.

Recomputation and rematerialisation trade memory for work. No cycle arises and no bit changes; the order of groups is kept up to
date (`GroupOrder`), so a join is checked in time independent of the graph's size.
"""
