"""Tools of all passes: `rewrite` rebuilds and cuts graphs, `kernel_body` finds a fused kernel's computation.

`strided` composes views, `pass_manager` runs lists of passes. A rewrite keeps every bit unless its rule says otherwise. Must
not know any single pass.
"""
