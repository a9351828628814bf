"""The kernel IR: one fused loop nest as plain data (`Kernel`), a builder to write one by hand, its NumPy reference.

Extents and strides may be symbols. Must not know graphs nor any backend.
"""
