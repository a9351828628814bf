"""`ingot.ao.quantization.quantize_fx`: PyTorch's names for quantising a whole model, after or during training.

    prepared = prepare_fx(model.eval(), get_default_qconfig_mapping(), (x,))
    for x in calibration: prepared(x)
    fast = convert_fx(prepared)         # called like the model

After training, `jit.quantize` quantises the model. For training, `prepare_qat_fx` runs it once, fuses layers with the modules
that follow them, and applies `prepare_qat`.
"""

import copy

from ....ir.errors import ArgumentError
from ....runtime.autograd.grad_mode import no_grad
from ....runtime.core.tensor import Tensor
from ....runtime.nn.base.module import Module
from ....runtime.nn.utils.parametrize import type_before_parametrizations
from ....runtime.pytree.pytree import tree_leaves
from ....runtime.quantization import fused_modules, prepare_convert
from ....runtime.quantization.observers import HistogramObserver, MinMaxObserver, PercentileObserver, default_observer
from ....runtime.quantization.qconfig import QConfig, qconfig_equals
from ....runtime.quantization.qconfig_mapping import (
    QConfigMapping,
    get_default_qat_qconfig_mapping,
    get_default_qconfig_mapping,
)
from ..capture.static_quantization import Calibration
from ..file.writer import quantize

__all__ = ["QConfigMapping", "convert_fx", "fuse_fx", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping",
           "prepare_fx", "prepare_qat_fx"]

_LAYERS = tuple(k for k in prepare_convert.DEFAULT_STATIC_QUANT_MODULE_MAPPINGS if not issubclass(k,
                                                                                                  fused_modules._FusedModule))
_METHODS = {MinMaxObserver: "minmax", HistogramObserver: "mse", PercentileObserver: "percentile"}


class PreparedModel(Module):
    """A model that records its calibration inputs."""

    def __init__(self, model, method, keep):
        super().__init__()
        self.model, self.method, self.keep, self.inputs = model, method, keep, []

    def forward(self, *args):
        self.inputs.append(copy.deepcopy(args))
        return self.model(*args)


def _mapping(mapping, name) -> QConfigMapping:
    """Return a mapping, or the mapping that a dictionary stands for."""
    if isinstance(mapping, dict):
        mapping = QConfigMapping.from_dict(mapping)
    if not isinstance(mapping, QConfigMapping):
        raise ArgumentError(f"{name} takes a QConfigMapping, or a dict with the qconfig of all under '', got "
                            f"{type(mapping).__name__}")
    return mapping


def _refuse(name, others):
    if any(v is not None for v in others.values()):
        raise ArgumentError(f"{name} does not take {', '.join(others)}")


def prepare_fx(model: Module, qconfig_mapping, example_inputs=None, **others) -> PreparedModel:
    """Return a copy of the model that records its calibration inputs; each call is one.

    `qconfig_mapping` is a QConfigMapping, or {"": qconfig}. Modules with qconfig None stay in floats. `example_inputs` are
    ignored: the first call with calibration inputs shows shapes.
    """
    _refuse("prepare_fx", others)
    qconfig_mapping = _mapping(qconfig_mapping, "prepare_fx")
    config = qconfig_mapping.global_qconfig
    if not isinstance(config, QConfig):
        raise ArgumentError("prepare_fx: the mapping has no qconfig for all layers; call set_global")
    layers = {path for path, m in model.named_modules() if isinstance(m, _LAYERS)}
    keep = []
    for path, own in qconfig_mapping.for_modules(model).items():
        if own is None:
            keep += [path] if path in layers else []
        elif not qconfig_equals(own, config):
            raise ArgumentError(f"a model is quantised in one way: the qconfig of {path} is None, or the one of all")
    observer = (config.activation or default_observer)()
    if type(observer) not in _METHODS:
        raise ArgumentError(f"prepare_fx takes ranges as {', '.join(k.__name__ for k in _METHODS)} find them, got "
                            f"{type(observer).__name__}")
    return PreparedModel(copy.deepcopy(model).eval(), _METHODS[type(observer)], tuple(keep))


def prepare_qat_fx(model: Module, qconfig_mapping, example_inputs, **others) -> Module:
    """Return a copy of the model, which is in training mode, for quantisation-aware training.

    Layers are fused with the batch norms and ReLUs after them, and rounded as the mapping says. `example_inputs` are the
    arguments of one call, which is made.
    """
    _refuse("prepare_qat_fx", others)
    mapping = _mapping(qconfig_mapping, "prepare_qat_fx")
    if not model.training:
        raise ArgumentError("prepare_qat_fx takes a model in training mode; call model.train()")
    configs = mapping.for_modules(model)
    made = copy.deepcopy(model)
    for path, module in made.named_modules(remove_duplicate=False):
        module.qconfig = configs[path]
    chains = [c for c in _chains(made, example_inputs) if configs[c[0]] is not None]
    return prepare_convert.prepare_qat(prepare_convert.fuse_modules_qat(made, chains, inplace=True), inplace=True)


def fuse_fx(model: Module, example_inputs=None, **others) -> Module:
    """Return a copy of the model, which is in evaluation mode, with batch norms folded into layers and ReLUs fused.

    `example_inputs` are the arguments of one call, which is made.
    """
    _refuse("fuse_fx", others)
    if example_inputs is None:
        raise ArgumentError("fuse_fx finds out which layers follow each other by a call: give example_inputs")
    return prepare_convert.fuse_modules(model, _chains(copy.deepcopy(model), example_inputs))


def _chains(model, example_inputs) -> list:
    """Return names of modules that are called in a row, each only on the result of the one before, and that can be fused."""
    names = {id(m): path for path, m in model.named_modules()}
    leaves = {id(m): m for m in model.modules() if not m._modules}
    calls: list = []            # (module, arguments, result) of each call; held, so that each is one object
    hooks = [m.register_forward_hook(lambda m, args, out: calls.append((m, args, out))) for m in leaves.values()]
    modes = {m: m.training for m in model.modules()}
    arguments = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    with no_grad():
        model.eval()(*arguments)
    for hook in hooks:
        hook.remove()
    for m, mode in modes.items():
        m.training = mode
    times = [id(m) for m, _, _ in calls]
    readers: dict = {}
    for m, args, _ in calls:
        for t in tree_leaves(args):
            if isinstance(t, Tensor):
                readers.setdefault(id(t), []).append(m)
    gives = {id(m): out for m, _, out in calls if times.count(id(m)) == 1}

    def after(m):
        found = readers.get(id(gives.get(id(m))), [])
        return found[0] if len(found) == 1 and id(found[0]) in gives else None

    found = []
    for m, _, _ in calls:
        run = [m]
        while len(run) < 3 and run[-1] is not None:
            run.append(after(run[-1]))
        kinds = [None if part is None else type_before_parametrizations(part) for part in run]
        length = next((n for n in (3, 2) if tuple(kinds[:n]) in fused_modules.JOINED), 0)
        if length:
            found.append([names[id(part)] for part in run[:length]])
    return found


def convert_fx(graph_module: Module, qconfig_mapping=None, **others):
    """Return the integer model.

    `jit.quantize` makes it from the recorded calibration inputs; after training it is converted layer by layer.
    """
    _refuse("convert_fx", {"qconfig_mapping": qconfig_mapping, **others})
    if any(hasattr(m, "input_observer") for m in graph_module.modules()):
        return prepare_convert.convert(graph_module).eval()
    if not isinstance(graph_module, PreparedModel):
        raise ArgumentError("convert_fx takes what prepare_fx gave, and nothing else")
    if not graph_module.inputs:
        raise ArgumentError("convert_fx: the prepared model has seen no input; run it on calibration inputs")
    return quantize(graph_module.model, Calibration(graph_module.inputs, graph_module.method, graph_module.keep))
