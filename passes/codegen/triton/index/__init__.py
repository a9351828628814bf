"""Gathers and scatters of rows, scans, sorting and linear maps along one dim.

Rows up to 16384 are sorted in blocks and merged.
"""
