"""Matrix products of floats, complex numbers and int8 weights.

Way in: `gemm.matmul` for arrays, `gemm_plan.make_plan` for shapes. Planning (tiles, packing, threads) needs shapes and
strides only. Knows neither convolutions nor layers.
"""
