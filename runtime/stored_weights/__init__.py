"""Stored weights: tensors that keep their numbers in the blocks of a weight format, and functions that take them.

Way in: `store(weight, format)` packs a float tensor, `StoredWeight(rows, format, numbers)` takes rows of bytes as they are.
`linear`, `embedding` and row lookups read the blocks; `dequantize()` gives a float tensor for any other function. A stored
weight never changes its format by itself, and has no gradient. The room knows no module and no file.
"""

from . import stored_functions  # noqa: F401  (its handlers)
from .stored_weight import StoredWeight, store, stored_again

__all__ = ["StoredWeight", "store", "stored_again"]
