"""Call native code from Python: call adapters, the thread pool, and plans (jobs with tables and scratch memory) that are also
steps of a larger native call.

Way in: `Jobs(...).plan()`, `pool.run`, and `OperatorKernel`, in which a family file says how its operators run eagerly and as
steps. An eager call of a plan is a native call of its steps alone, by the runner of graphs (`plan.runner`). Only loops over
elements and rows have entries of their own (`kernel_entry.py`), which read shapes and strides from the arrays of each call. A
plan holds for one number of threads and is made again when that changes. Knows no operator family.
"""
