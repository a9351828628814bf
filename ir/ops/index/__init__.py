"""Operators that read and write at positions or by rank: index, gather, scatter, sort, median, quantile, assignment through
views.

Sums over repeated positions run in the order of appearance; orders are total and stable.
"""
