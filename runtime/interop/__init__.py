"""Protocols between tensors and Python: DLPack, array interface, buffer protocol, NumPy's ufuncs, copy and pickle.

Way in: `from_dlpack`; the protocols are methods on Tensor. Exported memory is marked in its Storage (`lend`).
"""
