"""`ingot.functional`: top-level functions that PyTorch also keeps in a module of this name."""

from ..api.register.register import FUNCTIONS

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
           "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft",
           "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index"]

(atleast_1d, atleast_2d, atleast_3d, block_diag, broadcast_shapes, broadcast_tensors, cartesian_prod, cdist, chain_matmul,
 einsum, istft, lu, meshgrid, norm, pca_lowrank, split, stft, svd_lowrank, tensordot, unique, unique_consecutive,
 unravel_index) = (
    FUNCTIONS[name] for name in __all__)
