"""Static analysis of user code.

Way in: `reads_of(code)` returns attribute chains, `uses_of` tells how containers are used, `Walk` simulates the stack,
`is_users_code` tells user code from libraries. It reads code objects only. It never runs user code, and it must not know
guards, recordings or symbolic sizes.
"""
