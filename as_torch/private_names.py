"""PyTorch's private names: the module or the object of ingot behind each.

`import ingot.as_torch` puts them in place. `MODULES` fills `paths.PRIVATE`. `NAMES` are added to modules of
ingot when these are loaded, and `MEMBERS` to classes. The core knows none of them.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from typing import Any, NamedTuple

from .. import paths
from ..runtime.api.tensor_classes.typed_storage import UntypedStorage
from ..runtime.core.device_array import shown_address
from ..runtime.core.node import Node
from ..runtime.core.tensor import Tensor
from .private_functions import saved_value

MODULES = {
    "_C": "as_torch.c_module",
    "_C._functorch": "as_torch.functorch_levels",
    "_custom_ops": "jit.custom_ops",
    "_dynamo": "as_torch.dynamo",
    "_dynamo._trace_wrapped_higher_order_op": "as_torch.dynamo",
    "_dynamo.config": "as_torch.compiler_config",
    "_dynamo.eval_frame": "as_torch.dynamo",
    "_dynamo.utils": "as_torch.dynamo",
    "_functorch": "runtime.func",
    "_functorch.make_functional": "as_torch.make_functional",
    "_functorch.vmap": "runtime.func.vmap",
    "_guards": "as_torch.fake_tensors",
    "_higher_order_ops": "as_torch.higher_order_ops",
    "_inductor": "as_torch.dynamo",
    "_inductor.config": "as_torch.compiler_config",
    "_prims_common": "as_torch.private_functions",
    "_subclasses": "as_torch.fake_tensors",
    "_subclasses.fake_tensor": "as_torch.fake_tensors",
    "_tensor": "runtime.core.tensor",
    "_tensor_str": "as_torch.private_functions",
    "_utils": "as_torch.private_functions",
    "distributed._composable": "runtime.distributed.fsdp.composable_fsdp",
    "distributed._composable.fsdp": "runtime.distributed.fsdp",
    "distributed._functional_collectives": "runtime.distributed.collectives.functional_collectives",
    "distributed._tensor": "runtime.distributed.tensor",
    "distributed._tensor.experimental": "runtime.distributed.tensor",
    "distributed.algorithms._checkpoint": "runtime.distributed.training.uneven_inputs",
    "distributed.algorithms._checkpoint.checkpoint_wrapper": "runtime.distributed.fsdp.activation_wrappers",
    "distributed.checkpoint._consolidate_hf_safetensors": "runtime.distributed.checkpoint.unsupported_formats",
    "distributed.tensor._utils": "runtime.distributed.tensor",
    "export._swap": "jit.exporting.program.unflatten",
    "fx._symbolic_trace": "as_torch.symbolic_trace",
    "masked._ops": "runtime.masked.masked_reductions",
    "nn.parallel._functions": "as_torch.comm_functions",
    "nn.utils._named_member_accessor": "as_torch.member_accessor",
    "nn.utils._per_sample_grad": "as_torch.per_sample_grad",
    "optim._functional": "as_torch.optimizer_support",
    "utils._contextlib": "as_torch.private_functions",
    "utils._foreach_utils": "as_torch.private_functions",
    "utils._python_dispatch": "as_torch.torch_dispatch_mode",
    "utils._pytree": "runtime.pytree.pytree",
    "utils.data._utils": "runtime.data",
    "utils.data._utils.pin_memory": "runtime.data.pin_memory",
    "utils.data._utils.worker": "runtime.data.worker_loop",
}


class Alias(NamedTuple):
    """Another object: "module", or "module:name", below ingot. It is imported at the first access."""

    target: str


class NoOp(NamedTuple):
    """A function that takes any arguments and returns None, with the reason why ingot has nothing to do."""

    reason: str


_HERE = "as_torch."
_NO_BREAKS = NoOp("a recording goes on through whatever Python does")
_LATER = NoOp("a size becomes a symbol when a second one comes, and is a number until then")

# By the path of a module, public or its file's: a value is an `Alias`, a `NoOp`, or the constant itself.
NAMES: Mapping[str, Mapping[str, Any]] = {
    "_C": {"_log_api_usage_once": NoOp("no usage is logged")},
    "_dynamo": {
        "graph_break": _NO_BREAKS, "mark_dynamic": _LATER, "mark_static": _LATER, "mark_unbacked": _LATER,
        "mark_static_address": NoOp("a captured tensor keeps its memory, and is guarded"),
        "maybe_mark_dynamic": _LATER,
    },
    "compiler": {"is_dynamo_compiling": Alias("compiler:is_compiling")},     # public, but named after a private module
    "autograd": {"_profiler_enabled": Alias(_HERE + "private_functions:_profiler_enabled")},
    "export._swap": {"_swap_modules": Alias("export._swap:swap_modules")},
    "jit": {
        "_get_trace_graph": Alias(_HERE + "call_graph:_get_trace_graph"),
        **dict.fromkeys(("_overload", "_overload_method", "_script_if_tracing"), Alias("jit.torchscript.scripting:unused")),
    },
    "nn.attention.flex_attention": {"_DEFAULT_SPARSE_BLOCK_SIZE": 128},
    "nn.functional": {
        **{name: Alias(_HERE + f"private_functions:{name}") for name in ("_canonical_mask", "_none_or_dtype")},
        **{name: Alias(f"overrides:{name}") for name in (
            "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")},
    },
    "nn.init": {f"_no_grad_{name}_": Alias(f"nn.init:{own}_") for name, own in (
        ("fill", "constant"), ("normal", "normal"), ("trunc_normal", "trunc_normal"), ("uniform", "uniform"),
        ("zero", "zeros"))},
    "nn.utils.stateless": {"_reparametrize_module": Alias(_HERE + "make_functional:_reparametrize_module")},
    "nn.parameter": {"_ParameterMeta": type(Tensor)},
    "optim.lr_scheduler": {"_LRScheduler": Alias("optim.lr_scheduler:LRScheduler")},
    "optim.optimizer": {
        **{f"_{option}_doc": f"{option} (bool, optional): {text}" for option, text in (
            ("foreach", "whether to use functions of lists of tensors"),
            ("fused", "whether one kernel does a parameter's step"),
            ("capturable", "whether steps can be captured in a CUDA graph"),
            ("differentiable", "whether steps record gradients"),
            ("maximize", "whether to go up instead of down"))},
        "_params_doc": "params: the parameters, or groups of them as dictionaries",
        "_params_t": Alias("optim.optimizer:ParamsT"),
        **{name: Alias(_HERE + f"optimizer_support:{name}") for name in (
            "_default_to_fused_or_foreach", "_device_dtype_check_for_fused", "_disable_dynamo_if_unsupported",
            "_foreach_supported_types", "_get_capturable_supported_devices", "_get_foreach_kernels_supported_devices",
            "_get_fused_kernels_supported_devices", "_get_scalar_dtype", "_get_value", "_stack_if_compiling", "_to_scalar",
            "_use_grad_for_differentiable", "_view_as_real")},
    },
    "runtime.nn.base.module": {             # `nn.modules.module`
        "_EXTRA_STATE_KEY_SUFFIX": "_extra_state", "_IncompatibleKeys": Alias("runtime.nn.base.state_dict:IncompatibleKeys"),
        **{f"_global_{kind}_registration_hooks": Alias(f"runtime.nn.base.hooks:{kind.upper()}_HOOKS")
           for kind in ("buffer", "module", "parameter")}},
    "utils.data._utils.collate": {"np_str_obj_array_pattern": Alias("runtime.data.collate:_TEXT_ARRAY")},
    "utils.data.dataloader": {"_collate_fn_t": Callable[[list], Any], "_worker_init_fn_t": Callable[[int], None]},
    "xpu": {"_is_in_bad_fork": Alias("xpu:is_available")},
}
MEMBERS: Mapping[type, Mapping[str, Any]] = {
    Node: {"__getattr__": saved_value},
    Tensor: {"_cdata": property(id), "_grad": Tensor.grad},
    UntypedStorage: {"_cdata": property(lambda self: shown_address(self._array))},
}
_INGOT = f"{__package__.rpartition('.')[0]}."


def _add_names(module, names: Mapping[str, Any]) -> None:
    for name, value in names.items():
        if type(value) is NoOp:
            setattr(module, name, _no_op(name, value.reason))
        elif type(value) is not Alias:
            setattr(module, name, value)
    targets = {name: _INGOT + value.target for name, value in names.items() if type(value) is Alias}
    if targets:
        paths.add_lookup(module, targets.get, module.__name__)


def _no_op(name: str, reason: str):
    def nothing(*args, **kwargs) -> None:
        pass

    nothing.__name__ = nothing.__qualname__ = name
    nothing.__doc__ = f"Do nothing: {reason}."
    return nothing


class _Loader(SourceFileLoader):
    """Loader of a module with private names."""

    def exec_module(self, module):
        super().exec_module(module)
        _add_names(module, _by_file()[module.__name__])


class _Finder(MetaPathFinder):
    """Finder of the modules that `NAMES` completes."""

    def find_spec(self, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path) if name in _by_file() else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


@cache
def _by_file() -> dict[str, dict[str, Any]]:
    """Return the names to add to each module, with the last parts of `MODULES`."""
    found: dict[str, dict[str, Any]] = {}
    for path, file in MODULES.items():
        parent, _, name = path.rpartition(".")
        if parent:
            found.setdefault(paths.real_name(_INGOT + parent) or _INGOT + parent, {})[name] = Alias(file)
    for path, names in NAMES.items():
        found.setdefault(paths.real_name(_INGOT + path) or _INGOT + path, {}).update(names)
    return found


def put_in_place() -> None:
    """Add all private names to ingot, once."""
    if paths.PRIVATE:
        return
    paths.PRIVATE.update(MODULES)
    for cls, members in MEMBERS.items():
        for name, member in members.items():
            setattr(cls, name, member)
    sys.meta_path.insert(0, _Finder())
    for name, names in _by_file().items():
        if name in sys.modules:
            _add_names(importlib.import_module(name), names)
