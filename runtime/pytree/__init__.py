"""Trees of Python containers: flatten, unflatten, map, key paths, text.

Way in: `pytree.tree_flatten`, `tree_unflatten`, `register_pytree_node`. It knows nothing of tensors.
"""
