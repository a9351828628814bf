"""Observation of Python while a call is recorded.

Way in: `Watch`; a read becomes a guard, a write becomes a side effect, and an action that cannot repeat raises `TraceError`
with the user's line. State that is not understood is refused, never ignored. It must not know cache entries.
"""
