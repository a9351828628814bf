"""Host calls: Python functions that a trace calls at every run.

Way in: the decorator `host`, `Step` (one host call of a trace), `AfterHost` (guards that are checked again after a host
call). It comes before the recorder because recorders append host steps. It must not know how segments are compiled.
"""
