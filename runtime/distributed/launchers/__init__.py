"""Launchers: start of several processes, and reports of their errors.

Way in: `python -m ingot.distributed.run` (`launcher.main`). `command_line` reads the options, `rounds` lets the launchers of
several machines agree on who takes part, and `rank_processes` starts and ends processes. The room knows only the store of the
run and the environment variables that `world` reads.
"""
