"""`jit.trace`: a function with a cache of recordings.

Way in: `trace`, `Traced`, `compile`, `record_graph`. A call looks up an entry by kind and guards, replays it, or records a
new one. Sizes and numbers that changed between calls are symbolic. It must not know files or other formats.
"""
