"""A record of what moving and renaming files must not change, and the comparison of two records.

    python -m tools.baseline write FILE.json [--timings] [--texts FOLDER]
    python -m tools.baseline compare BEFORE.json AFTER.json
"""
