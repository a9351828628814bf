"""Functionalisation: operators run eagerly and are appended to a graph; each storage has one current graph value.

Way in: `record.Recorder`; its result is a `recording.Recording`, plain data. The recorder builds the graph and holds a table of
inputs with their sources, a table of aliases, and logs of gradients, memory swaps, reads, host calls, random streams and
optimizer steps. Eager code reports to it by the events of `runtime/state/recorder.py`.

The eager tape behind the results stays as data (`tape.py`): it says which memory a replay shares with it and guards, and how
`replay/restore_tape.py` makes the eager nodes again for gradients of gradients.

Invariant: the graph has no writes; a write gives a storage another value. Leaves over one memory share its cell, and are inputs
of their own for their gradients (`InputTable.own`). Gradients that a function drops before its first operator are freed before
a replay computes (`Recording.cleared`). The room must not compile, and must not track Python state.
"""
