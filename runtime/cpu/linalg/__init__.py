"""Factorisations, triangular solves and Fourier transforms on generated kernels.

Way in: `factor` and `solve` of `lu`, `cholesky`, `qr`, `triangular`, and `fourier.transform`. Large matrices are blocked and
take their products from `gemm`.
"""
