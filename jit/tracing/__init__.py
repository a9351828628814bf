"""`jit.trace`: a function with a cache of recordings.

Way in: `trace.Traced`, `compiler.compile`, `record_graph.record_graph`. A call tries the quick call of the last one
(entry_call.py), then cache entries by key and guards (cache.py, cache_entry.py); a miss is recorded (cache_miss.py,
recorded_call.py). Sizes and numbers that changed between calls are symbolic (dynamic_shapes.py). It must not know files or
other formats.
"""
