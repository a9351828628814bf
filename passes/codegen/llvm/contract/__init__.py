"""Matrix products: one microkernel, packing, GEMM variants (dots, one row, swapped, AMX), int8, and epilogues.

Way in: `gemm` for whole products; `inline_gemm.write_product` and `microkernel` for other kernels. Epilogues run before the
only store. The order of a sum depends on sizes alone, never on threads: `runtime/cpu/gemm` chooses variant and blocks. C
libraries are planned without AMX tiles, because the process may not be permitted to use them.
"""
