"""The CUDA driver through ctypes: functions and errors, contexts, streams, worker threads, and per-thread state of what is
asked.

Way in: `driver.get()`, `context.context(index)`, `streams.current(index)`. Work that waits for a kernel still being compiled
keeps its order (`launch_queue`). Knows neither arrays nor kernels.
"""
