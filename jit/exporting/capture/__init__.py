"""Record a function or module as a graph for export.

Way in: `capture` (one run), `record` (with symbolic sizes, and again at sizes 1 and 0), `Signature`. Unlike a trace, an
export has no guards on Python state: what cannot stand in a file is refused with the user's line. It must not know file
formats.
"""
