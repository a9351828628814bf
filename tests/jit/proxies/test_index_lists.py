"""Index lists that are data: few recordings serve ever new batches, with eager's results and gradients."""

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit, nn, optim

CALLS = 12


class Routed(nn.Module):
    """Rows go to the experts of their two best scores, by one of the usual ways."""

    def __init__(self, way, experts=3):
        super().__init__()
        self.gate = nn.Linear(6, experts)
        self.experts = nn.ModuleList([nn.Linear(6, 6) for _ in range(experts)])
        self.way = way

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        return self.way(self, x, weights / weights.sum(-1, keepdim=True), chosen)


def by_where(net, x, weights, chosen):
    out, mask = ingot.zeros_like(x), F.one_hot(chosen, len(net.experts)).permute(2, 1, 0)
    for expert, hit in zip(net.experts, mask):
        slot, rows = ingot.where(hit)
        out.index_add_(0, rows, expert(x[None, rows].reshape(-1, 6)).tanh() * weights[rows, slot, None])
    return out


def past_the_idle(net, x, weights, chosen):
    out, mask = ingot.zeros_like(x), F.one_hot(chosen, len(net.experts)).permute(2, 1, 0)
    for expert, hit in zip(net.experts, mask):
        slot, rows = ingot.where(hit)
        if rows.shape[0] == 0:
            continue
        out.index_add_(0, rows, expert(x[rows]) * weights[rows, slot, None])
    return out


def of_those_hit(net, x, weights, chosen):
    out, mask = ingot.zeros_like(x), F.one_hot(chosen, len(net.experts)).permute(2, 1, 0)
    for e in ingot.greater(mask.sum((-1, -2)), 0).nonzero():
        slot, rows = ingot.where(mask[e].squeeze(0))
        out.index_add_(0, rows, net.experts[e](x[rows]) * weights[rows, slot, None])
    return out


def by_split(net, x, weights, chosen):
    order = chosen.flatten().argsort(stable=True)
    counts = ingot.bincount(chosen.flatten(), minlength=len(net.experts)).tolist()
    parts = x[order // 2].split(counts)
    y = ingot.cat([expert(part) for expert, part in zip(net.experts, parts)]) * weights.flatten()[order, None]
    return ingot.zeros_like(x).index_add(0, order // 2, y)


def by_sorted_pieces(net, x, weights, chosen):
    counts = chosen.new_zeros((x.shape[0], len(net.experts))).scatter_(1, chosen, 1).sum(0).tolist()
    order = chosen.view(-1).argsort(stable=True)
    rows, done, start = x[order // 2], [], 0
    for expert, n in zip(net.experts, counts):
        if n:
            done.append(expert(rows[start:start + n]))
        start += n
    y = ingot.empty_like(rows)
    y[order] = ingot.cat(done)
    return (y.view(*chosen.shape, -1) * weights.unsqueeze(-1)).sum(1)


def by_masks(net, x, weights, chosen):
    out = ingot.zeros_like(x)
    for e, expert in enumerate(net.experts):
        rows = (chosen == e).any(-1)
        if rows.any():
            out[rows] += expert(x[rows]) * weights[chosen == e].unsqueeze(-1)
    return out


class Points(nn.Module):
    """Means of the points in each cell."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 6)

    def forward(self, x):
        cells, cell = ingot.unique((x[:, :2] * 2).floor().long(), dim=0, return_inverse=True)
        total = ingot.zeros(cells.shape[0], 6).index_add_(0, cell, self.net(x))
        return total / ingot.bincount(cell, minlength=cells.shape[0])[:, None]


class Edges(Points):
    """Messages along the edges between points that lie close together."""

    def forward(self, x):
        row, col = (ingot.cdist(x, x) < 2.5).nonzero(as_tuple=True)
        near = row != col
        row, col = row[near], col[near]
        degree = ingot.zeros(x.shape[0]).scatter_add_(0, col, ingot.ones(col.shape[0])) + 1
        return ingot.zeros_like(x).index_add_(0, col, self.net(x[row]) / degree[row, None])


class Pruned(Points):
    """Rows above a threshold that moves with the data, then the best half of these."""

    def forward(self, x):
        y = self.net(x)
        score = y.sum(-1)
        y = y[score > score.mean()]
        best = y.sum(-1).topk(y.shape[0] // 2 + 1).indices
        return y.index_select(0, best)


class Repeated(Points):
    """Runs of equal keys, normalised within each run."""

    def forward(self, x):
        key, order = (x[:, 0] * 2).round().sort()
        y = self.net(x[order])
        _, counts = ingot.unique_consecutive(key, return_counts=True)
        run = ingot.repeat_interleave(ingot.arange(counts.shape[0]), counts)
        return y.exp() / ingot.zeros(counts.shape[0], 6).index_add(0, run, y.exp())[run]


class Filled(Points):
    """Masked assignment, reads in memory order and a bounded buffer."""

    def forward(self, x):
        place = (x > 0.5).cumsum(0)[:, 0] - 1
        keep = (x[:, 0] > 0.5) & (place < x.shape[0] // 3)
        buffer = x.new_zeros(x.shape[0] // 3 + 1, 6)
        buffer[place[keep]] = x[keep]
        out = self.net(x)
        out[keep] = self.net(buffer)[place[keep]]
        return out.masked_select(out > 0)


PROGRAMS = {by_where: 3, past_the_idle: 4, of_those_hit: 5, by_split: 4, by_sorted_pieces: 4, by_masks: 4,
            Points: 4, Edges: 3, Pruned: 3, Repeated: 5, Filled: 3}     # and how many recordings they may take


def life(program, wrap, is_step):
    """Return the results and gradients of a module at each call, or of its training steps."""
    ingot.manual_seed(0)
    net = program() if isinstance(program, type) else Routed(program)
    opt = optim.AdamW(net.parameters(), lr=1e-2)

    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss.detach()

    run, draw, seen = wrap(step if is_step else net), np.random.default_rng(7), []
    for _ in range(CALLS):
        x = ingot.tensor(draw.standard_normal((int(draw.integers(12, 40)), 6)), dtype=ingot.float32).requires_grad_(not is_step)
        made = run(x)
        if not is_step:
            net.zero_grad()
            made.square().sum().backward()
            seen.append(x.grad.numpy())
        seen += [made.detach().numpy(), *[p.grad.numpy().copy() for p in net.parameters() if p.grad is not None]]
    return seen, run


@pytest.mark.drawn
@pytest.mark.parametrize("is_step", [False, True], ids=["call", "step"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_few_recordings_serve_all_batches(program, is_step):
    want, _ = life(program, lambda f: f, is_step)
    got, run = life(program, jit.trace, is_step)
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-5)
    stats = run.stats()
    assert stats["compiles"] <= PROGRAMS[program] and not stats["unrecorded"], stats["misses"]


def test_empty_lists_and_single_rows_take_a_recording_for_each_place():
    """Not one for each pattern of them, of which there are 27."""
    ingot.manual_seed(0)
    net = Routed(by_where)
    run, draw = jit.trace(net), np.random.default_rng(3)
    for _ in range(40):
        x = ingot.tensor(draw.standard_normal((int(draw.integers(1, 5)), 6)), dtype=ingot.float32)
        np.testing.assert_allclose(run(x).detach().numpy(), net.forward(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert run.stats()["compiles"] <= 10, run.stats()["misses"]
