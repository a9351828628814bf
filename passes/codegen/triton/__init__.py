"""Kernels as Triton source: readable Python text, made without Triton and without a GPU."""
