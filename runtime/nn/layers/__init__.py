"""Layers, and attention with score functions.

Way in: the classes of `ingot.nn`. A layer holds parameters and calls nn.functional. `top_level_functions` publishes
`ingot.lstm` and others.
"""
