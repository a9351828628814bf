"""Call native code from Python: call adapters, the thread pool, and plans (jobs with tables and scratch memory) that are also
steps of a larger native call.

Way in: `Jobs(...).plan()`, `pool.run`, and `OperatorKernel`, in which a family file says how its operators run eagerly and as
steps. A plan holds for one number of threads and is made again when that changes. Knows no operator family.
"""
