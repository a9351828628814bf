"""Functions that move elements but compute none: factories, shapes, views, indexing, joins, gather and scatter.

Way in: names in `ingot.*`. Views share storage and their writes go through core/writes.
"""
