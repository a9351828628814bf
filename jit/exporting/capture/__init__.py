"""Record a function or module as a graph for export.

Way in: `capture` (one run), `record` (with symbolic sizes, and again at sizes 1 and 0), `Signature`. An export has no guards on
Python state, unlike a trace: it refuses, with the user's line, what a file cannot hold. This room knows no file formats.
"""
