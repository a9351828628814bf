"""Repeat driver calls without Python's work: launch lists of eager operators, plans for all sizes of one structure, CUDA
graphs.

Way in: `launch_cache.run(op, inputs, params, device, run)` and `graphs.CUDAGraph`. A list is replayed only for the same
layouts and aliasing. Must not know which operator it replays.
"""
