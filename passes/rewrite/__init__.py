"""Tools of all passes: `rewrite` rebuilds graphs by rules, `kernel_body` finds what one fused kernel computes, `strided`
composes views, `subgraphs` cuts graphs.

A rewrite keeps every bit unless its rule says otherwise. Must not know any single pass.
"""
