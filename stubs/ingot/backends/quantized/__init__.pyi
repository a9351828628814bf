"""`ingot.backends.quantized`: the engine of quantised layers. ingot has one, so the choice changes nothing."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

engine: _b.str
supported_engines: _b.list[_t.Any]
