"""Guards: conditions on Python state, arguments and memory that must hold for a cache entry to be replayed.

Way in: `Guard`, `ModulesGuard`, `ReadCondition`, `snapshot` and `looks_like`, `flatten` (arguments as a key), `quick_check`
(all guards as one function), `KnownObjects`. Containers are guarded at their source, tuples item by item, and not again in
functions that receive them. A gradient is looked up by its leaf, or must be the same tensor at each call if others hold its
memory. It must not know recorders or compiled code.
"""
