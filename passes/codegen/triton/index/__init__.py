"""Scans, sorting and linear maps along one dim."""
