"""Tensors and the rest of Python: DLPack, array interface, buffer protocol, numpy's ufuncs, copy and pickle.

Way in: `from_dlpack`; the protocols are methods that it puts on Tensor. Memory that is lent out is noted in its Storage.
"""
