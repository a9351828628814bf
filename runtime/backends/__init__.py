"""`ingot.backends`: what the libraries that users ask about are here, and the switches that scripts set."""

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized

# What PyTorch's builds may lack, by the names that programs ask for at the top level.
has_lapack = True           # linear algebra is ingot's own
has_mkl = has_mkldnn = has_openmp = False

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]
