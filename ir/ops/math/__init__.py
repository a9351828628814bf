"""Special functions (gamma, Bessel, orthogonal polynomials, normal distribution), gamma random numbers, Fourier transforms.

Scalar kernels compute most of them; transforms and polynomials of varying degree run on the host or as device launches.
"""
