"""Public module paths and the files behind them.

`ingot.nn` is the module `ingot.runtime.nn` under a second name: one object, loaded on first use. So `import ingot` stays quick,
and a class has one identity whichever path it came by. `as_torch` adds PyTorch's private paths.
"""

import importlib
import importlib.util
import sys
from collections import ChainMap
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType

from .ir.doors import door, give_doors
from .ir.suggestions import UnknownModule, UnknownName, unknown_name
from .runtime.api.register.register import give_named_doors

PUBLIC = {
    "__config__": "runtime.namespaces.build_config",
    "accelerator": "runtime.backends.accelerator",
    "amp": "runtime.amp",
    "ao": "runtime.quantization.ao",
    "ao.nn": "runtime.quantization.ao_nn",
    "ao.nn.intrinsic": "runtime.quantization.fused_modules",
    "ao.nn.intrinsic.qat": "runtime.quantization.fused_qat_modules",
    "ao.nn.intrinsic.quantized": "runtime.quantization.fused_quantized_modules",
    "ao.nn.qat": "runtime.quantization.qat_modules",
    "ao.nn.quantized": "runtime.quantization.static_modules",
    "ao.nn.quantized.dynamic": "runtime.quantization.dynamic_modules",
    "ao.quantization": "runtime.quantization",
    "ao.quantization.fake_quantize": "runtime.quantization.fake_quantize",
    "ao.quantization.observer": "runtime.quantization.observers",
    "ao.quantization.qconfig": "runtime.quantization.qconfig",
    "ao.quantization.qconfig_mapping": "runtime.quantization.qconfig_mapping",
    "ao.quantization.quantize_fx": "jit.exporting.program.quantize_fx",
    "array_api": "runtime.array_api",
    "autograd": "runtime.namespaces.autograd",
    "autograd.anomaly_mode": "runtime.autograd.anomaly",
    "autograd.forward_ad": "runtime.autograd.forward_ad",
    "autograd.function": "runtime.autograd.function",
    "autograd.functional": "runtime.autograd.functional",
    "autograd.grad_mode": "runtime.autograd.grad_mode",
    "autograd.gradcheck": "runtime.autograd.gradcheck",
    "autograd.graph": "runtime.autograd.hooks",
    "autograd.profiler": "runtime.profiler.legacy_names",
    "backends": "runtime.backends",
    "backends.mkl": "runtime.backends.absent_libraries",
    "backends.openmp": "runtime.backends.absent_libraries",
    "backends.opt_einsum": "runtime.backends.absent_libraries",
    "compiler": "jit.tracing.compiler",
    "cpu": "runtime.backends.cpu_device",
    "cpu.amp": "runtime.amp.cpu_amp",
    "cuda": "runtime.cuda.api",
    "cuda.amp": "runtime.amp.cuda_amp",
    "cuda.comm": "runtime.nn.parallel.comm",
    "cuda.graphs": "runtime.cuda.replay.graphs",
    "cuda.streams": "runtime.cuda.driver.streams",
    "distributed": "runtime.distributed",
    "distributed.algorithms": "runtime.distributed.training.uneven_inputs",
    "distributed.algorithms.ddp_comm_hooks": "runtime.distributed.training.comm_hooks",
    "distributed.algorithms.ddp_comm_hooks.debugging_hooks": "runtime.distributed.training.comm_hooks",
    "distributed.algorithms.ddp_comm_hooks.default_hooks": "runtime.distributed.training.comm_hooks",
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": "runtime.distributed.training.local_sgd",
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": "runtime.distributed.training.power_sgd",
    "distributed.algorithms.join": "runtime.distributed.training.uneven_inputs",
    "distributed.algorithms.model_averaging": "runtime.distributed.training.local_sgd",
    "distributed.algorithms.model_averaging.averagers": "runtime.distributed.training.local_sgd",
    "distributed.checkpoint": "runtime.distributed.checkpoint",
    "distributed.checkpoint.default_planner": "runtime.distributed.checkpoint.folder_format",
    "distributed.checkpoint.filesystem": "runtime.distributed.checkpoint.folder_format",
    "distributed.checkpoint.format_utils": "runtime.distributed.checkpoint.single_file",
    "distributed.checkpoint.hf_storage": "runtime.distributed.checkpoint.unsupported_formats",
    "distributed.checkpoint.state_dict": "runtime.distributed.checkpoint.state_dict",
    "distributed.checkpoint.state_dict_loader": "runtime.distributed.checkpoint.loading",
    "distributed.checkpoint.state_dict_saver": "runtime.distributed.checkpoint.saving",
    "distributed.checkpoint.stateful": "runtime.distributed.checkpoint.folder_format",
    "distributed.constants": "runtime.distributed.groups.world",
    "distributed.device_mesh": "runtime.distributed.collectives.device_mesh",
    "distributed.distributed_c10d": "runtime.distributed",
    "distributed.elastic": "runtime.distributed.launchers.error_files",
    "distributed.elastic.multiprocessing": "runtime.distributed.launchers.error_files",
    "distributed.elastic.multiprocessing.errors": "runtime.distributed.launchers.error_files",
    "distributed.fsdp": "runtime.distributed.fsdp",
    "distributed.fsdp.api": "runtime.distributed.fsdp.settings",
    "distributed.fsdp.fully_sharded_data_parallel": "runtime.distributed.fsdp",
    "distributed.fsdp.sharded_grad_scaler": "runtime.distributed.fsdp.sharded_grad_scaler",
    "distributed.fsdp.wrap": "runtime.distributed.fsdp.wrap_policies",
    "distributed.launch": "runtime.distributed.launchers.launch",
    "distributed.nn": "runtime.distributed.collectives.differentiable_collectives",
    "distributed.nn.functional": "runtime.distributed.collectives.differentiable_collectives",
    "distributed.optim": "runtime.distributed.training.sharded_optimizers",
    "distributed.optim.post_localSGD_optimizer": "runtime.distributed.training.local_sgd",
    "distributed.optim.zero_redundancy_optimizer": "runtime.distributed.training.sharded_optimizers",
    "distributed.rpc": "runtime.distributed.launchers.rpc",
    "distributed.run": "runtime.distributed.launchers.launcher",
    "distributed.tensor": "runtime.distributed.tensor",
    "distributed.tensor.device_mesh": "runtime.distributed.tensor",
    "distributed.tensor.experimental": "runtime.distributed.tensor",
    "distributed.tensor.parallel": "runtime.distributed.tensor.parallel",
    "distributed.tensor.parallel.loss": "runtime.distributed.tensor.parallel.sharded_losses",
    "distributed.tensor.parallel.style": "runtime.distributed.tensor.parallel.parallel_styles",
    "distributed.tensor.placement_types": "runtime.distributed.tensor",
    "distributions": "runtime.distributions",
    "distributions.bernoulli": "runtime.distributions.discrete",
    "distributions.beta": "runtime.distributions.gamma_families",
    "distributions.binomial": "runtime.distributions.discrete",
    "distributions.cauchy": "runtime.distributions.location_scale",
    "distributions.chi2": "runtime.distributions.gamma_families",
    "distributions.continuous_bernoulli": "runtime.distributions.univariate_families",
    "distributions.dirichlet": "runtime.distributions.gamma_families",
    "distributions.exp_family": "runtime.distributions.distribution",
    "distributions.exponential": "runtime.distributions.gamma_families",
    "distributions.fishersnedecor": "runtime.distributions.gamma_families",
    "distributions.gamma": "runtime.distributions.gamma_families",
    "distributions.generalized_pareto": "runtime.distributions.univariate_families",
    "distributions.geometric": "runtime.distributions.discrete",
    "distributions.gumbel": "runtime.distributions.transformed_families",
    "distributions.half_cauchy": "runtime.distributions.transformed_families",
    "distributions.half_normal": "runtime.distributions.transformed_families",
    "distributions.independent": "runtime.distributions.composite",
    "distributions.inverse_gamma": "runtime.distributions.transformed_families",
    "distributions.kumaraswamy": "runtime.distributions.univariate_families",
    "distributions.laplace": "runtime.distributions.location_scale",
    "distributions.lkj_cholesky": "runtime.distributions.matrix_variate",
    "distributions.log_normal": "runtime.distributions.transformed_families",
    "distributions.logistic_normal": "runtime.distributions.transformed_families",
    "distributions.lowrank_multivariate_normal": "runtime.distributions.multivariate_normal",
    "distributions.mixture_same_family": "runtime.distributions.composite",
    "distributions.multinomial": "runtime.distributions.categorical",
    "distributions.multivariate_normal": "runtime.distributions.multivariate_normal",
    "distributions.negative_binomial": "runtime.distributions.discrete",
    "distributions.normal": "runtime.distributions.location_scale",
    "distributions.one_hot_categorical": "runtime.distributions.categorical",
    "distributions.pareto": "runtime.distributions.transformed_families",
    "distributions.poisson": "runtime.distributions.discrete",
    "distributions.relaxed_bernoulli": "runtime.distributions.transformed_families",
    "distributions.relaxed_categorical": "runtime.distributions.transformed_families",
    "distributions.studentT": "runtime.distributions.gamma_families",
    "distributions.transformed_distribution": "runtime.distributions.composite",
    "distributions.uniform": "runtime.distributions.location_scale",
    "distributions.utils": "runtime.distributions.parameters",
    "distributions.von_mises": "runtime.distributions.univariate_families",
    "distributions.weibull": "runtime.distributions.transformed_families",
    "distributions.wishart": "runtime.distributions.matrix_variate",
    "export": "jit.exporting.program.exported_program",
    "export.dynamic_shapes": "jit.exporting.program.dynamic_shapes",
    "export.graph_signature": "jit.exporting.program.graph_signature",
    "fft": "runtime.linalg.fft",
    "func": "runtime.namespaces.func",
    "functional": "runtime.namespaces.functional_names",
    "futures": "runtime.distributed.groups.futures",
    "fx": "jit.fx",
    "fx.experimental": "jit.fx.make_fx",
    "fx.experimental.proxy_tensor": "jit.fx.make_fx",
    "fx.experimental.symbolic_shapes": "jit.fx.symbolic_shapes",
    "fx.passes": "jit.fx.passes",
    "fx.passes.infra": "jit.fx.passes.pass_manager",
    "fx.passes.infra.pass_base": "jit.fx.passes.pass_manager",
    "fx.passes.infra.pass_manager": "jit.fx.passes.pass_manager",
    "fx.passes.utils": "jit.fx.matching",
    "fx.passes.utils.matcher_utils": "jit.fx.matching",
    "hub": "runtime.toolbox.hub",
    "jit.annotations": "jit.torchscript.annotations",
    "library": "jit.custom_ops",
    "linalg": "runtime.linalg.linalg",
    "masked": "runtime.masked",
    "masked.maskedtensor": "runtime.masked",
    "masked.maskedtensor.core": "runtime.masked",
    "masked.maskedtensor.creation": "runtime.masked",
    "masked.maskedtensor.reductions": "runtime.masked.masked_reductions",
    "mps": "runtime.backends.absent_accelerators",
    "mtia": "runtime.backends.absent_accelerators",
    "multiprocessing": "runtime.multiprocessing",
    "multiprocessing.reductions": "runtime.multiprocessing.tensor_pickling",
    "nested": "runtime.nested",
    "nn": "runtime.nn",
    "nn.attention": "runtime.nn.layers.attention",
    "nn.attention.bias": "runtime.nn.layers.causal_bias",
    "nn.attention.flex_attention": "runtime.nn.layers.flex_attention",
    "nn.common_types": "runtime.nn.base.common_types",
    "nn.grad": "runtime.nn.functional.conv_gradients",
    "nn.init": "runtime.nn.base.init",
    "nn.intrinsic": "runtime.quantization.fused_modules",
    "nn.intrinsic.qat": "runtime.quantization.fused_qat_modules",
    "nn.intrinsic.quantized": "runtime.quantization.fused_quantized_modules",
    "nn.parallel.distributed": "runtime.nn.parallel.distributed_data_parallel",
    "nn.parallel.scatter_gather": "runtime.nn.parallel.scatter_gather",
    "nn.parameter": "runtime.nn.base.parameter",
    "nn.qat": "runtime.quantization.qat_modules",
    "nn.quantized": "runtime.quantization.static_modules",
    "nn.quantized.dynamic": "runtime.quantization.dynamic_modules",
    "nn.utils.fusion": "runtime.nn.utils.batch_norm_fusion",
    "nn.utils.memory_format": "runtime.nn.utils.conv_memory_format",
    "nn.utils.rnn": "runtime.nn.base.packed_sequence",
    "onnx": "jit.onnx",
    "onnx.symbolic_helper": "jit.onnx.symbolic_registry",
    "onnx.symbolic_opset11": "jit.onnx.symbolic_registry",
    "onnx.symbolic_opset12": "jit.onnx.symbolic_registry",
    "onnx.symbolic_opset9": "jit.onnx.symbolic_registry",
    "ops": "jit.custom_ops.namespaces",
    "optim": "runtime.optim",
    "optim.adadelta": "runtime.optim.adaptive",
    "optim.adagrad": "runtime.optim.adaptive",
    "optim.adamax": "runtime.optim.adam",
    "optim.adamw": "runtime.optim.adam",
    "optim.asgd": "runtime.optim.adaptive",
    "optim.nadam": "runtime.optim.adam",
    "optim.radam": "runtime.optim.adam",
    "optim.rmsprop": "runtime.optim.adaptive",
    "optim.rprop": "runtime.optim.adaptive",
    "optim.swa_utils": "runtime.optim.weight_averaging",
    "overrides": "runtime.api.register.overrides",
    "profiler": "runtime.profiler",
    "profiler.profiler": "runtime.profiler",
    "quantization": "runtime.quantization",
    "quasirandom": "runtime.quasirandom",
    "random": "runtime.core.random",
    "return_types": "runtime.api.register.return_types",
    "serialization": "runtime.serialization",
    "signal": "runtime.signal",
    "sparse": "runtime.namespaces.sparse",
    "special": "runtime.linalg.special",
    "storage": "runtime.api.tensor_classes.typed_storage",
    "testing": "runtime.toolbox.testing",
    "torch_version": "runtime.namespaces.torch_version",
    "types": "runtime.api.register.annotation_types",
    "utils": "runtime.toolbox",
    "utils.benchmark": "runtime.toolbox.benchmark",
    "utils.checkpoint": "runtime.autograd.checkpoint",
    "utils.collect_env": "environment",
    "utils.cpp_extension": "runtime.toolbox.cpp_extension",
    "utils.data": "runtime.data",
    "utils.data.datapipes": "runtime.data.datapipes",
    "utils.data.datapipes.datapipe": "runtime.data.datapipes",
    "utils.data.distributed": "runtime.data.distributed_sampler",
    "utils.deterministic": "runtime.toolbox.deterministic_switch",
    "utils.dlpack": "runtime.toolbox.dlpack_functions",
    "utils.flop_counter": "runtime.toolbox.flop_counter",
    "utils.gguf": "runtime.serialization.gguf",
    "utils.hooks": "runtime.toolbox.hook_handles",
    "utils.model_zoo": "runtime.toolbox.hub",
    "utils.module_tracker": "runtime.toolbox.module_tracker",
    "utils.tensorboard": "jit.tensorboard",
    "utils.tensorboard.summary": "jit.tensorboard.summaries",
    "utils.tensorboard.writer": "jit.tensorboard.writer",
    "utils.weak": "runtime.toolbox.weak_references",
    "version": "runtime.namespaces.version",
    "xpu": "runtime.backends.absent_accelerators",
}
PRIVATE: dict[str, str] = {}      # filled by `as_torch`
_FILES = ChainMap(PUBLIC, PRIVATE)
_PREFIX = __package__ + "."
_REAL = frozenset(PUBLIC.values())
# Modules of functions that name themselves in errors of what they call. `autograd.grad` must not: gradients of other calls
# fail in it.
_OF_TENSORS = frozenset((PUBLIC["fft"], PUBLIC["linalg"], PUBLIC["special"], "runtime.nn.functional"))
_opened: set[str] = set()       # names of modules whose functions have doors


def real_name(name: str) -> str | None:
    """Return the module behind a public path, or None for any other name."""
    if not name.startswith(_PREFIX):
        return None
    head = name[len(_PREFIX):]
    tail = ""
    while head:
        if head in _FILES:
            return _PREFIX + _FILES[head] + tail
        head, dot, last = head.rpartition(".")
        tail = dot + last + tail
    return None


def add_lookup(module, target_of, called: str) -> None:
    """Make a module import the names that it lacks: `target_of(name)` is "module", "module:name in it", or None."""
    before = getattr(module, "__getattr__", None)

    def find(name):
        target = target_of(name)
        if target is not None:
            place, _, inside = target.partition(":")
            found = importlib.import_module(place)
            return getattr(found, inside) if inside else found
        if before is not None:
            return before(name)
        raise AttributeError(f"module {called!r} has no attribute {name!r}")

    module.__getattr__ = find


def _open(module) -> None:
    """Give doors to the functions and classes of a public module, and of public modules among its attributes."""
    if module.__name__ in _opened:
        return
    _opened.add(module.__name__)
    if module.__name__.removeprefix(_PREFIX) in _OF_TENSORS:
        give_named_doors({name: getattr(module, name) for name in module.__all__})
    give_doors(vars(module))
    below = module.__name__ + "."
    for value in [*vars(module).values()]:
        if isinstance(value, ModuleType):
            name = value.__name__
            if name.startswith(below) or name.removeprefix(_PREFIX) in _REAL:
                _open(value)


def add_suggestions(module, called: str) -> None:
    """Make the error for a name that a module lacks suggest one that it has."""
    before = module.__dict__.get("__getattr__")
    if hasattr(before, "suggests"):         # it was loaded under another public path
        return

    @door
    def __getattr__(name):
        try:
            if before is not None:
                return before(name)
        except UnknownName:
            raise
        except AttributeError as error:
            if not str(error).endswith(f"has no attribute {name!r}"):       # it says why, or is of another object
                raise
        if name[:2] == "__":                # asked by the interpreter and by libraries
            raise AttributeError(f"module {called!r} has no attribute {name!r}")
        raise unknown_name(module, name, called) from None

    __getattr__.suggests = True        # type: ignore[attr-defined]
    module.__getattr__ = __getattr__


class SameModule(Loader):
    """Loader of a module that exists under another name."""

    def __init__(self, name: str, real: str):
        self.name, self.real = name, real

    def create_module(self, spec):
        module = importlib.import_module(self.real)
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.own_spec
        _open(module)
        for name, value in vars(module).items():      # importing a file keeps the function of its name
            file = sys.modules.get(f"{self.real}.{name}")
            if file is not None and file is not value:
                sys.modules.setdefault(f"{self.name}.{name}", file)
            if file is not None and file is value:
                add_suggestions(file, f"{self.name}.{name}")        # `from ingot.nn import functional` does not load it here
        public = self.name[len(_PREFIX):] + "."
        if any(path.startswith(public) for path in PUBLIC):     # `distributions.normal` needs no import of its own
            add_lookup(module, lambda name: f"{self.name}.{name}" if public + name in _FILES else None, self.name)
        add_suggestions(module, self.name)


class _Program(Loader):
    """A loader for `python -m` of a public path: it runs the `main` of the module."""

    def get_code(self, name):
        """Return the code that `python -m` runs."""
        return compile(f"import sys\nfrom {name.rpartition('.')[0]} import main\nsys.exit(main())\n", f"<{name}>", "exec")


class PublicPaths(MetaPathFinder):
    """Finder of public paths: `ingot.nn.functional` is `ingot.runtime.nn.functional`."""

    def find_spec(self, name, path=None, target=None):
        whole, _, last = name.rpartition(".")
        if last == "__main__" and whole in sys.modules and hasattr(sys.modules[whole], "main") and real_name(whole):
            return importlib.util.spec_from_loader(name, _Program())
        real = real_name(name)
        if real is None or importlib.util.find_spec(real) is None:
            return None
        return importlib.util.spec_from_loader(name, SameModule(name, real), is_package=True)


class MissingPaths(MetaPathFinder):
    """Finder that comes last: the error for a module of ingot that no other one found suggests a name."""

    @door
    def find_spec(self, name, path=None, target=None):
        # `importlib.util.find_spec` asks finders, too, and returns None.
        if name.startswith(_PREFIX) and sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
            raise UnknownModule(name, lambda: _modules_below(name.rpartition(".")[0]))


def _modules_below(whole: str) -> list:
    """Return the names of public modules in a package."""
    module = sys.modules.get(whole)
    found = {f"{whole}.{name}" for name, value in vars(module).items() if isinstance(value, ModuleType)} if module else set()
    return sorted(found | {path for path in map(_PREFIX.__add__, PUBLIC) if path.rpartition(".")[0] == whole})


def install():
    """Put a finder in front of the others, and one behind them, once."""
    if not any(type(f).__name__ == "PublicPaths" and type(f).__module__ == __name__ for f in sys.meta_path):
        sys.meta_path.insert(0, PublicPaths())
        sys.meta_path.append(MissingPaths())
