"""`ingot.distributed.algorithms.join`: ranks with different numbers of batches."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.distributed.algorithms import ddp_comm_hooks as ddp_comm_hooks
from ingot.distributed.algorithms import join as join
from ingot.distributed.algorithms import model_averaging as model_averaging

class Join:
    """Context in which ranks may end early. Each step of the joinables is announced. A rank that leaves takes part in the
    steps of others until all have left."""
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, kind: _t.Any, error: _t.Any, trace: _t.Any) -> None: ...
    def __init__(self, joinables: _t.Any, enable: _b.bool = True, throw_on_early_termination: _b.bool = False,
                 **kwargs: _t.Any) -> None: ...
    @_b.staticmethod
    def notify_join_context(joinable: _t.Any) -> _t.Any:
        """Announce a step of the context's first joinable. Return the number of ranks with batches of their own, or None
        without an announcement."""

class JoinHook:
    """Actions of a rank without batches while others continue."""
    def main_hook(self) -> None:
        """Take part in the communication of one step of the others."""
    def post_hook(self, is_last_joiner: _b.bool) -> None:
        """Run once all have ended; the last joiners went through all steps."""

class Joinable:
    """Base of modules and optimizers that communicate in each step. They define `join_hook`, and call
    `Join.notify_join_context(self)` before they communicate."""
    process_group: _t.Any
    @_b.property
    def join_device(self) -> _t.Any:
        """Device on which ranks count each other."""
    def join_hook(self, **kwargs: _t.Any) -> JoinHook:
        """Return the hook of a rank after its last batch."""
    @_b.property
    def join_process_group(self) -> _t.Any:
        """Group of the ranks."""
