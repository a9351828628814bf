"""Scaled dot-product attention as pool tasks, forward and backward, with bounds per row and an online softmax over blocks of
keys.

Scores are never stored whole.
"""
