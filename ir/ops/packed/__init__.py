"""Operators on layouts that only passes make: blocked channels, channels last, packed recurrent weights.

Users never see them; each computes what its plain counterpart computes. Must not be created outside `passes` and exported
programs.
"""
