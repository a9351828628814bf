"""Graphs in `.ingot` files with mutated operators: each is refused, or gives what the reference gives.

`mutate.case_of(seed, name)` takes a sample of an operator, writes it as a graph and changes parameters, operands, shapes,
dtypes or declared types. `run.faults(pairs)` loads and runs such files, checksums right and arguments between pages without
access, in forked processes with limits on time and memory. A file may give an IngotError or the reference's results. A signal,
more than 5 seconds, more memory than the shapes say, another exception and other results are faults.
"""
