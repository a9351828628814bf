"""Checks of saved states: `load_state_dict` of optimizers, schedulers and scalers says which key is missing or wrong."""

from collections.abc import Mapping

from ...ir.errors import DTypeError, MissingKeyError, kind_of
from ...ir.suggestions import listed


def saved_state(owner, state, *keys: str) -> dict:
    """Return a copy of the state that `owner` loads; raise unless it is a dictionary with `keys`."""
    if not isinstance(state, Mapping):
        raise DTypeError(f"{_loader(owner)} takes a dict of state_dict(), got {kind_of(state)}")
    for key in keys:
        if key not in state:
            raise MissingKeyError(f"{_loader(owner)}: the state lacks {key!r}, it has {listed(state)}")
    return dict(state)


def saved_value(owner, state, key: str, *kinds: type):
    """Return the value of a key in a state that `saved_state` checked; raise unless it is of one of the kinds."""
    value = state[key]
    if not isinstance(value, kinds):
        raise DTypeError(f"{_loader(owner)} takes {' or '.join(k.__name__ for k in kinds)} as {key!r}, got {kind_of(value)}")
    return value


def _loader(owner) -> str:
    return f"{type(owner).__name__}.load_state_dict"
