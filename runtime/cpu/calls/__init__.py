"""Call native code from Python: call adapters, the thread pool, and plans (jobs with tables and scratch memory) that are also
steps of a larger native call.

Way in: `Jobs(...).plan()`, `pool.run`, and the registries `@native(op)` and `KernelTable`. A plan holds for one number of
threads and is made again when that changes. Knows no operator family.
"""
