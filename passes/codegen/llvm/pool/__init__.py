"""Native calls and threads as IR text.

The room has the fork-join pool, pool tasks and the words of a job (`tasks.Words`), the entry from Python, and adapters that
unpack arrays. The result of a chunk does not depend on the thread that runs it. The room must not know what a job computes.
"""
