"""`ingot.functional`: functions of `ingot.*` that PyTorch keeps in a module of this name, too."""

from ..api.register.register import FUNCTIONS

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
           "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft",
           "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index"]

atleast_1d = FUNCTIONS["atleast_1d"]
atleast_2d = FUNCTIONS["atleast_2d"]
atleast_3d = FUNCTIONS["atleast_3d"]
block_diag = FUNCTIONS["block_diag"]
broadcast_shapes = FUNCTIONS["broadcast_shapes"]
broadcast_tensors = FUNCTIONS["broadcast_tensors"]
cartesian_prod = FUNCTIONS["cartesian_prod"]
cdist = FUNCTIONS["cdist"]
chain_matmul = FUNCTIONS["chain_matmul"]
einsum = FUNCTIONS["einsum"]
istft = FUNCTIONS["istft"]
lu = FUNCTIONS["lu"]
meshgrid = FUNCTIONS["meshgrid"]
norm = FUNCTIONS["norm"]
pca_lowrank = FUNCTIONS["pca_lowrank"]
split = FUNCTIONS["split"]
stft = FUNCTIONS["stft"]
svd_lowrank = FUNCTIONS["svd_lowrank"]
tensordot = FUNCTIONS["tensordot"]
unique = FUNCTIONS["unique"]
unique_consecutive = FUNCTIONS["unique_consecutive"]
unravel_index = FUNCTIONS["unravel_index"]
