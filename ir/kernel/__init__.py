"""The second IR: one fused loop nest as plain data (`Kernel`), a builder to write one by hand, and its reference on NumPy.

Extents and strides may be symbols. Must not know graphs nor any backend.
"""
