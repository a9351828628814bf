"""Classes beside Tensor: the user's subclasses, typed tensors and storages by old names, calls that arrive from PyTorch.

Way in: `subclasses.as_subclass`, `typed_storage`. Composite tensors (sparse, nested, masked, parameters) build on
subclasses.py.
"""
