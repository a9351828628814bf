"""Host calls: Python functions that run at every replay, in order with the segments.

Way in: the decorator `host`, `HostLog` (host calls of a recorded run), `HostStep` (one host call of a trace), `HostChecks` and
`AfterHost` (state that later segments rely on). Host calls that cannot change anything (`print` of plain values, warnings) are
not checked. It must not know the cache of a trace.
"""
