"""The CUDA driver through ctypes: functions and errors, contexts, streams, and state of the driver and of threads.

Way in: `driver.get()`, `context.context(index)`, `streams.current(index)`. Calls behind a kernel that is still being compiled
keep their order (`launch_queue`): each function runs at any time (`driver.ANYTIME`), may be deferred (`driver.LATE`), or drains
the queue. The queue is disabled once another library sees memory or streams. A step that writes over inputs makes its calls in
one instruction (`held_calls`). Streams are never destroyed, because their handles would serve new streams while memory names
them. This room knows neither arrays nor kernels.
"""
