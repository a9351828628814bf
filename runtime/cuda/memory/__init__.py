"""Device memory: the caching allocator, pinned host memory, arrays, copies between host and device, status words.

Way in: `arrays.empty`, `transfer.to_device`, `transfer.to_host`. A block is reused in stream order only. While a thread
captures, its stream counts as using nothing (`Memory.used_on`). Errors found by kernels are raised at the next read. This room
knows no operators.
"""
