"""Memory of repeated calls: a public function called again with arguments of the same kinds runs the operators of its first
call directly.

Way in: `call_memo.first_call`, `view_memo.viewing`, `compile_threshold` (from runtime/cpu/often). Invariant: an entry is used
only if everything that its call depended on is the same.
"""
