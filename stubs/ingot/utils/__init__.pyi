"""`ingot.utils` and `ingot.testing`: benchmark, FLOP counter, hub, progress bars, weak references, comparison of
tensors."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.utils import benchmark as benchmark
from ingot.utils import checkpoint as checkpoint
from ingot.utils import collect_env as collect_env
from ingot.utils import cpp_extension as cpp_extension
from ingot.utils import data as data
from ingot.utils import deterministic as deterministic
from ingot.utils import dlpack as dlpack
from ingot.utils import flop_counter as flop_counter
from ingot.utils import gguf as gguf
from ingot.utils import hooks as hooks
from ingot.utils import hub as hub
from ingot.utils import model_zoo as model_zoo
from ingot.utils import module_tracker as module_tracker
from ingot.utils import tensorboard as tensorboard
from ingot.utils import weak as weak

def progress(iterable: _t.Any, description: _b.str = '', *, total: _t.Any = None, disable: _t.Any = None,
             refresh: _b.float = 0.1) -> _Progress:
    """Iterate over `iterable` behind a progress bar on standard error: count, rate, time left, and the numbers of
    `update(loss=loss)`."""
def swap_tensors(t1: _t.Any, t2: _t.Any) -> None:
    """Swap two tensors: class, memory, history, gradient and attributes. Every reference to one then sees the other, so
    neither may be a view, have views, or have weak references."""

class _Progress:
    """An iterable with a progress bar; `update(loss=...)` sets the numbers beside it."""
    description: _t.Any
    done: _b.int
    iterable: _t.Any
    numbers: _b.dict[_t.Any, _t.Any]
    refresh: _t.Any
    total: _t.Any
    visible: _t.Any
    def __init__(self, iterable: _t.Any, description: _t.Any, total: _t.Any, visible: _t.Any, refresh: _t.Any) -> None: ...
    def __iter__(self) -> _c.Iterator[_t.Any]: ...
    def __len__(self) -> _b.int: ...
    def text(self) -> _b.str: ...
    def update(self, **numbers: _t.Any) -> None:
        """Set numbers to show, by name: Python numbers or tensors of one element."""
