"""Kernels to text: one definition of every scalar function, and how each backend spells a kernel."""
