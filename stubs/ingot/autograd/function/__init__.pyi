"""User-defined operations: `Function` and its context, with forward, backward and jvp."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot.autograd import Function as Function
from ingot.autograd import Function as _Function
from ingot.autograd import Variable as Variable
from ingot.utils.hooks import RemovableHandle as _RemovableHandle

class Along(_Function):
    """First half of a derivative along a direction, through a Function with jvp. Its results are zeros that nothing reads.
    The second half, their derivatives by the incoming gradients, is jvp of the arguments' directions."""
    @_b.staticmethod
    def backward(ctx: _t.Any, *directions: _t.Any) -> _b.tuple[_t.Any, ...]: ...
    @_b.staticmethod
    def direction(ctx: _t.Any, aval: _t.Any, direction: _t.Any) -> _t.Any:
        """Return the direction of an argument; None, or zeros, if derivatives do not follow it."""
    @_b.staticmethod
    def forward(ctx: _t.Any, node: _t.Any, *grads: _t.Any) -> _Tensor: ...

class FunctionCtx:
    """Context of a Function. Forward may set any attribute; tensors go through `save_for_backward`."""
    needs_input_grad: _b.tuple[_t.Any, ...]
    def keeps_all(self) -> None:
        """End forward: tensors for jvp follow those for backward."""
    def mark_dirty(self, *tensors: _t.Any) -> None:
        """Declare that forward wrote these inputs in place; they must be returned."""
    def mark_non_differentiable(self, *tensors: _t.Any) -> None:
        """Declare that these outputs carry no gradient."""
    @_b.property
    def metadata(self) -> _b.dict[_t.Any, _t.Any]:
        """Metadata that others store with the node."""
    def save_for_backward(self, *tensors: _t.Any) -> None:
        """Save inputs or outputs (or None) for backward, guarded against overwriting; sparse ones, too."""
    def save_for_forward(self, *tensors: _t.Any) -> None:
        """Save inputs or outputs for jvp. Without a call jvp reads those of save_for_backward."""
    @_b.property
    def saved_tensors(self) -> _b.tuple[_t.Any, ...]:
        """Tensors of save_for_backward, with their history."""
    def set_materialize_grads(self, value: _b.bool) -> None:
        """Set whether backward gets zeros (the default) or None for outputs without a gradient."""

class FunctionNode:
    """Node of a Function's results. Attributes of the ctx are visible on it."""
    cls: _t.Any
    ctx: _t.Any
    edges: _t.Any
    expand: _t.Any
    guards: _t.Any
    inexact_outs: _t.Any
    inputs: _t.Any
    line: _b.tuple[_t.Any, ...]
    looks_inside: _t.Any
    makes: _b.dict[_t.Any, _t.Any]
    number: _t.Any
    op: _t.Any
    outs: _t.Any
    params: _t.Any
    post_hooks: _t.Any
    pre_hooks: _t.Any
    run: _t.Any
    saved: _t.Any
    sparse: _b.dict[_t.Any, _t.Any]
    traced: _t.Any
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __init__(self, cls: _t.Any, ctx: _t.Any, edges: _t.Any, inputs: _t.Any) -> None: ...
    def along(self, grads: _t.Any) -> _b.list[_t.Any]:
        """Return the gradients of the arguments in the first half of a derivative along a direction."""
    def apply(self, g: _t.Any, pending: _t.Any) -> _t.Any:
        """Return all arguments' gradients on plain arrays; a sum may stand for two to one edge with nothing else `pending`."""
    def attributes(self) -> _b.dict[_t.Any, _t.Any]:
        """Return what the user has stored in ctx."""
    def check(self, storage: _t.Any, version: _t.Any) -> None:
        """Raise if a saved array was overwritten; renew what was saved of leaves that have other data now."""
    def compiled(self, g: _t.Any, values: _t.Any, pending: _t.Any, far: _t.Any) -> _t.Any:
        """Return the gradients of all rules by one compiled graph; None if there is none, or small calls are rare."""
    def goals(self, pending: _t.Any) -> _b.tuple[_t.Any, ...]:
        """Return, by argument, the first one whose gradient goes to the same edge and may be added; None if it needs none."""
    @_b.property
    def is_used_up(self) -> _b.bool: ...
    def joint(self, g: _t.Any, values: _t.Any, needs: _t.Any) -> _t.Any:
        """Return the gradients of a joint rule, by one compiled graph where such calls are frequent or large."""
    @_b.property
    def label(self) -> _t.Any: ...
    def label_at(self, index: _t.Any) -> _b.str:
        """Return the name to print for one of the results. `index` is ignored: an operator has one name."""
    @_b.staticmethod
    def like(cls: _t.Any, edges: _t.Any, inputs: _t.Any, outs: _t.Any, attributes: _t.Any, saved: _t.Any) -> FunctionNode:
        """Return a node for a class of Functions. `saved` has for each saved tensor (array, edge, number of the result that it
        is, (storage, version)), or None."""
    @_b.property
    def metadata(self) -> _b.dict[_t.Any, _t.Any]: ...
    def name(self) -> _b.str: ...
    @_b.property
    def next_functions(self) -> _b.tuple[_t.Any, ...]:
        """The edges as (node, output index) pairs."""
    def pull(self, g: _t.Any, values: _t.Any) -> _t.Any:
        """Run the gradient rules on `values` (the output, then the arguments)."""
    def register_hook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(grad_inputs, grad_outputs) after this node ran; a result replaces grad_inputs."""
    def register_prehook(self, hook: _t.Any) -> _RemovableHandle:
        """Call hook(grad_outputs) before this node runs; a result replaces grad_outputs."""
    def release(self) -> None: ...
    @_b.property
    def saved_memory(self) -> _b.list[_t.Any]: ...
    def state(self) -> _b.tuple[_t.Any, ...] | None:
        """Return (attributes of ctx, its saved tensors) for a node like this one; None if it holds more than these."""
    def values(self) -> _b.tuple[_t.Any, ...]:
        """Return what the rules read; raise if it is gone or was overwritten."""

class InplaceFunction(_Function):
    """Function with a flag for writing over its input. `inplace` is kept for subclasses, which read it."""
    inplace: _b.bool
    def __init__(self, inplace: _b.bool = False) -> None: ...

class SavedParts:
    """A composite tensor saved as its parts."""
    make: _t.Any
    parts: _t.Any
    def __init__(self, parts: _t.Any, make: _t.Any) -> None: ...
    def unpack(self, node: _t.Any, named: _t.Any) -> _t.Any: ...

class SavedTensor:
    """A tensor saved by a Function: memory, version, and the edge of its gradient."""
    array: _t.Any
    edge: _t.Any
    index: _t.Any
    packed: _t.Any
    storage: _t.Any
    traced: _t.Any
    unpack_hook: _t.Any
    version: _t.Any
    def __init__(self, t: _Tensor, edge: _t.Any, index: _t.Any) -> None: ...
    def follow(self, named: _t.Any) -> None:
        """Switch to the current memory of a leaf whose `.data` was set since."""
    @_b.staticmethod
    def over(array: _t.Any, edge: _t.Any, index: _t.Any, guard: _t.Any) -> SavedTensor:
        """Return an array as a saved tensor; `guard` is (storage, version), or None for memory that nothing else sees."""
    def unpack(self, node: _t.Any, named: _t.Any) -> _Tensor: ...

def alias(array: _t.Any, storage: _t.Any) -> _Tensor:
    """Return a new tensor over the same memory."""
def backward_of(cls: _t.Any) -> _t.Any:
    """Return the backward of a Function: `backward`, `vjp`, or the transpose of its jvp."""
def has_jvp(cls: _t.Any) -> _b.bool:
    """Return whether a Function has a jvp."""
def keep(t: _t.Any, saved_as: _t.Any, inputs: _t.Any, carried: _t.Any) -> _t.Any:
    """Return the saved form of a tensor: with the history of an argument, or the number of a result. `inputs` maps ids to
    histories, `saved_as` ids to numbers; `carried` are the results as returned to the user."""
def moved_along(cls: _t.Any, ctx: _t.Any, directions: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Return the tangents of a Function's results by its jvp."""
def once_differentiable(fn: _t.Any) -> _t.Any:
    """Mark a backward that cannot be differentiated again."""
def run_forward(cls: _t.Any, ctx: _t.Any, args: _t.Any, separate: _t.Any) -> _t.Any:
    """Run a Function's forward without a tape, and fill its ctx for backward."""
