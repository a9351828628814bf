"""Engine for processes on one machine: Unix sockets carry notes and small values, shared memory carries large ones.

Way in: `local_engine.LocalEngine`. No process listens on a port. Memory has no name in the file system, so nothing is left when
processes are killed.
"""
