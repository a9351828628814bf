"""`torch.nn.parallel._functions`: the functions of `nn.parallel.comm` as classes with `apply`."""

from ..runtime.nn.parallel import comm

__all__ = ["Broadcast", "Gather", "ReduceAddCoalesced", "Scatter"]


class Broadcast:
    """Tensors on several devices."""

    @staticmethod
    def apply(target_gpus, *inputs) -> tuple:
        """Return all tensors on the first device, then all on the second, and so on."""
        return tuple(t for there in comm.broadcast_coalesced(inputs, target_gpus) for t in there)


class ReduceAddCoalesced:
    """Sums over devices."""

    @staticmethod
    def apply(destination, num_inputs, *grads) -> tuple:
        """Return the sums of what `num_inputs` tensors on each device have at one place."""
        return comm.reduce_add_coalesced([grads[i:i + num_inputs] for i in range(0, len(grads), num_inputs)], destination)


class Gather:
    """A tensor of several."""

    @staticmethod
    def apply(target_device, dim, *inputs):
        """Return the tensors joined on one device."""
        return comm.gather(inputs, dim, target_device)


class Scatter:
    """Several tensors of one."""

    @staticmethod
    def apply(target_gpus, chunk_sizes, dim, input) -> tuple:
        """Pieces for devices."""
        return comm.scatter(input, target_gpus, chunk_sizes, dim)
