"""ingot under the name `torch`."""
