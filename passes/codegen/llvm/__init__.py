"""LLVM IR as text: the emitter, and the native kernels that are written with it."""
