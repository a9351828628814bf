"""`ingot.utils.flop_counter`: FLOPs of contractions by module."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from collections import Counter as _Counter
from collections import defaultdict as _defaultdict

class FlopCounterMode:
    """A context that counts the FLOPs of this thread, forward and backward, eager and compiled."""
    before: _t.Any
    depth: _b.int
    display: _b.bool
    flop_counts: _t.Any
    modules: _t.Any
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, mods: _t.Any = None, depth: _b.int | None = 2, display: _b.bool = True,
                 custom_mapping: _b.dict[_t.Any, _c.Callable[..., _t.Any]] | None = None,
                 skip_unsupported: _b.bool = False) -> None: ...
    def around_backward(self, through: _t.Any) -> _t.Any: ...
    def around_operator(self, op: _t.Any, run: _t.Any, args: _t.Any, kwargs: _t.Any) -> _t.Any:
        """Count an operator of users by its formula, or else the operators that it runs."""
    def begin(self, name: _t.Any, kind: _t.Any) -> _t.Any: ...
    def call(self, op: _t.Any, args: _t.Any, params: _t.Any) -> _t.Any: ...
    checks_values: _b.bool
    def close(self) -> None: ...
    def end(self, event: _t.Any) -> None: ...
    def get_flop_counts(self) -> _b.dict[_b.str, _b.dict[_b.str, _b.int]]:
        """Return the counts by module ("Global" for all), then by operator."""
    def get_table(self, depth: _b.int | None = None) -> _b.str:
        """Return the counts as a table of `depth` levels of modules."""
    def get_total_flops(self) -> _b.int:
        """Return the sum of all counts."""
    def get_unsupported_ops(self) -> _Counter:
        """Return nothing: operators without a formula consist of others, or contract nothing."""
    def met_only_now(self) -> None:
        """Hear of something that depends on more than shapes and dtypes, or must not happen twice (`Mode.only_now`)."""
    def observe(self, op: _t.Any, args: _t.Any, params: _t.Any) -> _t.Any: ...
    observes_rules: _b.bool
    only_watches: _b.bool
    def open(self) -> None: ...
    def ran(self, job: _t.Any, compiled: _t.Any) -> None:
        """Count the contractions of compiled code, if this thread runs it."""
    sees_whole_batches: _b.bool
    def unobserved(self, run: _t.Any, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Call `run` with the observer before this one active."""

def register_flop_formula(targets: _t.Any, get_raw: _b.bool = False) -> _t.Any:
    """Register the decorated function as the FLOP formula of an operator: one of the module `library`, a record or its
    name, or a list of them."""
