"""Base of Triton kernels: `Source` and `Parameter` (nest), `TritonBuilder`, which spells scalar instructions, dot
products with stated precision, and kernels that move rows (`source.emit` makes a `Source`).

Text is made without Triton and without a GPU.
"""
