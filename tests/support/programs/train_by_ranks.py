"""A program that trains a small network on several ranks, however it was started. Rank 0 prints the losses and the engine.

Tests run it by different launchers and engines, and compare the losses.
"""

import re
import sys
import time


def losses(said: str) -> list:
    """Return the losses in the output of a run."""
    return [float(loss) for loss in re.findall(r"loss (\S+) by", said)]


def engines(said: str) -> set:
    """Return the engines in the output of a run."""
    return set(re.findall(r"loss \S+ by (\w+)", said))


def mean_loss(net, optimizer, x, y) -> float:
    """Return the loss of a step of training, the mean over ranks. Each takes its share of the batch."""
    from ingot import distributed as dist
    from ingot import nn

    rank, size = dist.get_rank(), dist.get_world_size()
    loss = nn.functional.cross_entropy(net(x[rank::size]), y[rank::size])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    return mean.item()


def main():
    """Join, train, and leave. An error of joining is printed with the seconds that it took."""
    import ingot
    from ingot import distributed as dist
    from ingot import nn, optim

    begin = time.monotonic()
    try:
        dist.init_process_group(timeout=60)
    except dist.DistError as error:
        sys.exit(f"after {time.monotonic() - begin:.3f} s: {error}")
    ingot.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 512), nn.Tanh(), nn.Linear(512, 3)))
    optimizer, draw = optim.SGD(net.parameters(), lr=0.02, momentum=0.9), ingot.Generator().manual_seed(1)
    for _ in range(8):
        x, y = ingot.randn(24, 20, generator=draw), ingot.randint(0, 3, (24,), generator=draw)
        mean = mean_loss(net, optimizer, x, y)
        if dist.get_rank() == 0:
            sys.stdout.write(f"loss {mean!r} by {dist.group.WORLD.engine.name}\n")
            sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
