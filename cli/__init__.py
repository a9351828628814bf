"""Commands of `ingot` (`python -m ingot`) for exported models.

Every command writes results to standard output, progress and errors to standard error, and returns 0, or 1 with one line that
begins with "error:". Wrong words give 2.
"""
