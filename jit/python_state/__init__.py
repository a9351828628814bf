"""Observation of Python while a call is recorded.

Way in: `Tracker`. A read becomes a guard, a write becomes a side effect, and an action that cannot repeat raises `TraceError`
with the user's line. State that is not understood is refused, never ignored. `CallPolicy` decides about each call that leaves
user code, by the tables of `call_rules.py`; an operation such as `x[key]` is a call of a method of the object's class. Each
attribute that code gets or sets is an event, which shows the object. Variables and constant items are chains of names, read
when code starts. User code behind a property, `__getattr__` or `__getitem__` is never run by a guard; chains end
there. Attributes that a user's `__setattr__` has left are stored by replays, which do not call it. Kernels, operators and the
recorder run without profile events: a training step would have tens of thousands. It must not know cache entries.
"""
