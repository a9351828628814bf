"""Guards: conditions on Python state and arguments under which a cache entry is valid.

Way in: `Guard`, `snapshot` (snapshots), `locations.read`, `flatten`, `quick_check` (guards compiled to one function). A guard
only reads. It must not know which room made it, nor the recorder.
"""
