"""Base of Triton kernels.

`Source` and `Parameter` (source.py) are a kernel as text, `emit` makes one. `TritonBuilder` (spelling.py) spells scalar
instructions. `Nest` (nest.py) is the base of loop nests. Text is written without Triton and without a GPU.
"""
