"""Exceptions of tracing, and small values that all rooms of `jit` share.

Way in: `TraceError` and its kin, `RecordingStatus`, `RecompileLimit`, `Extent` (affine size formulas).
It imports no other room of jit and must not know recorders or guards.
"""
