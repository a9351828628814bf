"""Matrix products: one micro-kernel, packing, GEMM with its variants (dots, one row, swapped, AMX), bytes, and epilogues
applied before the only store.

Way in: `gemm` for whole products, `inline_gemm.write_product` and `microkernel` for other kernels. The order of a sum depends
on sizes alone, never on threads.
"""
