"""Functions that move elements but compute none: new tensors, shapes, views, indexing, joins, copies, gather and scatter.

Way in: names in `ingot.*`. Views share storage and their writes go through core/writes.
"""
