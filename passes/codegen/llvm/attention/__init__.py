"""Scaled dot-product attention as pool tasks, forward and backward, with bounds per row and an online softmax over blocks of
keys.

Scores are never stored whole. A row's result depends on its own operands only, not on threads or neighbouring rows.
"""
