"""Training steps of research code, as it is written: loops, gradients inside of losses, routing by data, several optimizers."""

from . import decisions, images, sciences, sequences, varying

MEAN_BAR = 1.4
WORKLOADS = images.WORKLOADS | sequences.WORKLOADS | sciences.WORKLOADS | decisions.WORKLOADS | varying.WORKLOADS
