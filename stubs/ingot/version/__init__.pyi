"""`ingot.version`: the version, and None for toolkits. CUDA is used through its driver, so no toolkit is compiled in."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

__version__: _b.str
cuda: _t.Any
debug: _b.bool
git_version: _t.Any
hip: _t.Any
xpu: _t.Any
