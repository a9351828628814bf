"""Classes beside Tensor: users' subclasses, typed tensors and storages by old names, calls from PyTorch.

Way in: `subclasses.as_subclass`, `typed_storage`. Composite tensors (sparse, nested, masked, parameters) build on
subclasses.py.
"""
