"""Writes LLVM IR as text, without LLVM: `Module` and `Function` (emit), SSA values and types, and `LlvmBuilder`, which spells
scalar instructions.

Knows how values lie in memory and nothing of loops or jobs.
"""
