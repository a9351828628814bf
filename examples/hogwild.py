"""Hogwild: several processes train one model at once, without locks.

Shows a model in shared memory, `spawn`, and one optimizer and one stream of random numbers for each process. The processes
overwrite each other's updates now and then and learn all the same: after eight epochs in each of two processes about 97 of
100 test digits are read right. With --trace every process has its own compiled step.
"""

import digits
from options import options

import ingot
import ingot.multiprocessing as mp
from ingot import jit, nn, optim
from ingot.nn import functional as F

PROCESSES = 2


def network():
    """Three linear layers on 64 pixels."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def train(rank, model, losses, start, args):
    """Train the shared model by SGD, on all digits in an order of the process's own."""
    ingot.set_num_threads(1)
    ingot.manual_seed(10 + rank)
    training, _ = digits.load()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.5)

    def step(images, classes):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        return loss

    if args.trace:
        step = jit.trace(step)
    start.wait()
    for epoch in range(args.epochs):
        seen = [step(images, classes).item() for images, classes in digits.batches(20, *training)]
        losses[rank, epoch] = sum(seen) / len(seen)
        print(f"process {rank}, epoch {epoch + 1}: loss {losses[rank, epoch].item():.4f}", flush=True)


def main(argv=None, processes=PROCESSES):
    """Trains in several processes; returns each process's mean loss of each epoch, and the share of test digits read right."""
    args = options(__doc__, argv, epochs=8, quick=2)
    ingot.manual_seed(1)
    model = network().share_memory()
    losses = ingot.zeros(processes, args.epochs).share_memory_()
    start = mp.get_context("spawn").Barrier(processes)
    mp.spawn(train, args=(model, losses, start, args), nprocs=processes)
    _, (images, classes) = digits.load()
    with ingot.no_grad():
        right = (model(images).argmax(1) == classes).float().mean().item()
    print(f"{right:.1%} of the test digits read right")
    return losses.flatten().tolist(), right


if __name__ == "__main__":
    main()
