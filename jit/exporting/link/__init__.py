"""C libraries from models: header, entry functions in LLVM IR, a small ELF linker.

Way in: `to_c`. The result needs neither Python nor ingot. It must not know fx graphs or exported programs.
"""
