"""`ingot.ao.quantization.quantize_fx`: PyTorch's names for quantising a whole graph, on `jit.quantize`.

    prepared = prepare_fx(model.eval(), get_default_qconfig_mapping(), (x,))
    for x in calibration: prepared(x)
    fast = convert_fx(prepared)         # called like the model
"""

import copy

from ..ir.errors import ArgumentError
from ..runtime.nn.module import Module
from ..runtime.quantization import QConfig, get_default_qconfig
from ..runtime.quantization.observers import HistogramObserver, MinMaxObserver, PercentileObserver, default_observer
from .exported.quantized import Calibration
from .exported.writer import quantize

__all__ = ["QConfigMapping", "convert_fx", "get_default_qconfig_mapping", "prepare_fx"]

_METHODS = {MinMaxObserver: "minmax", HistogramObserver: "mse", PercentileObserver: "percentile"}


class QConfigMapping:
    """Which layers are quantised: `set_global` for all; `set_module_name` and `set_object_type` with None leave out."""

    def __init__(self):
        self.config, self.names, self.kinds = None, [], []

    def set_global(self, global_qconfig):
        """How layers are quantised."""
        self.config = global_qconfig
        return self

    def set_module_name(self, module_name, qconfig):
        """Leaves out a module, with `qconfig` None."""
        self.names += self._left_out(module_name, qconfig)
        return self

    def set_object_type(self, object_type, qconfig):
        """Leaves out modules of a class, with `qconfig` None."""
        self.kinds += self._left_out(object_type, qconfig)
        return self

    def _left_out(self, what, qconfig):
        if qconfig is not None and qconfig != self.config:
            raise ArgumentError(f"a model is quantised in one way: the qconfig of {what} is None, or the one of all")
        return [what] if qconfig is None else []

    def keep(self, model) -> tuple:
        """The names of modules that stay in floats."""
        kinds = tuple(self.kinds)
        return (*self.names, *[name for name, module in model.named_modules() if isinstance(module, kinds)])


def get_default_qconfig_mapping(backend: str = "x86") -> QConfigMapping:
    """All layers, by the range of least error."""
    return QConfigMapping().set_global(get_default_qconfig(backend))


class PreparedModel(Module):
    """A model that notes what it is called with."""

    def __init__(self, model, method, keep):
        super().__init__()
        self.model, self.method, self.keep, self.inputs = model, method, keep, []

    def forward(self, *args):
        self.inputs.append(copy.deepcopy(args))
        return self.model(*args)


def prepare_fx(model: Module, qconfig_mapping, example_inputs=None, **others) -> PreparedModel:
    """A copy of the model that notes its calibration inputs; each call is one. `qconfig_mapping` is a QConfigMapping, or
    {"": qconfig}."""
    if any(v is not None for v in others.values()):
        raise ArgumentError(f"prepare_fx does not take {', '.join(others)}")
    if isinstance(qconfig_mapping, dict):
        if set(qconfig_mapping) != {""}:
            raise ArgumentError("prepare_fx takes a QConfigMapping, or a dict with the qconfig of all under ''")
        qconfig_mapping = QConfigMapping().set_global(qconfig_mapping[""])
    if not isinstance(qconfig_mapping.config, QConfig):
        raise ArgumentError("prepare_fx: the mapping has no qconfig for all layers; call set_global")
    observer = (qconfig_mapping.config.activation or default_observer)()
    if type(observer) not in _METHODS:
        raise ArgumentError(f"prepare_fx takes ranges as {', '.join(k.__name__ for k in _METHODS)} find them, got "
                            f"{type(observer).__name__}")
    return PreparedModel(copy.deepcopy(model).eval(), _METHODS[type(observer)], qconfig_mapping.keep(model))


def convert_fx(graph_module: PreparedModel, **others):
    """The model in whole numbers, as `jit.quantize` makes it of the inputs that the prepared one was called with."""
    if not isinstance(graph_module, PreparedModel) or any(v is not None for v in others.values()):
        raise ArgumentError("convert_fx takes what prepare_fx gave, and nothing else")
    if not graph_module.inputs:
        raise ArgumentError("convert_fx: the prepared model has seen no input; run it on calibration inputs")
    return quantize(graph_module.model, Calibration(graph_module.inputs, graph_module.method, graph_module.keep))
