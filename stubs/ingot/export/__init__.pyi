"""Return the callable program, which takes the arguments of the exported module and does not need its code."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.export import dynamic_shapes as dynamic_shapes
from ingot.export import graph_signature as graph_signature
from ingot.fx import GraphModule as _GraphModule

class AdditionalInputs:
    """`dynamic_shapes` inferred from further arguments: sizes that differ in any of them are dynamic."""
    examples: _b.list[_t.Any]
    def __init__(self) -> None: ...
    def add(self, args: _b.tuple[_t.Any, ...], kwargs: _b.dict[_t.Any, _t.Any] | None = None) -> None: ...
    def dynamic_shapes(self, m: _t.Any, args: _b.tuple[_t.Any, ...],
                       kwargs: _b.dict[_t.Any, _t.Any] | None = None) -> _b.dict[_t.Any, _t.Any]:
        """Return the inferred declarations for the arguments of a module or function, by name."""
    def of(self, bound: _b.dict[_t.Any, _t.Any], others: _b.list[_t.Any]) -> _b.dict[_t.Any, _t.Any]: ...
    def verify(self, ep: _t.Any) -> None:
        """Run a program on all of them; raise if it does not take one."""

class CustomDecompTable(_b.dict[_b.str, _t.Any]):
    """{composite operator, as nodes call it: its body}. An operator that is taken out is not decomposed."""
    def __contains__(self, key: _t.Any) -> _b.bool: ...
    def __delitem__(self, key: _t.Any) -> None: ...
    def __getitem__(self, key: _t.Any) -> _t.Any: ...
    def __init__(self) -> None: ...
    def copy(self) -> CustomDecompTable: ...
    def materialize(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the table itself: all operators are known."""
    def pop(self, key: _t.Any, *default: _t.Any) -> _t.Any: ...

class Dim:
    """A dynamic size, equal wherever it has this name. `2 * dim + 1` is a size derived from it."""
    extent: _t.Any
    max: _b.int
    min: _b.int
    name: _b.str
    root: _t.Any
    @_b.staticmethod
    def AUTO(min: _b.int | None = None, max: _b.int | None = None) -> _Hint:
        """Size whose freedom the export determines: `Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`."""
    @_b.staticmethod
    def DYNAMIC(min: _b.int | None = None, max: _b.int | None = None) -> _Hint:
        """Size whose freedom the export determines: `Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`."""
    @_b.staticmethod
    def STATIC(min: _b.int | None = None, max: _b.int | None = None) -> _Hint:
        """Size whose freedom the export determines: `Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`."""
    def __add__(self, other: _t.Any) -> Dim: ...
    def __init__(self, name: _b.str, *, min: _b.int | None = None, max: _b.int | None = None) -> None: ...
    def __mul__(self, other: _t.Any) -> Dim: ...
    @_b.property
    def __name__(self) -> _b.str: ...
    def __radd__(self, other: _t.Any) -> Dim: ...
    def __rmul__(self, other: _t.Any) -> Dim: ...
    def __rsub__(self, other: _t.Any) -> Dim: ...
    def __sub__(self, other: _t.Any) -> Dim: ...

class ExportBackwardSignature:
    """Gradients of a program with a backward. Programs have none, so only user code makes this."""
    gradients_to_parameters: _b.dict[_t.Any, _t.Any]
    gradients_to_user_inputs: _b.dict[_t.Any, _t.Any]
    loss_output: _b.str
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, gradients_to_parameters: _b.dict[_t.Any, _t.Any],
                 gradients_to_user_inputs: _b.dict[_t.Any, _t.Any], loss_output: _b.str) -> None: ...

class ExportGraphSignature:
    """Inputs of a graph (weights, written buffers, arguments) and outputs (next values of these buffers, results)."""
    dims: _b.tuple[_t.Any, ...]
    input_specs: _b.tuple[_t.Any, ...]
    output_specs: _b.tuple[_t.Any, ...]
    signature: _t.Any
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, input_specs: _b.tuple[_t.Any, ...], output_specs: _b.tuple[_t.Any, ...],
                 dims: _b.tuple[_t.Any, ...] = (), signature: _t.Any = None) -> None: ...
    @_b.property
    def backward_signature(self) -> None:
        """None, because programs have no gradients."""
    @_b.property
    def buffers(self) -> _t.Any:
        """Names of buffers."""
    @_b.property
    def buffers_to_mutate(self) -> _t.Any:
        """{name of a result of the graph: name of the buffer that gets it}"""
    @_b.property
    def inputs_to_buffers(self) -> _t.Any:
        """{graph input: buffer}"""
    @_b.property
    def inputs_to_lifted_tensor_constants(self) -> _t.Any:
        """{graph input: tensor from elsewhere}"""
    @_b.property
    def inputs_to_parameters(self) -> _t.Any:
        """{graph input: parameter}"""
    @_b.property
    def lifted_tensor_constants(self) -> _t.Any:
        """Names of tensors that the function took from elsewhere."""
    @_b.property
    def non_persistent_buffers(self) -> _t.Any:
        """Names of buffers that are in no state_dict."""
    @_b.classmethod
    def of(cls, model: _t.Any) -> ExportGraphSignature: ...
    @_b.property
    def parameters(self) -> _t.Any:
        """Names of parameters."""
    @_b.property
    def user_inputs(self) -> _t.Any:
        """Names of tensors in the arguments in order, and values of arguments that are no tensors."""
    @_b.property
    def user_inputs_to_mutate(self) -> _b.dict[_t.Any, _t.Any]:
        """Written arguments: none, because such functions are refused."""
    @_b.property
    def user_outputs(self) -> _t.Any:
        """Names of tensors in the results in order, and values of results that are no tensors."""

class ExportedProgram:
    """An exported program. `module()` runs it and writes to the module's buffers; weights have the module's names."""
    example_inputs: _t.Any
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __init__(self, model: _t.Any, example_inputs: _t.Any = None, decomposed: _t.Any = None) -> None: ...
    def buffers(self) -> _t.Any: ...
    @_b.property
    def call_spec(self) -> _t.Any:
        """The structures of arguments and results, as treespecs: `in_spec` and `out_spec`."""
    @_b.property
    def constants(self) -> _b.dict[_t.Any, _t.Any]:
        """All other tensors that the program reads, by name."""
    @_b.property
    def graph(self) -> _t.Any: ...
    @_b.property
    def graph_module(self) -> _t.Any:
        """The recorded graph, before any pass, as a `fx.GraphModule`: a function of the tensors of `graph_signature`, in
        order."""
    @_b.property
    def graph_signature(self) -> ExportGraphSignature:
        """Inputs and outputs of the graph: parameters, buffers, arguments, results."""
    def module(self) -> _t.Any:
        """Return the callable program, which takes the arguments of the exported module and does not need its code."""
    @_b.property
    def module_call_graph(self) -> _b.list[_t.Any]:
        """The modules that were called, each once, in order, the whole program first."""
    def named_buffers(self) -> _t.Any: ...
    def named_parameters(self) -> _t.Any: ...
    def named_weights(self) -> _b.tuple[_t.Any, ...]: ...
    def parameters(self) -> _t.Any: ...
    def run_decompositions(self, decomp_table: _t.Any = None) -> ExportedProgram:
        """Return the same program with the remaining composite operators (such as batch_norm) decomposed in its graph."""
    @_b.property
    def state_dict(self) -> _b.dict[_t.Any, _t.Any]:
        """The parameters and buffers of the module by name, without non-persistent buffers."""

class FlatArgsAdapter:
    """Base class of adapters for arguments whose structure differs from the export's."""
    def adapt(self, target_spec: _TreeSpec, input_spec: _TreeSpec, input_args: _b.list[_t.Any],
              metadata: _b.dict[_t.Any, _t.Any] | None = None, obj: _t.Any = None) -> _b.list[_t.Any]:
        """Return the leaves of (args, kwargs) that the program takes, made from the given ones."""

class ModuleCallEntry:
    """A module that was called, by its path, with its signature if that was preserved."""
    fqn: _b.str
    signature: ModuleCallSignature | None
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, fqn: _b.str, signature: ModuleCallSignature | None = None) -> None: ...

class ModuleCallSignature:
    """Arguments and results of a module: names of tensors in the graph, and the structures around them."""
    forward_arg_names: _b.list[_t.Any] | None
    in_spec: _TreeSpec
    inputs: _b.list[_t.Any]
    out_spec: _TreeSpec
    outputs: _b.list[_t.Any]
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, inputs: _b.list[_t.Any], outputs: _b.list[_t.Any], in_spec: _TreeSpec, out_spec: _TreeSpec,
                 forward_arg_names: _b.list[_t.Any] | None = None) -> None: ...
    def replace_all_uses_with(self, original_node: _t.Any, new_node: _t.Any) -> None:
        """Replace a node by another one, under the new name."""

class ShapesCollection:
    """`dynamic_shapes` declared on the tensors themselves: ``shapes[x] = {0: Dim("batch")}``."""
    def __getitem__(self, t: _t.Any) -> _t.Any: ...
    def __init__(self) -> None: ...
    def __len__(self) -> _b.int: ...
    def __setitem__(self, t: _t.Any, shape: _t.Any) -> None: ...
    def dynamic_shapes(self, m: _t.Any, args: _b.tuple[_t.Any, ...],
                       kwargs: _b.dict[_t.Any, _t.Any] | None = None) -> _b.dict[_t.Any, _t.Any]:
        """Return the declarations for the arguments of a module or function, by name."""
    def of(self, bound: _b.dict[_t.Any, _t.Any]) -> _b.dict[_t.Any, _t.Any]: ...

class UnflattenedModule(_GraphModule):
    """A program as modules. A module with a preserved signature may be replaced by another of the same signature."""
    arguments: _b.dict[_t.Any, _t.Any]
    path: _b.str
    positions: _b.tuple[_t.Any, ...]
    results: _b.dict[_t.Any, _t.Any]
    tensors_of: _t.Any
    @_b.property
    def graph_module(self) -> _GraphModule: ...
    def recompile(self) -> _t.Any:
        """Compile the function of the graph; calls pass through the structures."""
    def run_structured(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...

def default_decompositions() -> CustomDecompTable:
    """Return the table of all composite operators."""
def dims(*names: _b.str, min: _b.int | None = None, max: _b.int | None = None) -> _b.tuple[_t.Any, ...]:
    """Return several dynamic sizes."""
def draft_export(mod: _t.Any, args: _t.Any, kwargs: _t.Any = None, *, dynamic_shapes: _t.Any = None,
                 preserve_module_call_signature: _t.Any = (), strict: _b.bool = False, **others: _t.Any) -> ExportedProgram:
    """Export a function that may not be exportable yet; `program._report` lists all obstacles."""
def export(mod: _t.Any, args: _t.Any, kwargs: _t.Any = None, *, dynamic_shapes: _t.Any = None,
           strict: _b.bool = False, preserve_module_call_signature: _t.Any = (), **others: _t.Any) -> ExportedProgram:
    """Return the program that a module (or function) runs for these arguments."""
def load(f: _t.Any) -> ExportedProgram:
    """Return the program in a file (a path, or an open file) that `save` or `jit.export` wrote."""
def register_dataclass(cls: _t.Any, *, field_names: _t.Any = None, drop_field_names: _t.Any = None,
                       serialized_type_name: _t.Any = None) -> None:
    """Register a dataclass as nodes whose children are its fields. `serialized_type_name` is ignored: structures are not
    written to files."""
def save(ep: ExportedProgram, f: _t.Any) -> None:
    """Write a program to a path or an open file, with the current values of its buffers."""
def unflatten(module: _t.Any, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """Return a program as a hierarchy of modules at their original paths."""

class _Hint:
    """Size whose freedom the export determines: `Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`."""
    kind: _b.str
    max: _b.int
    min: _b.int
    def __call__(self, min: _b.int | None = None, max: _b.int | None = None) -> _Hint: ...
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, kind: _b.str, min: _b.int | None = None, max: _b.int | None = None) -> None: ...

class _TreeSpec:
    """The structure of a tree."""
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, type: _t.Any, context: _t.Any, children: _t.Any) -> None: ...
    def child(self, index: _t.Any) -> _TreeSpec: ...
    def children(self) -> _b.list[_t.Any]: ...
    @_b.property
    def context(self) -> _t.Any: ...
    def flatten_up_to(self, tree: _t.Any) -> _b.list[_t.Any]:
        """Return the subtrees of a tree at the places of this structure's leaves."""
    def is_leaf(self) -> _b.bool:
        """Return whether this is the structure of a leaf."""
    @_b.property
    def num_children(self) -> _t.Any: ...
    @_b.property
    def num_leaves(self) -> _t.Any: ...
    @_b.property
    def num_nodes(self) -> _t.Any: ...
    @_b.property
    def type(self) -> _t.Any: ...
    def unflatten(self, leaves: _c.Iterable[_t.Any]) -> _t.Any:
        """Return the tree with these leaves."""
