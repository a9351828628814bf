"""C libraries from models: header, entry functions in LLVM IR, and a small ELF linker.

Way in: `to_c`. The result needs neither Python nor ingot. Libraries are planned without AMX tiles. This room knows neither fx
graphs nor exported programs.
"""
