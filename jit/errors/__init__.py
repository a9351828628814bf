"""Exceptions of tracing, and small values that every other room needs: the base class of conditions, the recompile limit, the
question cache, observed values, affine size formulas (`Extent`).

Way in: `TraceError` and its kin, `Condition`. It imports no other room of jit and must not know recorders or guards.
"""
