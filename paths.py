"""The module paths that users import, and where they live.

`ingot.nn` is the module `ingot.runtime.nn`, the very same object under a second name, loaded when first asked for; so
`import ingot` stays quick and a class has one identity whichever path it came by.
"""

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder

PUBLIC = {
    "__config__": "runtime.build",
    "_C": "runtime.subclass_switches",
    "_C._functorch": "runtime.batching.seen_outside",
    "_custom_ops": "jit.operators",
    "_dynamo": "jit.dynamo",
    "_dynamo._trace_wrapped_higher_order_op": "jit.dynamo",
    "_dynamo.config": "jit.accepted_switches",
    "_dynamo.eval_frame": "jit.dynamo",
    "_dynamo.utils": "jit.dynamo",
    "_functorch": "runtime.batching",
    "_functorch.make_functional": "runtime.func.functional_modules",
    "_functorch.vmap": "runtime.batching.vmap",
    "_guards": "runtime.fake_tensors",
    "_higher_order_ops": "runtime.higher_order",
    "_inductor": "jit.inductor",
    "_inductor.config": "jit.accepted_switches",
    "_prims_common": "runtime.toolbox.primitives",
    "_subclasses": "runtime.fake_tensors",
    "_subclasses.fake_tensor": "runtime.fake_tensors",
    "_tensor": "runtime.tensor",
    "_tensor_str": "runtime.printed_parts",
    "_utils": "runtime.toolbox.gathered",
    "accelerator": "runtime.accelerator",
    "amp": "runtime.amp",
    "ao": "runtime.quantization.ao",
    "ao.nn": "runtime.quantization.modules",
    "ao.nn.intrinsic": "runtime.quantization.intrinsic",
    "ao.nn.intrinsic.qat": "runtime.quantization.intrinsic_qat",
    "ao.nn.intrinsic.quantized": "runtime.quantization.intrinsic_quantized",
    "ao.nn.qat": "runtime.quantization.qat",
    "ao.nn.quantized": "runtime.quantization.static",
    "ao.nn.quantized.dynamic": "runtime.quantization.dynamic",
    "ao.quantization": "runtime.quantization",
    "ao.quantization.observer": "runtime.quantization.observers",
    "ao.quantization.fake_quantize": "runtime.quantization.fake_quantize",
    "ao.quantization.qconfig": "runtime.quantization.qconfig",
    "ao.quantization.qconfig_mapping": "runtime.quantization.qconfig_mapping",
    "ao.quantization.quantize_fx": "jit.quantize_fx",
    "array_api": "runtime.array_api",
    "autograd": "runtime.autograd.namespace",
    "autograd.anomaly_mode": "runtime.autograd.anomaly",
    "autograd.forward_ad": "runtime.autograd.forward_ad",
    "autograd.function": "runtime.autograd.function",
    "autograd.functional": "runtime.autograd.functional",
    "autograd.grad_mode": "runtime.autograd.grad_mode",
    "autograd.gradcheck": "runtime.autograd.gradcheck",
    "autograd.graph": "runtime.autograd.hooks",
    "autograd.profiler": "runtime.profiler.legacy",
    "backends": "runtime.backends",
    "compiler": "jit.compiler",
    "cpu": "runtime.processor",
    "cpu.amp": "runtime.amp.on_cpu",
    "cuda": "runtime.cuda.api",
    "cuda.graphs": "runtime.cuda.replay.graphs",
    "cuda.streams": "runtime.cuda.driver.streams",
    "cuda.amp": "runtime.amp.on_cuda",
    "cuda.comm": "runtime.nn.parallel.comm",
    "distributed": "runtime.distributed",
    "distributed._composable": "runtime.distributed.fsdp.composable",
    "distributed._composable.fsdp": "runtime.distributed.fsdp",
    "distributed._functional_collectives": "runtime.distributed.functional_collectives",
    "distributed._tensor": "runtime.distributed.tensor",
    "distributed._tensor.experimental": "runtime.distributed.tensor",
    "distributed.algorithms": "runtime.distributed.uneven",
    "distributed.algorithms._checkpoint": "runtime.distributed.uneven",
    "distributed.algorithms._checkpoint.checkpoint_wrapper": "runtime.distributed.activation_wrappers",
    "distributed.algorithms.ddp_comm_hooks": "runtime.distributed.comm_hooks",
    "distributed.algorithms.ddp_comm_hooks.debugging_hooks": "runtime.distributed.comm_hooks",
    "distributed.algorithms.ddp_comm_hooks.default_hooks": "runtime.distributed.comm_hooks",
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": "runtime.distributed.local_sgd",
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": "runtime.distributed.power_sgd",
    "distributed.algorithms.join": "runtime.distributed.uneven",
    "distributed.algorithms.model_averaging": "runtime.distributed.local_sgd",
    "distributed.algorithms.model_averaging.averagers": "runtime.distributed.local_sgd",
    "distributed.checkpoint": "runtime.distributed.checkpoint",
    "distributed.checkpoint.default_planner": "runtime.distributed.checkpoint.files",
    "distributed.checkpoint.filesystem": "runtime.distributed.checkpoint.files",
    "distributed.checkpoint.format_utils": "runtime.distributed.checkpoint.one_file",
    "distributed.checkpoint.state_dict": "runtime.distributed.checkpoint.state_dict",
    "distributed.checkpoint.state_dict_loader": "runtime.distributed.checkpoint.loading",
    "distributed.checkpoint.state_dict_saver": "runtime.distributed.checkpoint.saving",
    "distributed.checkpoint.stateful": "runtime.distributed.checkpoint.files",
    "distributed.checkpoint._consolidate_hf_safetensors": "runtime.distributed.checkpoint.foreign",
    "distributed.checkpoint.hf_storage": "runtime.distributed.checkpoint.foreign",
    "distributed.constants": "runtime.distributed.world",
    "distributed.device_mesh": "runtime.distributed.device_mesh",
    "distributed.distributed_c10d": "runtime.distributed",
    "distributed.elastic": "runtime.distributed.elastic",
    "distributed.elastic.multiprocessing": "runtime.distributed.elastic",
    "distributed.elastic.multiprocessing.errors": "runtime.distributed.elastic",
    "distributed.fsdp": "runtime.distributed.fsdp",
    "distributed.fsdp.api": "runtime.distributed.fsdp.settings",
    "distributed.fsdp.fully_sharded_data_parallel": "runtime.distributed.fsdp",
    "distributed.fsdp.sharded_grad_scaler": "runtime.distributed.fsdp.grad_scaler",
    "distributed.fsdp.wrap": "runtime.distributed.fsdp.wrap",
    "distributed.launch": "runtime.distributed.launch",
    "distributed.nn": "runtime.distributed.functional",
    "distributed.nn.functional": "runtime.distributed.functional",
    "distributed.optim": "runtime.distributed.sharded_optimizers",
    "distributed.optim.post_localSGD_optimizer": "runtime.distributed.local_sgd",
    "distributed.optim.zero_redundancy_optimizer": "runtime.distributed.sharded_optimizers",
    "distributed.run": "runtime.distributed.run",
    "distributed.tensor": "runtime.distributed.tensor",
    "distributed.tensor._utils": "runtime.distributed.tensor",
    "distributed.tensor.parallel": "runtime.distributed.tensor.parallel",
    "distributed.tensor.parallel.loss": "runtime.distributed.tensor.parallel.losses",
    "distributed.tensor.parallel.style": "runtime.distributed.tensor.parallel.styles",
    "distributed.tensor.device_mesh": "runtime.distributed.tensor",
    "distributed.tensor.experimental": "runtime.distributed.tensor",
    "distributed.tensor.placement_types": "runtime.distributed.tensor",
    "distributions": "runtime.distributions",
    "distributions.bernoulli": "runtime.distributions.discrete",
    "distributions.beta": "runtime.distributions.gamma",
    "distributions.binomial": "runtime.distributions.discrete",
    "distributions.cauchy": "runtime.distributions.location",
    "distributions.chi2": "runtime.distributions.gamma",
    "distributions.continuous_bernoulli": "runtime.distributions.unit",
    "distributions.dirichlet": "runtime.distributions.gamma",
    "distributions.exp_family": "runtime.distributions.distribution",
    "distributions.exponential": "runtime.distributions.gamma",
    "distributions.fishersnedecor": "runtime.distributions.gamma",
    "distributions.generalized_pareto": "runtime.distributions.unit",
    "distributions.geometric": "runtime.distributions.discrete",
    "distributions.gumbel": "runtime.distributions.transformed",
    "distributions.half_cauchy": "runtime.distributions.transformed",
    "distributions.half_normal": "runtime.distributions.transformed",
    "distributions.independent": "runtime.distributions.composed",
    "distributions.inverse_gamma": "runtime.distributions.transformed",
    "distributions.kumaraswamy": "runtime.distributions.unit",
    "distributions.laplace": "runtime.distributions.location",
    "distributions.lkj_cholesky": "runtime.distributions.matrices",
    "distributions.log_normal": "runtime.distributions.transformed",
    "distributions.logistic_normal": "runtime.distributions.transformed",
    "distributions.lowrank_multivariate_normal": "runtime.distributions.multivariate",
    "distributions.mixture_same_family": "runtime.distributions.composed",
    "distributions.multinomial": "runtime.distributions.categorical",
    "distributions.multivariate_normal": "runtime.distributions.multivariate",
    "distributions.negative_binomial": "runtime.distributions.discrete",
    "distributions.normal": "runtime.distributions.location",
    "distributions.one_hot_categorical": "runtime.distributions.categorical",
    "distributions.pareto": "runtime.distributions.transformed",
    "distributions.poisson": "runtime.distributions.discrete",
    "distributions.relaxed_bernoulli": "runtime.distributions.relaxed",
    "distributions.relaxed_categorical": "runtime.distributions.relaxed",
    "distributions.studentT": "runtime.distributions.gamma",
    "distributions.transformed_distribution": "runtime.distributions.composed",
    "distributions.uniform": "runtime.distributions.location",
    "distributions.utils": "runtime.distributions.parameters",
    "distributions.von_mises": "runtime.distributions.circular",
    "distributions.weibull": "runtime.distributions.transformed",
    "distributions.wishart": "runtime.distributions.matrices",
    "export": "jit.exported.programs",
    "export.dynamic_shapes": "jit.exported.program_dims",
    "export._swap": "jit.exported.program_swap",
    "export.graph_signature": "jit.exported.program_signature",
    "fft": "runtime.fft",
    "func": "runtime.func",
    "functional": "runtime.functional",
    "futures": "runtime.futures",
    "fx": "jit.fx",
    "fx._symbolic_trace": "jit.fx.own_loops",
    "fx.experimental": "jit.fx.recorded_run",
    "fx.experimental.proxy_tensor": "jit.fx.recorded_run",
    "fx.experimental.symbolic_shapes": "jit.fx.symbolic_shapes",
    "hub": "runtime.toolbox.hub",
    "library": "jit.operators",
    "linalg": "runtime.linalg",
    "masked": "runtime.masked",
    "masked._ops": "runtime.masked.reductions",
    "masked.maskedtensor": "runtime.masked",
    "masked.maskedtensor.core": "runtime.masked",
    "masked.maskedtensor.creation": "runtime.masked",
    "mps": "runtime.no_accelerator",
    "mtia": "runtime.no_accelerator",
    "multiprocessing": "runtime.multiprocessing",
    "nested": "runtime.nested",
    "nn": "runtime.nn",
    "nn.attention.bias": "runtime.nn.causal_bias",
    "nn.attention.flex_attention": "runtime.nn.flex_attention",
    "nn.intrinsic": "runtime.quantization.intrinsic",
    "nn.intrinsic.qat": "runtime.quantization.intrinsic_qat",
    "nn.intrinsic.quantized": "runtime.quantization.intrinsic_quantized",
    "nn.parallel._functions": "runtime.nn.parallel.functions",
    "nn.parallel.scatter_gather": "runtime.nn.parallel.scatter_gather",
    "nn.qat": "runtime.quantization.qat",
    "nn.quantized": "runtime.quantization.static",
    "nn.quantized.dynamic": "runtime.quantization.dynamic",
    "nn.utils._named_member_accessor": "runtime.nn.utils.swapping",
    "nn.utils._per_sample_grad": "runtime.nn.utils.per_sample_grad",
    "onnx": "jit.onnx",
    "onnx.symbolic_helper": "jit.onnx.foreign_rules",
    "onnx.symbolic_opset11": "jit.onnx.foreign_rules",
    "onnx.symbolic_opset12": "jit.onnx.foreign_rules",
    "onnx.symbolic_opset9": "jit.onnx.foreign_rules",
    "ops": "jit.operators.ops",
    "optim": "runtime.optim",
    "optim._functional": "runtime.optim.functional_forms",
    "optim.adadelta": "runtime.optim.adaptive",
    "optim.adagrad": "runtime.optim.adaptive",
    "optim.adamax": "runtime.optim.adam",
    "optim.adamw": "runtime.optim.adam",
    "optim.asgd": "runtime.optim.adaptive",
    "optim.nadam": "runtime.optim.adam",
    "optim.radam": "runtime.optim.adam",
    "optim.rmsprop": "runtime.optim.adaptive",
    "optim.rprop": "runtime.optim.adaptive",
    "overrides": "runtime.overrides",
    "profiler": "runtime.profiler",
    "profiler.profiler": "runtime.profiler",
    "quantization": "runtime.quantization",
    "quasirandom": "runtime.quasirandom",
    "random": "runtime.random",
    "return_types": "runtime.api.returns",
    "serialization": "runtime.serialization",
    "signal": "runtime.signal",
    "sparse": "runtime.sparse",
    "special": "runtime.special",
    "storage": "runtime.api.storages",
    "testing": "runtime.testing",
    "torch_version": "runtime.torch_version",
    "types": "runtime.types",
    "utils": "runtime.toolbox",
    "utils._contextlib": "runtime.toolbox.context",
    "utils._foreach_utils": "runtime.toolbox.groups",
    "utils._pytree": "runtime.pytree",
    "utils._python_dispatch": "runtime.dispatch_mode",
    "utils.benchmark": "runtime.toolbox.benchmark",
    "utils.checkpoint": "runtime.autograd.checkpoint",
    "utils.collect_env": "environment",
    "utils.cpp_extension": "runtime.toolbox.cpp_extension",
    "utils.data": "runtime.data",
    "utils.data._utils": "runtime.data",
    "utils.data._utils.pin_memory": "runtime.data.pinning",
    "utils.data.datapipes": "runtime.data.datapipes",
    "utils.data.datapipes.datapipe": "runtime.data.datapipes",
    "utils.deterministic": "runtime.toolbox.deterministic",
    "utils.dlpack": "runtime.toolbox.dlpack",
    "utils.module_tracker": "runtime.toolbox.module_tracker",
    "utils.flop_counter": "runtime.toolbox.flop_counter",
    "utils.hooks": "runtime.toolbox.hooks",
    "utils.model_zoo": "runtime.toolbox.hub",
    "utils.tensorboard": "jit.tensorboard",
    "utils.tensorboard.summary": "jit.tensorboard.summaries",
    "utils.tensorboard.writer": "jit.tensorboard.writer",
    "utils.weak": "runtime.toolbox.weak",
    "version": "runtime.version",
    "xpu": "runtime.no_accelerator",
}
_PREFIX = __package__ + "."


def real_name(name: str) -> str | None:
    """The module behind a public path, or None for any other name."""
    if not name.startswith(_PREFIX):
        return None
    head = name[len(_PREFIX):]
    tail = ""
    while head:
        if head in PUBLIC:
            return _PREFIX + PUBLIC[head] + tail
        head, dot, last = head.rpartition(".")
        tail = dot + last + tail
    return None


def _loading(public, children, before):
    """A module's `__getattr__` that imports its public children by name (`distributions.normal`), after what it has had."""
    def find(name):
        if name in children:
            return importlib.import_module(f"{public}.{name}")
        if before is not None:
            return before(name)
        raise AttributeError(f"module {public!r} has no attribute {name!r}")

    return find


class SameModule(Loader):
    """Hands out a module that exists under another name."""

    def __init__(self, name: str, real: str):
        self.name, self.real = name, real

    def create_module(self, spec):
        module = importlib.import_module(self.real)
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.own_spec
        for name, value in vars(module).items():      # a function with the name of its file stays when that is imported
            file = sys.modules.get(f"{self.real}.{name}")
            if file is not None and file is not value:
                sys.modules.setdefault(f"{self.name}.{name}", file)
        children = {path[len(self.name) - len(_PREFIX) + 1:] for path in PUBLIC if (_PREFIX + path).startswith(self.name + ".")}
        if children:
            module.__getattr__ = _loading(self.name, children, getattr(module, "__getattr__", None))


class _Program(Loader):
    """What `python -m` runs for a public path: the `main` of its module."""

    def get_code(self, name):
        """The program."""
        return compile(f"import sys\nfrom {name.rpartition('.')[0]} import main\nsys.exit(main())\n", f"<{name}>", "exec")


class PublicPaths(MetaPathFinder):
    """Finds `ingot.nn.functional` as `ingot.runtime.nn.functional`."""

    def find_spec(self, name, path=None, target=None):
        whole, _, last = name.rpartition(".")
        if last == "__main__" and whole in sys.modules and hasattr(sys.modules[whole], "main") and real_name(whole):
            return importlib.util.spec_from_loader(name, _Program())
        real = real_name(name)
        if real is None or importlib.util.find_spec(real) is None:
            return None
        return importlib.util.spec_from_loader(name, SameModule(name, real), is_package=True)


def install():
    """Puts the finder in front, once."""
    if not any(type(f).__name__ == "PublicPaths" and type(f).__module__ == __name__ for f in sys.meta_path):
        sys.meta_path.insert(0, PublicPaths())
