"""Launchers: start of several processes, and reports of their errors.

Way in: `python -m ingot.distributed.run`. The room knows only the environment variables that `world` reads.
"""
