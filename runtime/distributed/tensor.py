"""`ingot.distributed.tensor`: tensors that are shared out over processes are not there. Programs may ask whether a tensor is
one."""

from dataclasses import dataclass

from .device_mesh import DeviceMesh, init_device_mesh
from .errors import refused

__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor",
           "implicit_replication", "init_device_mesh"]


_INSTEAD = ("ingot keeps each tensor whole in its process; share out data with nn.parallel.DistributedDataParallel, or send "
            "parts with the collectives of ingot.distributed")


def _refused(name):
    return refused(f"tensor.{name}", _INSTEAD)


class DTensor:
    """What no tensor is an instance of."""

    __init__ = _refused("DTensor")
    from_local = staticmethod(_refused("DTensor.from_local"))


class Placement:
    """How a tensor would lie along one dim of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part (along `dim`, if given)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether each process has a term of it."""
        return isinstance(self, Partial)


@dataclass(frozen=True)
class Shard(Placement):
    """Parts along a dim."""

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Parts along a dim that another dim of the mesh has parted before."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """All of it everywhere."""


@dataclass(frozen=True)
class Partial(Placement):
    """Terms of a reduction."""

    reduce_op: str = "sum"


distribute_module, distribute_tensor = _refused("distribute_module"), _refused("distribute_tensor")
implicit_replication = _refused("implicit_replication")
compute_local_shape_and_global_offset = _refused("compute_local_shape_and_global_offset")
