"""Matrix products, triangular systems, factorisations, determinants and eigenvalues on batches of matrices.

References go through LAPACK; gradients are the textbook formulas. Shared argument checks are in `matrix_rules`.
"""
