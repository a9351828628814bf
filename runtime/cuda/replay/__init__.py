"""Repetition of driver calls without Python's work: launch lists of eager operators, families of plans, CUDA graphs.

Way in: `launch_cache.run(op, inputs, params, device, run)` and `graphs.CUDAGraph`. A list is replayed only for calls that meet
the conditions under which it was recorded. Code that may be recorded uses `symbolic.power_of_two`, not `bit_length`, and
`int(n)` for a size that is compiled in.
"""
