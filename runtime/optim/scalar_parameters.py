"""Parameters without dims where learning rates and counts of steps are tensors without dims, too: in traced steps, and where
options are tensors.

Beside a vector such a number is rounded to the vector's dtype, as a Python number is; beside another scalar it would make the
result one of double precision, with other bits than eager's. So the update sees vectors of one element.
"""

from ..core.tensor import Tensor

_NUMBERS = {"step", "eta", "mu", "mu_product"}      # entries of states that are numbers whatever the parameter is


def by_vectors(update, p, g, state, group):
    """Lets `update` work on a scalar parameter, its gradient and its state as vectors over the same memory."""
    def vector(t):
        return (t if group.get("differentiable") else t.detach()).reshape(1)

    held = {name: vector(v) if isinstance(v, Tensor) and name not in _NUMBERS else v for name, v in state.items()}
    update(vector(p), vector(g), held, group)
    for name, v in held.items():
        if name not in state:
            state[name] = v.reshape(()) if isinstance(v, Tensor) and name not in _NUMBERS else v
