"""`ingot.utils.tensorboard`: event files that TensorBoard shows, written without its packages.

    with SummaryWriter("runs/first") as writer:
        for step in range(1000):
            writer.add_scalar("loss/train", train_step(), step)

The methods are host functions: inside of `@jit.trace` they run at every call, with its values.
"""

from .event_file import EventFile as FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
