"""Static analysis of user code: the reads, writes and uses that bytecode shows.

Way in: `reads_of`, `writes_of`, `uses_of`, `queries_of`, `is_user_code`, all of one code object and without running it.
Results are cached per code object. It imports `errors` alone and must not know recordings.
"""
