"""Replay of recorded paths: segments compiled at their first run, and the backward of a replayed call.

Way in: `segment_tree.Tree` (one cache entry's paths), `symbolic_job.job_of`. `Replay.commit` writes tensors, gradients and host
effects at the end, in order. Invariant: nothing is written before the last guard of a path has held. It knows no cache and no
Python state.
"""
