"""The kernel IR: one fused loop nest as plain data (`Kernel`), and a builder to write one by hand.

Extents and strides may be symbols. Must not know graphs nor any backend.
"""
