"""`python -m ingot.distributed.run --nproc-per-node=4 train.py ...`: one program as several processes with ranks."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from argparse import Namespace as _Namespace

def main(args: _t.Any = None, **defaults: _t.Any) -> _b.int:
    """Run the command."""
def parse_args(args: _t.Any = None, **defaults: _t.Any) -> _Namespace:
    """Parse the command line."""
def run(args: _t.Any) -> _b.int:
    """Run the command line; return the exit code: 0, or 1 if a process has failed."""
