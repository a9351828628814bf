"""Adam for parameters with sparse gradients, such as embeddings."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.optim import SparseAdam as SparseAdam
