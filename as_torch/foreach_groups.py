"""`ingot.utils._foreach_utils`: what optimizers of the user's that step over lists of tensors sort these with."""

__all__: list = []


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices: bool = False) -> dict:
    """{(device, dtype): (lists, indices)} of lists of equal lengths: each cut into the entries whose tensor in the first list
    is of that kind, and which these were, if asked."""
    places: dict = {}
    for i, t in enumerate(tensorlistlist[0]):
        places.setdefault((t.device, t.dtype), []).append(i)
    return {kind: ([[some[i] for i in own] if some else [] for some in tensorlistlist], own if with_indices else [])
            for kind, own in places.items()}


def _get_foreach_kernels_supported_devices() -> list:
    """Types of devices on which functions of lists take fewer launches."""
    return ["cuda"]


def _device_has_foreach_support(device) -> bool:
    """Whether they do on a device."""
    return device.type in _get_foreach_kernels_supported_devices()
