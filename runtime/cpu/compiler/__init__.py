"""Turn LLVM IR text into callable addresses.

Way in: `compile.compile_module(text, names)` and `ir_cache.text_of(kernel)`; objects come from memory, then the disk cache,
then LLVM. The digest of a text covers the source of the code generator, so a stale object is never loaded. Knows no arrays,
threads or operators.
"""
