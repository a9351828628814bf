"""`SummaryWriter`: logs of a run, in event files."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.utils.tensorboard import SummaryWriter as SummaryWriter
