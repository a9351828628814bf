"""Parameters that update as views of another form: complex ones as pairs of real numbers, scalars as vectors.

Both parts of a complex parameter have running averages of their own. A scalar parameter updates as a vector of one element if
learning rate or step count is a tensor without dims. Beside a vector such a number rounds to the vector's dtype, as a Python
number does. So traced and eager results have the same bits.
"""

from ..api.register.register import FUNCTIONS
from ..core.tensor import Tensor
from ..core.writes import write


def by_pairs(update, p, g, state, group):
    """Run `update` on the real and imaginary parts of a complex parameter, its gradient and state, and write the results
    back."""
    parts, states = parts_of(p), {name: parts_of(v) if is_complex(v) else v for name, v in state.items()}
    update(parts, parts_of(g), states, group)
    write(p, whole(parts), "step")
    for name, v in states.items():
        if is_complex(state.get(name)):
            write(state[name], whole(v), "step")
        elif isinstance(v, Tensor) and v.shape == parts.shape:
            state[name] = whole(v)
        elif name not in state or state[name] is not v:
            state[name] = v


def is_complex(x) -> bool:
    """Return whether `x` is a complex tensor."""
    return isinstance(x, Tensor) and x.dtype.is_complex


def parts_of(t: Tensor) -> Tensor:
    """Return the parts of complex numbers in a last dimension, in new memory."""
    return FUNCTIONS["view_as_real"](t).clone()


def whole(parts: Tensor) -> Tensor:
    """Return complex numbers from their parts."""
    return FUNCTIONS["view_as_complex"](parts).clone()


NUMBERS = frozenset(("step", "eta", "mu", "mu_product"))      # entries of a state that are numbers for every parameter


def by_vectors(update, p, g, state, group):
    """Run `update` on a scalar parameter, its gradient and state as vectors over the same memory."""
    def vector(t):
        return (t if group.get("differentiable") else t.detach()).reshape(1)

    states = {name: vector(v) if isinstance(v, Tensor) and name not in NUMBERS else v for name, v in state.items()}
    update(vector(p), vector(g), states, group)
    for name, v in states.items():
        if name not in state:
            state[name] = v.reshape(()) if isinstance(v, Tensor) and name not in NUMBERS else v
