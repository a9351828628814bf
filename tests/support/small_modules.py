"""A module with all kinds of members, for tests of modules, and what lists of names are compared by."""

import ingot
from ingot import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.scale = nn.Parameter(ingot.ones(2))
        self.register_buffer("calls", ingot.zeros((), dtype=ingot.int64))
        self.register_buffer("scratch", ingot.zeros(2), persistent=False)

    def forward(self, x, factor=1.0):
        return self.linear(x) * self.scale * factor


def names(pairs):
    return [n for n, _ in pairs]
