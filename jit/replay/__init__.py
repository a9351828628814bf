"""Replay of recorded paths: segments compiled at their first run, and the backward of a replayed call.

Way in: `segment_tree.Tree` (one cache entry's paths), `symbolic_job.job_of`. `Replay.finish` writes tensors, gradients and host
effects at the end, in order. It knows no cache and no Python state.

Invariants: nothing is written before the last guard of a path has held. Operators with the trait "refuses" run even if their
result is unused, as they may raise (`Region.unread`). Memory lent to NumPy, DLPack or another process is compared with a copy
before cached values of weights are used (weight_cache.py).
"""
