"""The public module `library`: user operators, registered as in PyTorch; `ingot.ops.namespace.name` calls them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tag as Tag

class CustomOpDef:
    """A registered operator `ns::name`, called like the function it was made of."""
    tags: _b.list[_t.Any]
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __init__(self, namespace: _b.str, schema: _Schema) -> None: ...
    def compute(self, args: _t.Any, keywords: _t.Any) -> _t.Any:
        """Return the results, by the kernel or, in a trace, by a host step."""
    @_b.property
    def default(self) -> _t.Self: ...
    def impl_abstract(self, fn: _t.Any, /) -> _t.Any:
        """Register the function that returns results of the right shapes and dtypes; `opcheck` compares them with the
        kernel's."""
    def name(self) -> _b.str: ...
    def overloads(self) -> _b.list[_b.str]: ...
    def register_abstract(self, fn: _t.Any, /) -> _t.Any:
        """Register the function that returns results of the right shapes and dtypes; `opcheck` compares them with the
        kernel's."""
    def register_autocast(self, device_type: _t.Any, cast_inputs: _t.Any, /) -> None:
        """Cast floats among arguments to a dtype where autocast is on."""
    def register_autograd(self, backward: _t.Any, /, *, setup_context: _t.Any = None) -> None:
        """Register `backward(ctx, *grads)`, which returns gradients of arguments by position; `setup_context(ctx, inputs,
        output)` saves what it needs, and gets `keyword_only_inputs` if there are some."""
    def register_fake(self, fn: _t.Any, /) -> _t.Any:
        """Register the function that returns results of the right shapes and dtypes; `opcheck` compares them with the
        kernel's."""
    def register_kernel(self, device_types: _t.Any, func: _t.Any = None, /) -> _t.Any:
        """Register the kernel for these kinds of devices (a name, several, or None: all)."""
    def register_vmap(self, func: _t.Any = None, /) -> _t.Any:
        """Register `func(info, in_dims, *args)`, which returns (results, their dimensions) of whole batches, in place of sample
        by sample."""
    def run(self, args: _t.Any, keywords: _t.Any) -> _t.Any:
        """Return the results of the kernel for the arguments' device; None in place of arguments that it returns."""

class Library:
    """Schemas and functions of one namespace: `define("f(Tensor x) -> Tensor")`, then `impl("f", function, "CPU")`."""
    dispatch_key: _b.str
    kind: _t.Any
    ns: _t.Any
    def __init__(self, ns: _t.Any, kind: _t.Any, dispatch_key: _b.str = '') -> None: ...
    def define(self, schema: _t.Any, alias_analysis: _b.str = '', *, tags: _t.Any = ()) -> _t.Any:
        """Add an operator by its schema, and return its name. `alias_analysis` is ignored: the schema says what is written."""
    def impl(self, op_name: _t.Any, fn: _t.Any, dispatch_key: _b.str = '', *, with_keyset: _b.bool = False,
             allow_override: _b.bool = True) -> None:
        """Register the function of an operator for a dispatch key. `allow_override` is ignored: the last function counts."""

def custom_op(name: _t.Any, fn: _t.Any = None, /, *, mutates_args: _t.Any, device_types: _t.Any = None,
              schema: _t.Any = None, tags: _t.Any = None) -> _t.Any:
    """Register a function as the operator "namespace::name". `mutates_args` names the tensors that it writes ("unknown":
    all of them)."""
def define(qualname: _t.Any, schema: _t.Any, *, lib: _t.Any = None, tags: _t.Any = ()) -> None:
    """Define an operator by a schema, "(Tensor x) -> Tensor"; `impl` adds functions. With `lib` it goes when the library
    does."""
def fallthrough_kernel() -> _t.Any:
    """Do nothing: registered for a dispatch key that needs no work."""
def get_ctx() -> _FakeContext:
    """Return the context of the function for shapes that runs now."""
def impl(qualname: _t.Any, types: _t.Any, func: _t.Any = None, *, lib: _t.Any = None) -> _t.Any:
    """Register the function of an operator for kinds of devices, or for a dispatch key."""
def impl_abstract(qualname: _t.Any, func: _t.Any = None, *, lib: _t.Any = None) -> _t.Any:
    """Call `register_fake`, under its older name."""
def infer_schema(function: _t.Any, /, *, mutates_args: _t.Any, op_name: _b.str | None = None) -> _b.str:
    """Return the schema of an annotated function. `mutates_args` names what it writes, or is "unknown": then every tensor
    may be written."""
def opcheck(op: _t.Any, args: _t.Any, kwargs: _t.Any = None, *, test_utils: _t.Any = None,
            raise_exception: _b.bool = True, atol: _t.Any = None, rtol: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
    """Test an operator on sample arguments; return "SUCCESS" or the error for each test."""
def register_autocast(op: _t.Any, device_type: _t.Any, cast_inputs: _t.Any, /, *, lib: _t.Any = None) -> None:
    """Register the dtype that floats among an operator's arguments get under autocast. `lib` is ignored: registrations last
    as long as the process."""
def register_autograd(op: _t.Any, backward: _t.Any, /, *, setup_context: _t.Any = None, lib: _t.Any = None) -> None:
    """Register the rule for an operator's gradients. `lib` is ignored: registrations last as long as the process."""
def register_fake(op: _t.Any, func: _t.Any = None, /, *, lib: _t.Any = None, allow_override: _b.bool = True) -> _t.Any:
    """Register the function that returns results of an operator's shapes and dtypes. For a namespace without operators it
    is kept until these are registered, so packages work without their compiled extension."""
def register_kernel(op: _t.Any, device_types: _t.Any, func: _t.Any = None, /, *, lib: _t.Any = None) -> _t.Any:
    """Register the kernel of an operator for some kinds of devices. `lib` is ignored: registrations last as long as the
    process."""
def register_vmap(op: _t.Any, func: _t.Any = None, /, *, lib: _t.Any = None) -> _t.Any:
    """Register the rule for batches of an operator's arguments. `lib` is ignored: registrations last as long as the
    process."""
def triton_op(name: _t.Any, fn: _t.Any = None, /, *, mutates_args: _t.Any, schema: _t.Any = None) -> _t.Any:
    """Register a function that launches Triton kernels: an operator of CUDA tensors."""
def wrap_triton(triton_kernel: _t.Any, /) -> _t.Any:
    """Return the kernel: Triton launches it on ingot's devices and streams with or without a wrapper."""

class _Schema:
    """A schema. `returns` are the kinds of results, such as ("Tensor", "Tensor[]"), and `passed` the names of written
    arguments that they are (None for new tensors)."""
    arguments: _b.tuple[_Argument, ...]
    name: _b.str
    passed: _b.tuple[_b.str | None, ...]
    returns: _b.tuple[_b.str, ...]
    text: _b.str
    def __init__(self, name: _b.str, arguments: _b.tuple[_Argument, ...], returns: _b.tuple[_b.str, ...],
                 passed: _b.tuple[_b.str | None, ...], text: _b.str) -> None: ...
    def bind(self, args: _t.Any, kwargs: _t.Any) -> _b.tuple[_b.list[_t.Any], _b.dict[_t.Any, _t.Any]]:
        """Return arguments by position and by keyword, with defaults; raise if one is not of its kind."""
    @_b.property
    def written(self) -> _b.tuple[_b.str, ...]:
        """The names of arguments that the operator writes."""

class _FakeContext:
    """Context of a function for shapes, for sizes that depend on values."""
    def __init__(self) -> None: ...
    def create_unbacked_symint(self, *, min: _t.Any = 0, max: _t.Any = None) -> _b.int:
        """Return a size that is unknown before the operator ran."""
    def new_dynamic_size(self, *, min: _t.Any = 0, max: _t.Any = None) -> _b.int:
        """Return a size that is unknown before the operator ran."""

class _Argument:
    """One argument: its kind, whether it is a list, may be None, is written, and is passed by keyword."""
    default: _b.object
    keyword: _b.bool
    kind: _b.str
    many: _b.bool
    name: _b.str
    optional: _b.bool
    written: _b.str | None
    def __init__(self, name: _b.str, kind: _b.str, many: _b.bool, optional: _b.bool, written: _b.str | None,
                 keyword: _b.bool, default: _b.object) -> None: ...
    def accepts(self, value: _t.Any) -> _b.bool:
        """Return whether the kind allows a value; only tensors are distinguished from everything else."""
