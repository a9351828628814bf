"""Linear algebra operators on batches of matrices: products, triangular systems, factorisations, determinants, eigenvalues.

References go through LAPACK; gradients are the textbook formulas. Shared argument checks are in `matrix_rules`.
"""
