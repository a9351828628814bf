"""Random generators: the source of the keys of random operators."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Generator as Generator
from ingot import Generator as _Generator
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import get_rng_state as get_rng_state
from ingot import initial_seed as initial_seed
from ingot import manual_seed as manual_seed
from ingot import seed as seed
from ingot import set_rng_state as set_rng_state
import contextlib as _contextlib

default_generator: _Generator
def chosen(generator: _Generator | None) -> _Generator:
    """Return the generator of a random function: the default one for None."""
def draw_key(generator: _Generator | None = None, device: _device | _b.str | _b.int | None = None) -> _Tensor:
    """Return the next key of a generator (by default the default one), on the device that uses it."""
def draw_key_on_device_of(t: _Tensor, generator: _Generator | None = None) -> _Tensor:
    """Return the next key of a generator on the device of a tensor."""
def fork_rng(devices: _t.Any = None, enabled: _b.bool = True,
             device_type: _b.str = 'cuda') -> _contextlib._GeneratorContextManager[_t.Any]:
    """Restore the default generator's state after the block. `devices` and `device_type` are ignored: one generator draws
    for all devices."""
def key_at(place: _b.tuple[_b.int, _b.int]) -> _Tensor:
    """Return the key of a place in a stream."""
