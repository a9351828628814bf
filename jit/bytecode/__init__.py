"""Static analysis of user code: the reads, writes and uses that bytecode shows.

Way in: `reads_of`, `writes_of`, `uses_of` and `operation_sites_of`, of one code object and without running it. `user_code.py`
tells user code, and objects of user classes, from those of libraries. Results are cached per code object. It must not know
recordings.
"""
