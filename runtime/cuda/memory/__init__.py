"""Device memory: the caching allocator, pinned host memory, arrays, copies between host and device, status words.

Way in: `arrays.empty`, `transfer.to_device`, `transfer.to_host`. A block is reused in stream order only; errors noted by
kernels are raised at the next read. Knows no operators.
"""
