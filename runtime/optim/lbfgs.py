"""L-BFGS: a quasi-Newton method with a history of steps."""

from ...ir.errors import ArgumentError
from ...ir.symbols.number_functions import isnan
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import enable_grad
from .line_search import strong_wolfe
from .optimizer import Optimizer, check, options_of
from .parameter_views import is_complex, parts_of, whole


class _Memory:
    """The history of L-BFGS in the optimizer's state: steps, gradient changes, 1 / product of each pair, and first scale."""

    def __init__(self, state):
        self.state = state
        self.steps = state.setdefault("old_stps", [])
        self.changes = state.setdefault("old_dirs", [])
        self.weights = state.setdefault("ro", [])
        if len(self.weights) != len(self.steps):
            self.weights[:] = [1.0 / float(change.dot(step)) for step, change in zip(self.steps, self.changes)]
        state.setdefault("H_diag", 1.0)

    def learn(self, step, change, size):
        """Add one iteration, if its curvature is positive."""
        curvature = float(change.dot(step))
        if curvature <= 1e-10:
            return
        if len(self.steps) == size:
            self.steps.pop(0)
            self.changes.pop(0)
            self.weights.pop(0)
        self.steps.append(step)
        self.changes.append(change)
        self.weights.append(1.0 / curvature)
        self.state["H_diag"] = curvature / float(change.dot(change))

    def direction(self, gradient):
        """Return -H g by the two-loop recursion."""
        q, shares = -gradient, []
        for step, change, weight in zip(reversed(self.steps), reversed(self.changes), reversed(self.weights)):
            shares.append(float(step.dot(q)) * weight)
            q = q - change * shares[-1]
        q = q * self.state["H_diag"]
        for step, change, weight, share in zip(self.steps, self.changes, self.weights, reversed(shares)):
            q = q + step * (share - float(change.dot(q)) * weight)
        return q


class LBFGS(Optimizer):
    """L-BFGS for one group of parameters; `step` takes a closure that clears gradients, computes the loss and calls
    backward.

    Parameters
    ----------
    params : iterable of Tensor
        Parameters, in one group.
    lr : float
        Rate of steps.
    max_iter, max_eval : int
        Most iterations, and most calls of the closure, in a step; by default 5 / 4 as many calls.
    tolerance_grad, tolerance_change : float
        Largest gradient, and change, at which a step ends.
    history_size : int
        Number of past updates that are kept.
    line_search_fn : {None, "strong_wolfe"}
        How the length of an update is chosen.
    maximize : bool
        Whether steps go up instead of down.

    Examples
    --------
    >>> w = nn.Parameter(ingot.tensor([3.0]))
    >>> opt = optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     opt.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = opt.step(closure)
    >>> round(w.item(), 3)
    1.0
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None, *, maximize=False):
        check(lr=lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(f"line_search_fn must be None or 'strong_wolfe', got {line_search_fn!r}")
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, options_of(locals()))
        if len(self.param_groups) != 1:
            raise ArgumentError("LBFGS takes one parameter group")
        self._params = self.param_groups[0]["params"]

    def _sign(self):
        """Return the factor of losses and gradients that makes less better."""
        return -1.0 if self.param_groups[0].get("maximize") else 1.0

    def _gradient(self):
        """Return all gradients as one vector, of the function to minimise."""
        parts = [FUNCTIONS["zeros_like"](p.detach()) if p.grad is None else p.grad.detach().to_dense() for p in self._params]
        return FUNCTIONS["cat"]([(parts_of(g) if is_complex(g) else g).reshape(-1) for g in parts]) * self._sign()

    def _move(self, direction, length):
        start = 0
        for p in self._params:
            stop = start + p._a.size * (1 + is_complex(p))
            part = direction[start:stop] * length
            p.add_(whole(part.reshape(*p.shape, 2)) if is_complex(p) else part.reshape(p.shape))
            start = stop

    def _evaluate(self, closure):
        with enable_grad():
            loss = float(closure())
        return loss * self._sign(), self._gradient()

    def _probe(self, closure, start, length, direction):
        """Return (loss, gradient) at start + length * direction; the parameters come back to start."""
        self._move(direction, length)
        found = self._evaluate(closure)
        for p, old in zip(self._params, start):
            p.copy_(old)
        return found

    def _search(self, closure, direction, length, loss, gradient, slope, most):
        """Search along the line and move the parameters; return (loss, gradient, length, evaluations)."""
        start = [p.detach().clone() for p in self._params]
        loss, gradient, length, evaluations = strong_wolfe(
            lambda t: self._probe(closure, start, t, direction), length, direction, loss, gradient, slope, most)
        self._move(direction, length)
        return loss, gradient, length, evaluations

    def _step(self, closure):
        if closure is None:
            raise ArgumentError("LBFGS.step needs a closure that computes the loss and its gradients")
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        with enable_grad():
            first = closure()
        loss, gradient = float(first) * self._sign(), self._gradient()
        state["func_evals"] = state.get("func_evals", 0) + 1
        if float(gradient.abs().max()) > group["tolerance_grad"]:
            self._iterate(closure, group, state, loss, gradient)
        return first

    def _iterate(self, closure, group, state, loss, gradient):
        """Run the iterations of one step, up to a limit."""
        memory = _Memory(state)
        evaluations = 1
        for iteration in range(group["max_iter"]):
            if state.get("prev_flat_grad") is not None:
                memory.learn(state["d"] * state["t"], gradient - state["prev_flat_grad"], group["history_size"])
            direction = memory.direction(gradient)
            state["prev_flat_grad"] = gradient
            state["n_iter"] = state.get("n_iter", 0) + 1
            length = group["lr"] if state["n_iter"] > 1 else min(1.0, 1.0 / (float(gradient.abs().sum()) or 1.0)) * group["lr"]
            slope = float(gradient.dot(direction))
            if slope > -group["tolerance_change"]:
                return
            before = loss
            loss, gradient, length, used = self._advance(closure, group, direction, length, loss, gradient, slope,
                                                         iteration + 1 < group["max_iter"], group["max_eval"] - evaluations)
            state["d"], state["t"] = direction, length
            evaluations += used
            state["func_evals"] += used
            if evaluations >= group["max_eval"] or self._done(group, direction * length, gradient, loss, before):
                return

    def _advance(self, closure, group, direction, length, loss, gradient, slope, evaluate, most):
        """Move along the direction; return (loss, gradient, length, evaluations)."""
        if group["line_search_fn"] == "strong_wolfe":
            return self._search(closure, direction, length, loss, gradient, slope, most)
        self._move(direction, length)
        if not evaluate:
            return loss, gradient, length, 0
        loss, gradient = self._evaluate(closure)
        return loss, gradient, length, 1

    def _done(self, group, step, gradient, loss, before):
        small = group["tolerance_change"]
        return (float(gradient.abs().max()) <= group["tolerance_grad"] or float(step.abs().max()) <= small
                or abs(loss - before) < small or isnan(loss))
