"""Data parallel training over processes."""

import os

import ingot
import ingot.distributed as dist
import ingot.multiprocessing as mp
from ingot import nn, optim
from ingot.nn.parallel import DistributedDataParallel as DDP
from ingot.utils.data import DataLoader, TensorDataset
from ingot.utils.data.distributed import DistributedSampler


class Trainer:
    def __init__(self, model: nn.Module, rank: int, loader: DataLoader[tuple[ingot.Tensor, ...]], every: int = 1) -> None:
        self.rank = rank
        self.loader = loader
        self.model = DDP(model)
        self.optimizer = optim.SGD(model.parameters(), lr=1e-3)
        self.every = every

    def run(self, epochs: int) -> None:
        for epoch in range(epochs):
            sampler = self.loader.sampler
            if isinstance(sampler, DistributedSampler):
                sampler.set_epoch(epoch)
            for source, target in self.loader:
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(source), target)
                loss.backward()
                self.optimizer.step()
            if self.rank == 0 and epoch % self.every == 0:
                ingot.save(self.model.module.state_dict(), "checkpoint.pt")


def main(rank: int, world_size: int) -> None:
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group(backend="gloo", rank=rank, world_size=world_size)
    data = TensorDataset(ingot.randn(32, 4), ingot.randint(0, 2, (32,)))
    loader = DataLoader(data, batch_size=4, shuffle=False, sampler=DistributedSampler(data, num_replicas=world_size, rank=rank))
    Trainer(nn.Linear(4, 2), rank, loader).run(2)
    total = ingot.ones(1)
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    parts = [ingot.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, total)
    work = dist.broadcast(total, src=0, async_op=True)
    if work is not None:
        work.wait()
    dist.barrier()
    print(dist.get_rank(), total.item(), [p.item() for p in parts])
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(2,), nprocs=2, join=True)
