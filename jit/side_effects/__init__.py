"""Side effects of a recorded call on Python state that outlives it.

Way in: `Target` (one write), `WriteLog` (assignments), `ContainerLog` (updates of containers), `OutputTemplate` (results).
Replay commits the effects at the end, in order. It must not know segments or compiled code.
"""
