"""`ingot.utils.deterministic`: a switch without effect. Memory of new tensors is always zeroed."""

fill_uninitialized_memory: bool = True

__all__ = ["fill_uninitialized_memory"]
