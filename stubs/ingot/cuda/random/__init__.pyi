"""`ingot.cuda.random`: seeds and states of the one generator that all devices share. All names are in `ingot.cuda`, too."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.cuda import get_rng_state as get_rng_state
from ingot.cuda import get_rng_state_all as get_rng_state_all
from ingot.cuda import initial_seed as initial_seed
from ingot.cuda import manual_seed as _manual_seed
from ingot.cuda import manual_seed as manual_seed
from ingot.cuda import seed as _seed
from ingot.cuda import seed as seed
from ingot.cuda import set_rng_state as set_rng_state
from ingot.cuda import set_rng_state_all as set_rng_state_all

manual_seed_all = _manual_seed
seed_all = _seed
