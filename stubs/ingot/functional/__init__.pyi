"""`ingot.functional`: top-level functions that PyTorch also keeps in a module of this name."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot import atleast_1d as atleast_1d
from ingot import atleast_2d as atleast_2d
from ingot import atleast_3d as atleast_3d
from ingot import block_diag as block_diag
from ingot import broadcast_shapes as broadcast_shapes
from ingot import broadcast_tensors as broadcast_tensors
from ingot import cartesian_prod as cartesian_prod
from ingot import cdist as cdist
from ingot import chain_matmul as chain_matmul
from ingot import einsum as einsum
from ingot import istft as istft
from ingot import lu as lu
from ingot import meshgrid as meshgrid
from ingot import norm as norm
from ingot import pca_lowrank as pca_lowrank
from ingot import split as split
from ingot import stft as stft
from ingot import svd_lowrank as svd_lowrank
from ingot import tensordot as tensordot
from ingot import unique as unique
from ingot import unique_consecutive as unique_consecutive
from ingot import unravel_index as unravel_index
