"""Writer of LLVM IR as text, without LLVM.

`Module` and `Function` (emit.py) append instructions and control flow. Types and SSA values are in types.py. `LlvmBuilder`
(spelling.py) spells scalar instructions, and memory_types.py has the layout of values in memory. The room knows no loop nests
and no jobs.
"""
