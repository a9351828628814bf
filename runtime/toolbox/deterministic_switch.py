"""`ingot.utils.deterministic`: a switch that programs set. Memory of new tensors is zeros, whatever it says."""

fill_uninitialized_memory: bool = True

__all__ = ["fill_uninitialized_memory"]
