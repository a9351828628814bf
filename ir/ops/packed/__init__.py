"""Operators on layouts that only passes make: blocked channels, channels last, packed recurrent weights.

Each computes the same as its plain counterpart. They must not be created outside `passes` and exported programs.
"""
