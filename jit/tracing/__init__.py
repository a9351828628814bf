"""`jit.trace`: a function with a cache of recordings.

Way in: `trace.Traced`, `compiler.compile`, `record_graph.record_graph`. A call tries the quick call of the last one
(entry_call.py), then cache entries by key and guards (cache.py, cache_entry.py); a miss is recorded (cache_miss.py,
recorded_call.py). Sizes and numbers that changed between calls are symbolic (dynamic_shapes.py): a size of 0 never, a size of 1
unless a comparison shows other work. A symbolic recording serves other values only after it agreed with a second recording.

Invariants: a process makes one recording at a time, since it marks the tensors that it meets; 32 disturbed recordings in a row
are an error. The room must not know files or other formats.
"""
