"""`ingot.ao.quantization.quantize_fx`: PyTorch's names for quantising a whole model, after training or while it goes on.

    prepared = prepare_fx(model.eval(), get_default_qconfig_mapping(), (x,))
    for x in calibration: prepared(x)
    fast = convert_fx(prepared)         # called like the model

After training a model is quantised by `jit.quantize`. For training, `prepare_qat_fx` runs it once, joins layers with what
follows them, and does what `prepare_qat` does.
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
    """A model that notes what it is called with."""

    def __init__(self, model, method, keep):
        super().__init__()
        self.model, self.method, self.keep, self.inputs = model, method, keep, []

    def forward(self, *args):
        self.inputs.append(copy.deepcopy(args))
        return self.model(*args)


def _mapping(said, name) -> QConfigMapping:
    """The mapping that was given, or that a dictionary stands for."""
    if isinstance(said, dict):
        said = QConfigMapping.from_dict(said)
    if not isinstance(said, QConfigMapping):
        raise ArgumentError(f"{name} takes a QConfigMapping, or a dict with the qconfig of all under '', got "
                            f"{type(said).__name__}")
    return said


def _refuse(name, others):
    if any(v is not None for v in others.values()):
        raise ArgumentError(f"{name} does not take {', '.join(others)}")


def prepare_fx(model: Module, qconfig_mapping, example_inputs=None, **others) -> PreparedModel:
    """A copy of the model that notes its calibration inputs; each call is one. `qconfig_mapping` is a QConfigMapping, or
    {"": qconfig}; modules stay in floats for which it has None."""
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
    """A copy of the model, which is in training mode, that trains for whole numbers: layers are joined with the batch norms and
    ReLUs behind them, and rounded as the mapping says. `example_inputs` are the arguments of a call, which is made once."""
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
    """A copy of the model, which is in evaluation mode, with batch norms folded into the layers before them, and ReLUs joined.
    `example_inputs` are the arguments of a call, which is made once."""
    _refuse("fuse_fx", others)
    if example_inputs is None:
        raise ArgumentError("fuse_fx finds out which layers follow each other by a call: give example_inputs")
    return prepare_convert.fuse_modules(model, _chains(copy.deepcopy(model), example_inputs))


def _chains(model, example_inputs) -> list:
    """Names of modules that are called one after the other, each on what the one before gave and nobody else takes, and that
    are joined for training or evaluation."""
    names = {id(m): path for path, m in model.named_modules()}
    leaves = {id(m): m for m in model.modules() if not m._modules}
    calls: list = []            # (module, what it is called with, what it gives): kept, so that each is one object
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
    """The model in whole numbers: as `jit.quantize` makes it of the inputs that the prepared one was called with, or, after
    training, layer by layer."""
    _refuse("convert_fx", {"qconfig_mapping": qconfig_mapping, **others})
    if any(hasattr(m, "input_observer") for m in graph_module.modules()):
        return prepare_convert.convert(graph_module).eval()
    if not isinstance(graph_module, PreparedModel):
        raise ArgumentError("convert_fx takes what prepare_fx gave, and nothing else")
    if not graph_module.inputs:
        raise ArgumentError("convert_fx: the prepared model has seen no input; run it on calibration inputs")
    return quantize(graph_module.model, Calibration(graph_module.inputs, graph_module.method, graph_module.keep))
