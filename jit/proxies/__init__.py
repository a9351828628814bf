"""Proxies for Python numbers and containers whose values change from call to call.

Way in: `LazyScalar` (a number from `item()`), `SymScalar` (a symbolic NumPy scalar), `table_of` (containers that symbolic
numbers index), `PassthroughValues`, `ThreadViews`, `content_of_set` (a set with all that its order depends on). A value is
forced only when Python branches on it. Symbols lie in cells, globals and items only while no other thread may run user code
(`threads.py`), and a call that fails leaves plain numbers behind (`plain_values.py`). It must not know guards.
"""
