"""Start of several processes and reports of their errors.

Way in: `python -m ingot.distributed.run`. It knows only the environment variables that `world` reads.
"""
