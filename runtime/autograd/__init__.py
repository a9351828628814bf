"""Automatic differentiation: histories, the backward walk, user functions, checks."""
