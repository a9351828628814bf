"""Random generators: the source of the keys of random operators.

A generator is a seed and a counter. Every random operator draws one key, (seed, counter), and the counter goes up by one; the
numbers are a function of the key alone (ir/reference/philox.py). So one seed gives the same numbers at every run, with any
number of threads, eager or traced.
"""

import secrets
import struct
from functools import partial
from itertools import islice
from operator import length_hint

import numpy as np

from ...ir.blocks import block
from ...ir.errors import ArgumentError, DTypeError, kind_of
from ..state.mode import Defaults, tls
from .device import CPU, as_device
from .device_array import DeviceArray
from .placement import key_on, on_device_of, put
from .tensor import Tensor, wrap

_WORD = 1 << 64
_MOST_KEYS = 1 << 62      # of one seed
_UINT64, _pack = np.dtype(np.uint64), struct.Struct("=2Q").pack_into


class Generator:
    """A stream of random keys; threads may share it.

    `_stream` is (seed, end of the count, iterator over the rest of the count). One call in C draws from the iterator, so
    threads need no lock.
    """

    def __init__(self, device="cpu"):
        self.device = as_device(device)
        self.put((secrets.randbits(63), 0))

    def manual_seed(self, seed: int):
        """Start the stream of `seed`; negative seeds count from 2**64 down."""
        seed = int(seed)
        if not -(_WORD >> 1) <= seed < _WORD:
            raise ArgumentError(f"a seed is an integer from -2**63 to 2**64 - 1, got {seed}")
        if tls.m.recorder is not None:
            tls.m.recorder.random.seeds(self, seed % _WORD)
        self.put((seed % _WORD, 0))
        return self

    def seed(self) -> int:
        """Seed from the operating system's randomness, and return the seed."""
        _refuse("it seeds a random generator from the operating system, once and for all calls")
        seed = secrets.randbits(63)
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed of the stream."""
        _refuse("it asks for the seed of a random generator")
        return self._stream[0]

    @property
    def place(self) -> tuple[int, int]:
        """The seed, and the count of keys drawn under it."""
        seed, end, left = self._stream
        return seed, end - length_hint(left)

    def put(self, place: tuple[int, int]):
        """Move to a place, without telling recorders."""
        seed, call = place
        self._stream = seed, call + _MOST_KEYS, iter(range(call, call + _MOST_KEYS))

    def reserve(self, count: int) -> tuple[int, int]:
        """Return the place of the next of `count` keys, all of which count as drawn; recorders are not told."""
        place, agreed = self._take(count), tls.m.agreed_keys
        return place if agreed is None else agreed.place(place)

    def _take(self, count: int) -> tuple[int, int]:
        seed, end, left = self._stream
        drawn = [next(left)] if count == 1 else [*islice(left, count)] or [end - length_hint(left)]
        return seed, drawn[0]

    def key(self) -> Tensor:
        """Return the next key, a u64[2] tensor (seed, counter). A recorder is told, so each run of a trace draws anew."""
        m = tls.m
        if m.special:
            m.only_now()
        key = key_at(self._take(1))
        if m.recorder is not None:
            m.recorder.random.drew(self, key)
        return key if m.agreed_keys is None else m.agreed_keys.key(key)

    def get_state(self) -> Tensor:
        """Return seed and counter as a tensor of 16 bytes."""
        state = wrap(np.array(self.place, "<u8").view(np.uint8))
        if tls.m.recorder is not None:
            tls.m.recorder.random.took_state(self, state)
        return state

    def set_state(self, state: Tensor):
        """Move to the place of a `get_state`."""
        if not isinstance(state, Tensor) or state._a.dtype != np.uint8 or state._a.shape != (16,):
            raise DTypeError("a generator's state is the uint8 tensor of 16 elements that get_state() returns")
        if tls.m.recorder is not None:
            tls.m.recorder.random.puts_state(self, state)
        seed, call = np.ascontiguousarray(state._a).view("<u8")
        self.put((int(seed), int(call)))
        return self

    def graphsafe_get_state(self):
        """Return a generator at the same place, for `graphsafe_set_state`."""
        return self.clone_state()

    def graphsafe_set_state(self, state):
        """Move to the place of another generator."""
        if not isinstance(state, Generator):
            raise DTypeError(f"graphsafe_set_state takes a generator, got {type(state).__name__}; set_state takes tensors")
        return self.set_state(state.get_state())

    def get_offset(self) -> int:
        """Return the count of keys drawn since the seed was set: one per operator, so counts differ from PyTorch's."""
        _refuse("it asks how far a random generator is")
        return self.place[1]

    def set_offset(self, offset: int):
        """Move to the place of a get_offset() under the same seed."""
        if not 0 <= int(offset) < _WORD:
            raise ArgumentError(f"set_offset takes what get_offset() gave, from 0 to 2**64 - 1, got {offset}")
        state = wrap(np.array((self._stream[0], int(offset)), "<u8").view(np.uint8))
        _refuse("it puts a random generator elsewhere")
        self.set_state(state)

    def clone_state(self):
        """Return a new generator at the same place."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self):
        return _restored, (self.device, *self.place)

    def __deepcopy__(self, memo):
        return self.clone_state()

    def __repr__(self):
        return "<ingot.Generator seed={} calls={}>".format(*self.place)


def key_at(place: tuple[int, int]) -> Tensor:
    """Return the key of a place in a stream."""
    key = np.empty(2, _UINT64)
    _pack(key, 0, *place)
    return wrap(key)


def _restored(device, seed, call):
    generator = Generator(device)
    generator.put((seed, call))
    return generator


def _refuse(what):
    """Tell a recorder that a function does what each call would do anew."""
    if tls.m.recorder is not None:
        tls.m.recorder.refuse(what, "do so outside of the function")


default_generator = Generator()


def chosen(generator: Generator | None) -> Generator:
    """Return the generator of a random function: the default one for None."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise DTypeError(f"generator must be an ingot.Generator, got {kind_of(generator)}; "
                         "ingot.Generator().manual_seed(n) makes one")
    return generator


def draw_key(generator: Generator | None = None, device=None) -> Tensor:
    """Return the next key of a generator (by default the default one), on the device that uses it."""
    generator = chosen(generator)
    if device is CPU or (device is None and Defaults.device == "cpu"):
        return generator.key()
    drawn = None if tls.m.recorder is not None or tls.m.batched is not None else key_on(generator, device)
    return put(generator.key(), device, wait=False) if drawn is None else drawn


def draw_key_on_device_of(t: Tensor, generator: Generator | None = None) -> Tensor:
    """Return the next key of a generator on the device of a tensor."""
    m, generator = tls.m, chosen(generator)
    if t._a.__class__ is DeviceArray and m.recorder is None and m.batched is None:
        drawn = t._a.backend.key(generator, t._a.device)
        if drawn is not None:
            return wrap(drawn)
    return on_device_of(generator.key(), t, wait=False)


def manual_seed(seed: int) -> Generator:
    """Seed the default generator and return it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system, and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the default generator's state."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator's state."""
    default_generator.set_state(new_state)


@block
def fork_rng(devices=None, enabled: bool = True, device_type: str = "cuda"):
    """Restore the default generator's state after the block. `devices` and `device_type` are ignored: one generator draws for
    all devices."""
    state = default_generator.get_state()
    return tuple, partial(default_generator.set_state, state) if enabled else tuple
