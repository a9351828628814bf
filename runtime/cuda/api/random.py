"""`ingot.cuda.random`: seeds and states of the one generator that all devices share. All names are in `ingot.cuda`, too."""

from ...core.device import DRIVERS, available
from ...core.random import default_generator
from ...core.tensor import Tensor

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "set_rng_state", "set_rng_state_all"]


def manual_seed(seed: int):
    """Accepted: `ingot.manual_seed` seeds every device."""
    int(seed)


def seed():
    """Accepted: `ingot.seed` seeds every device."""


manual_seed_all, seed_all = manual_seed, seed


def initial_seed() -> int:
    """Return the seed of the generator that every device draws from."""
    return default_generator.initial_seed()


def get_rng_state(device="cuda") -> Tensor:
    """Return the state of the generator that every device draws from. `device` is ignored: there is one generator."""
    return default_generator.get_state()


def get_rng_state_all() -> list:
    """Return the generator's state, once for each device."""
    return [default_generator.get_state() for _ in range(DRIVERS["cuda"].count() if available("cuda") else 0)]


def set_rng_state(new_state: Tensor, device="cuda") -> None:
    """Set the state of the generator that every device draws from. `device` is ignored: there is one generator."""
    default_generator.set_state(new_state)


def set_rng_state_all(new_states) -> None:
    """Set a state from `get_rng_state_all`; without devices it changes nothing."""
    for state in new_states:
        default_generator.set_state(state)
