"""The layers, and attention with score functions.

Way in: classes of `ingot.nn`. A layer holds parameters and calls nn.functional. top_level_* publish `ingot.lstm` and the
like.
"""
