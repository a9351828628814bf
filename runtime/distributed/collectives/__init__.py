"""Collectives on tensors, with and without gradients, on objects, point to point, and the device mesh.

Way in: `collectives.all_reduce`, `init_device_mesh`. Invariant: all ranks get the same bits, since values are combined in the
order of ranks. Tensors on GPUs travel by way of host memory.
"""
