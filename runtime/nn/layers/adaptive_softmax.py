"""Adaptive softmax over many classes: rare classes are reached through clusters."""

from typing import NamedTuple

from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from .. import functional as F
from ..base.container import ModuleList, Sequential
from ..base.module import Module
from .linear import Linear

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class ASMoutput(NamedTuple):
    """The log probability of each target, and their negative mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes sorted from frequent to rare and cut at `cutoffs`. The head holds the first part and an
    entry for each cluster; clusters are tails of decreasing size."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ArgumentError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1
                or any(int(c) != c for c in cutoffs)):
            raise ArgumentError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                                f"each between 1 and n_classes-1; got {cutoffs} for {n_classes} classes")
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner = int(in_features // div_value ** (i + 1))
            outer = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, inner, False, device, dtype),
                                        Linear(inner, outer, False, device, dtype)))

    def reset_parameters(self):
        """Initialise head and tails."""
        self.head.reset_parameters()
        for module in self.tail.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input, target):
        single = target.ndim == 0
        if target.ndim > 1 or input.ndim != target.ndim + 1:
            raise ShapeError(f"AdaptiveLogSoftmaxWithLoss takes [N, in_features] and [N], or [in_features] and [], got "
                             f"{input.aval} and {target.aval}")
        x, y = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
        if x.shape[0] != y.shape[0]:
            raise ShapeError(f"AdaptiveLogSoftmaxWithLoss: {x.shape[0]} inputs do not fit {y.shape[0]} targets")
        if y.dtype.is_inexact:
            raise DTypeError(f"targets are class numbers, got {y.dtype.name}")
        if bool(((y < 0) | (y >= self.n_classes)).any()):
            raise ArgumentError(f"target values should be in the range [0, {self.n_classes - 1}], but values in range "
                                f"[{y.min().item()}, {y.max().item()}] were found")
        output = self._of_targets(x, y)
        output = output.squeeze(0) if single else output
        return ASMoutput(output, -output.mean())

    def _of_targets(self, x, y):
        """Return log p(y | x) by row. Only clusters that occur are computed, for their rows."""
        place = FUNCTIONS["where"](y < self.shortlist_size, y, 0)
        late = FUNCTIONS["zeros"](y.shape, dtype=x.dtype, device=x.device)
        for i, tail in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((y >= low) & (y < high)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            local = F.log_softmax(tail(x.index_select(0, rows)), dim=1)
            chosen = local.gather(1, (y.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            late = late.index_copy(0, rows, chosen)
            place = place.index_fill(0, rows, self.shortlist_size + i)
        head = F.log_softmax(self.head(x), dim=1)
        return late + head.gather(1, place.unsqueeze(1)).squeeze(1)

    def log_prob(self, input):
        """Return log probabilities of all classes."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            at = self.shortlist_size + i
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, at: at + 1])
        return FUNCTIONS["cat"](parts, 1)

    def predict(self, input):
        """Return the most likely class of each row; a tail is computed only where the head chooses its cluster."""
        output = self.head(input).argmax(1)
        if bool((output >= self.shortlist_size).any()):
            rows = (output >= self.shortlist_size).nonzero().squeeze(1)
            output = output.index_copy(0, rows, self.log_prob(input.index_select(0, rows)).argmax(1))
        return output
