"""Special functions and distributions (gamma, Bessel, orthogonal polynomials, normal distribution, binomial) and Fourier
transforms.

Stands above `nn` because the maker `pointwise` of `nn/piecewise` defines some of them.
"""
