"""`python -m ingot.distributed.launch`: `distributed.run` that also passes `--local-rank` to programs."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

def main(args: _t.Any = None) -> _b.int:
    """Run the command."""
