"""`ingot.distributed.device_mesh`: the ranks of a run as an array, with a group for every row along every dimension."""

import weakref
from typing import Any

import numpy as np

from ....ir.errors import ArgumentError
from ...core.tensor import wrap
from ..groups.process_group import ProcessGroup
from ..groups.world import get_rank, get_world_size, init_process_group, is_initialized, new_group, the_group
from .object_collectives import all_gather_object

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Array of ranks. Every rank of the run makes all meshes, in one order."""

    def __init__(self, device_type, mesh, *, mesh_dim_names=None, _groups=None):
        self.device_type = device_type
        self._ranks = np.array(mesh.tolist() if hasattr(mesh, "tolist") else mesh, np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(set(self.mesh_dim_names)) != self._ranks.ndim:
            raise ArgumentError(f"a mesh of shape {list(self._ranks.shape)} takes {self._ranks.ndim} different "
                                f"mesh_dim_names, got {self.mesh_dim_names}")
        if not is_initialized():
            init_process_group()
        ranks = self._ranks.reshape(-1).tolist()
        if len(set(ranks)) != len(ranks) or not set(ranks) <= set(range(get_world_size())):
            raise ArgumentError(f"a mesh takes different ranks of the run (0 to {get_world_size() - 1}), got "
                                f"{self._ranks.tolist()}")
        self._groups = self._make_groups() if _groups is None else _groups
        self._root = self               # the mesh that contains this one
        at = np.argwhere(self._ranks == get_rank())
        self._at = at[0].tolist() if len(at) else None
        self._hash = hash((self.device_type, self.mesh_dim_names, self._ranks.tobytes(), self._ranks.shape))
        _made.add(self)

    def _make_groups(self) -> list:
        """Return this rank's group along each dimension."""
        found: list[Any] = []
        for dim in range(self._ranks.ndim):
            mine = None
            for row in np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim]).tolist():
                whole = row == list(range(get_world_size()))
                made = the_group(None) if whole else new_group(row)
                mine = made if get_rank() in row else mine
            found.append(mine)
        return found

    @classmethod
    def from_group(cls, group, device_type, mesh=None, *, mesh_dim_names=None):
        """Return the mesh of a group's ranks, or of existing groups, one for each dimension of `mesh`."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if mesh is None:
            if len(groups) != 1:
                raise ArgumentError("DeviceMesh.from_group of several groups needs mesh=, the ranks in an array")
            mesh = list(groups[0].ranks)
        return cls(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)

    # Properties.

    @property
    def mesh(self):
        """Ranks as a tensor."""
        return wrap(self._ranks.copy())

    @property
    def shape(self) -> tuple:
        """Number of ranks along each dimension."""
        return self._ranks.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._ranks.ndim

    def size(self, mesh_dim=None) -> int:
        """Return the number of ranks, in all or along a dimension."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[self._dim(mesh_dim)]

    def __eq__(self, other):
        return self is other or (isinstance(other, DeviceMesh) and (self.device_type, self.mesh_dim_names) == (
            other.device_type, other.mesh_dim_names) and np.array_equal(self._ranks, other._ranks))

    def __hash__(self):
        return self._hash

    def __reduce__(self):
        return mesh_again, (self.device_type, self._ranks.tolist(), self.mesh_dim_names)

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh({self.device_type!r}, {self._ranks.tolist()}{names})"

    def __enter__(self):
        _entered.append(self)
        return self

    def __exit__(self, *error):
        _entered.pop()

    @staticmethod
    def current() -> "DeviceMesh | None":
        """Return the mesh of the innermost `with mesh:`."""
        return _entered[-1] if _entered else None

    # This rank.

    def _dim(self, mesh_dim) -> int:
        if isinstance(mesh_dim, str):
            names = self.mesh_dim_names or ()
            if mesh_dim not in names:
                raise ArgumentError(f"the mesh has no dimension {mesh_dim!r}; its names are {names}")
            return names.index(mesh_dim)
        if mesh_dim is None:
            if self.ndim != 1:
                raise ArgumentError(f"a mesh of {self.ndim} dimensions needs to be told which one is meant")
            return 0
        if not -self.ndim <= mesh_dim < self.ndim:
            raise ArgumentError(f"dimension {mesh_dim} is not within a mesh of {self.ndim} dimensions")
        return mesh_dim % self.ndim

    def get_rank(self) -> int:
        """Return this process's rank in the run."""
        return get_rank()

    def get_coordinate(self) -> list | None:
        """Return this rank's index along each dimension, or None if it is not in the mesh."""
        return self._at

    def get_local_rank(self, mesh_dim=None) -> int:
        """Return this rank's index along a dimension."""
        place = self.get_coordinate()
        if place is None:
            raise ArgumentError(f"rank {get_rank()} is not in {self}")
        return place[self._dim(mesh_dim)]

    def get_group(self, mesh_dim=None) -> ProcessGroup:
        """Return this rank's group along a dimension."""
        found = self._groups[self._dim(mesh_dim)]
        if found is None:
            raise ArgumentError(f"rank {get_rank()} is not in {self}")
        return found

    def get_all_groups(self) -> list:
        """Return this rank's groups along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    # Parts.

    def __getitem__(self, mesh_dim_names):
        """Return the part of the mesh along some dimensions that contains this rank."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        dims, place = [self._dim(name) for name in names], self.get_coordinate()
        if place is None:
            raise ArgumentError(f"rank {get_rank()} is not in {self}")
        part = self._ranks[tuple(slice(None) if d in dims else at for d, at in enumerate(place))]
        order = [sorted(dims).index(d) for d in dims]
        groups = [self._groups[d] for d in dims]
        found = DeviceMesh(self.device_type, part.transpose(order), mesh_dim_names=names, _groups=groups)
        found._root = self._root
        return found

    def _get_root_mesh(self):
        """Return the mesh that contains this one, perhaps itself."""
        return self._root

    def _flatten(self, mesh_dim_name=None):
        """Return the mesh's ranks in one dimension, with a group of their own. Every rank must call it."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or [f"dim{d}" for d in range(self.ndim)])
        everyone: list = [None] * get_world_size()
        all_gather_object(everyone, self._ranks.reshape(-1).tolist())
        mine = None
        for ranks in sorted(map(list, {tuple(ranks) for ranks in everyone})):
            made = new_group(ranks)
            mine = made if get_rank() in ranks else mine
        return DeviceMesh(self.device_type, self._ranks.reshape(-1), mesh_dim_names=(name,), _groups=[mine])


_entered: list = []         # stack of `with mesh:`
_made: Any = weakref.WeakSet()      # all meshes


def mesh_again(device_type, ranks, names) -> DeviceMesh:
    """Return a mesh from a pickle: an existing one of the same ranks, or a new one."""
    wanted = np.array(ranks, np.int64)
    for mesh in _made:
        if (mesh.device_type, mesh.mesh_dim_names) == (device_type, names) and np.array_equal(mesh._ranks, wanted):
            return mesh
    return DeviceMesh(device_type, ranks, mesh_dim_names=names)


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None) -> DeviceMesh:
    """Return all ranks of the run in an array of a shape, row by row."""
    if backend_override:
        raise ArgumentError("init_device_mesh: all groups use the backend of the run; leave backend_override out")
    if not is_initialized():
        init_process_group()
    if np.prod(mesh_shape, dtype=np.int64) != get_world_size():
        raise ArgumentError(f"a mesh of shape {list(mesh_shape)} does not hold the {get_world_size()} ranks of the run")
    return DeviceMesh(device_type, np.arange(get_world_size()).reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
