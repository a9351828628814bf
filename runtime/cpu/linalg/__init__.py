"""Factorisations, triangular solves, determinants and Fourier transforms on generated kernels.

Way in: the tables `OPERATORS`, `factor` and `solve` of `lu`, `cholesky`, `qr`, `triangular`, and `fourier.transform`. Large
matrices are blocked and take their products from `gemm`; matrices of up to 4 rows (many: up to 8) are one per lane. Complex
matrices and eigenvalues of larger ones stay with NumPy's LAPACK. Knows no layers.
"""
