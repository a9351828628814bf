"""Training that goes on from its last checkpoint: `train_with_checkpoints.py FOLDER [FAILURE]`, started by a launcher.

Tests compare its losses with those of an undisturbed run. The last rank may fail after step 6, which no checkpoint holds. In
the first rounds, as many as the file `hold` says, all ranks stand still there until a file lets them go on or fail.
"""

import os
import signal
import sys
import time
from pathlib import Path

import ingot
from ingot import distributed as dist
from ingot import nn, optim
from ingot.distributed import checkpoint as dcp
from ingot.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from train_by_ranks import mean_loss


def fail(failure: str):
    """Fail in the first attempt, if the arguments say so."""
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if failure == "raises":
            raise ValueError("no data")
        if failure == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)


def stand_still(folder: Path, rank: int):
    """Wait for a file in the rounds that are held."""
    round = int(os.environ["INGOT_RUN_STORE"].rpartition("round")[2])
    if not (folder / "hold").exists() or round >= int((folder / "hold").read_text()):
        return
    (folder / f"held-{round}-{rank}").touch()
    while not (folder / f"go-{round}").exists():
        if (folder / f"fail-{round}-{rank}").exists():
            raise ValueError("no data")
        time.sleep(0.01)


def main(folder: Path, failure: str = ""):
    """Train."""
    dist.init_process_group(timeout=60)
    rank = dist.get_rank()
    ingot.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 3)))
    optimizer, draw = optim.AdamW(net.parameters(), lr=0.01), ingot.Generator().manual_seed(1)
    batches = [(ingot.randn(24, 20, generator=draw), ingot.randint(0, 3, (24,), generator=draw)) for _ in range(8)]
    last = max((int(path.parent.name) for path in folder.glob("*/.metadata")), default=-1)
    if last >= 0:
        model, state = get_state_dict(net, optimizer)
        dcp.load({"model": model, "optimizer": state}, checkpoint_id=folder / str(last))
        set_state_dict(net, optimizer, model_state_dict=model, optim_state_dict=state)
    for step in range(last + 1, len(batches)):
        mean = mean_loss(net, optimizer, *batches[step])
        if rank == 0:
            print("step", step, "loss", repr(mean), flush=True)
        if step % 3 == 1:
            model, state = get_state_dict(net, optimizer)
            dcp.save({"model": model, "optimizer": state}, checkpoint_id=folder / str(step))
        if step == 6:
            stand_still(folder, rank)
            if rank == dist.get_world_size() - 1:
                fail(failure)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
