"""Engine `nccl`: collectives of a run on arrays of its GPUs. It stands beside the engine of the host, which meets the ranks.

Groups connect when they first have an array to send; rank 0 of a group draws a unique id, and the others read it from the run's
store. With a device that is known from the start, the whole run connects at once, and groups are split from it.
"""

from typing import Any

from ....ir.errors import DeviceError
from ...cuda.driver import context as contexts
from ..stores.distributed_errors import DistBackendError, DistTimeoutError
from ..stores.store import PrefixStore, Store, seconds
from . import nccl_library
from .engine import Engine
from .nccl_channel import NCCLChannel
from .nccl_communicator import Communicator
from .nccl_watchdog import Watchdog


class NCCLEngine:
    """Connections of this rank's GPU to those of all others."""

    name = "nccl"

    def __init__(self, host: Engine, store: Store, device_id: Any):
        device = None if device_id is None else contexts.index_of(device_id)
        self.nccl = nccl_library.get()
        self.host, self.rank, self.store, self.device = host, host.rank, store, device
        self.world: Communicator | None = None
        self.watchdog = Watchdog()
        if device is not None and device >= contexts.count():
            raise DeviceError(f"device_id is cuda:{device}, and this machine has {contexts.count()} CUDA devices")

    def channel(self, group) -> NCCLChannel:
        """Return the collectives of a group on GPUs. All ranks of the run call it, or `stay_out`, where devices are known."""
        if self.device is None:
            return NCCLChannel(self, group)
        if self.world is None:
            self.world = self.connect(group, self.device)
            return NCCLChannel(self, group, self.world)
        return NCCLChannel(self, group, self._split(True, group.number, f"making the group of ranks {list(group.ranks)}",
                                                    seconds(group.timeout)))

    def stay_out(self, number: int, timeout):
        """Take part in making a group without this rank."""
        if self.world is not None:
            self._split(False, number, "making a group of other ranks", seconds(timeout))

    def _split(self, is_member: bool, number: int, what: str, limit: float) -> Communicator | None:
        assert self.world is not None
        return self.world.split(is_member, number, self.rank, what, limit)

    def connect(self, group, device: int) -> Communicator:
        """Return a new communicator of a group's ranks, which all call this."""
        limit, what = seconds(group.timeout), f"connecting the GPUs of ranks {list(group.ranks)} by NCCL"
        store = PrefixStore(f"nccl{group.number}", self.store)
        if group.rank() == 0:
            store.set("id", self.nccl.unique_id())
        store.set(f"rank{group.rank()}", b"1")
        try:
            store.wait(["id"], limit)
            return Communicator.joined(self.nccl, store.get("id"), group.rank(), group.size(), device, what, limit)
        except DistTimeoutError:
            missing = [r for i, r in enumerate(group.ranks) if not store.check([f"rank{i}"])]
            named = f"rank {missing[0]}, which has" if len(missing) == 1 else f"ranks {missing}, which have"
            raise DistTimeoutError(f"rank {self.rank} waited {limit:g} s in {what}"
                                   + (f" for {named} sent no tensor of a GPU yet" if missing else
                                      "; all ranks have come, and NCCL is not done")) from None
        except DistBackendError as e:
            raise DistBackendError(f"rank {self.rank} on cuda:{device}, {what}: {e}") from e

    def close(self):
        """End the watchdog; all groups are closed."""
        self.watchdog.end()
