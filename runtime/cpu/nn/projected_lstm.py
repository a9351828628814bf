"""LSTM layers whose states are projected: each step is a native call for the gates, and products around it.

The step's own product takes the projected state; everything that does not depend on the step before is done for all steps at
once. Masked steps carry their states on.
"""

import numpy as np

from ..calls import jobs, pool
from ..gemm import gemm
from ..memory import alloc
from . import recurrent


def _order(steps, reverse):
    return range(steps - 1, -1, -1) if reverse else range(steps)


def forward(z, mask, h, c, w, projection, *, reverse):
    """(states, cells, gates)."""
    steps = len(z)
    y, cells = (alloc.empty((steps, *state.shape), z.dtype) for state in (h, c))
    gates, turned = alloc.empty(z.shape, z.dtype), projection.T
    for t in _order(steps, reverse):
        hidden, cell, gates[t:t + 1] = recurrent.forward("lstm", z[t:t + 1], None, h, c, w, None, reverse=False)
        gemm.matmul(hidden[0], turned, y[t])
        if mask is not None:
            live = mask[t][:, None]
            y[t], cell = np.where(live, y[t], h), np.where(live, cell, c)
        cells[t] = cell.reshape(c.shape)
        h, c = y[t], cells[t]
    return y, cells, gates


def gradients(upstream, results, mask, h, c, w, projection, *, reverse):
    """(dz, dh, dc, dw, the projection's); `upstream` are the gradients of (states, cells, gates), None where none came."""
    walk = _Walk(upstream, results, mask, c, w, projection, reverse)
    dh, dc = np.zeros(h.shape, h.dtype), np.zeros(c.shape, c.dtype)
    for t in _order(len(walk.dz), not reverse):
        dh, dc = walk.step(t, dh, dc)
    y, cells, gates = results
    outer = gates[:, :, 3 * c.shape[1]:]
    hidden = outer * np.tanh(cells)
    return walk.dz, dh, dc, _product(walk.dz, recurrent.states_before(y, h, reverse)), _product(walk.dh, hidden)


def _product(gradient, operand):
    """The gradient of weights from those of their products, over all steps."""
    return gemm.matmul(gradient.reshape(-1, gradient.shape[2]).T, operand.reshape(-1, operand.shape[2]))


class _Walk:
    """The steps back, and what they leave for all steps: dz, and the gradient of the projected states."""

    def __init__(self, upstream, results, mask, c, w, projection, reverse):
        (self.gy, self.gc, self.gg), (y, self.cells, self.gates) = upstream, results
        self.mask, self.w, self.projection = mask, jobs.as_rows(w), jobs.as_rows(projection)
        self.before = recurrent.states_before(self.cells, c, reverse)
        self.dz, self.dh = alloc.empty(self.gates.shape, w.dtype), alloc.empty(y.shape, w.dtype)

    def step(self, t, dh, dc):
        """The gradients of the states before a step, from those of the states after it."""
        dh, dc = (a if g is None else g[t] + a for g, a in ((self.gy, dh), (self.gc, dc)))
        if self.mask is None:
            return self._inside(t, dh, dc)
        live, none = self.mask[t][:, None], dh.dtype.type(0)
        inside = self._inside(t, *[np.where(live, a, none) for a in (dh, dc)])
        return [new + np.where(live, none, past) for new, past in zip(inside, (dh, dc))]

    def _inside(self, t, dh, dc):
        self.dh[t] = dh
        one, dc = slice(t, t + 1), np.array(dc, order="C")
        outside = gemm.matmul(np.ascontiguousarray(dh), self.projection)[None], None, None if self.gg is None else self.gg[one]
        plan = recurrent.grad_plan("lstm", self.cells[one].shape, self.w.strides[0], False, recurrent.given_of(outside), False,
                                   self.w.dtype, pool.get_num_threads(), True)
        recurrent.run_walk(plan, outside, (None, self.cells[one], self.gates[one]), None, None, self.before[t], self.w,
                           (self.dz[one], self.dz[one], np.zeros(dc.shape, dc.dtype), dc))
        return gemm.matmul(self.dz[t], self.w), dc
