"""`@jit.trace`: records a run, compiles it, guards it."""
