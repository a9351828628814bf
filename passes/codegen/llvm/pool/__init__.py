"""Native calls and threads as IR text: the fork-join pool, the words of a job (`tasks.Words`), the entry from Python, call
adapters that take arrays apart, and launchers that run lists of jobs.

A chunk's result does not depend on which thread runs it. Must not know what a job computes.
"""
