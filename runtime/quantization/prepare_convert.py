"""Static quantisation module by module, as in PyTorch's eager mode: after training, or during it.

    model.qconfig = get_default_qconfig()                       model.qconfig = get_default_qat_qconfig()
    prepared = prepare(fuse_modules(model.eval(), [...]))       prepared = prepare_qat(fuse_modules_qat(model.train(), [...]))
    for x in calibration: prepared(x)                           ... train prepared ...
    fast = jit.trace(convert(prepared))                         fast = jit.trace(convert(prepared))

Both put a module before each layer that `convert` will replace: an observer, or fake quantisation, which rounds the layer's
input as the int8 layer will. `prepare_qat` also makes layers round their weights (`qat_modules.py`, `fused_qat_modules.py`).
"""

import copy
from typing import Any

from ...ir.errors import ArgumentError
from ..nn.base.module import Module
from ..nn.layers import embedding as float_sparse
from ..nn.layers.linear import Identity
from ..nn.layers.linear import Linear as FloatLinear
from ..nn.utils.batch_norm_fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..nn.utils.parametrize import type_before_parametrizations
from . import fused_modules, fused_qat_modules, fused_quantized_modules, observers, qat_modules, static_modules
from .fake_quantize import FakeQuantizeBase, disable_observer
from .observers import UniformQuantizationObserverBase

__all__ = ["DEFAULT_QAT_MODULE_MAPPINGS", "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "DeQuantStub", "QuantStub", "QuantWrapper",
           "convert", "fuse_modules", "fuse_modules_qat", "get_default_qat_module_mappings",
           "get_default_static_quant_module_mappings", "get_embedding_qat_module_mappings", "prepare", "prepare_qat",
           "propagate_qconfig_", "quantize", "quantize_qat"]

_QUANTIZED: tuple = (static_modules.Linear, static_modules.Conv1d, static_modules.Conv2d,
                     *[getattr(fused_quantized_modules, name) for name in fused_quantized_modules.__all__])
_TRAINED: list = [qat_modules.Linear, qat_modules.Conv1d, qat_modules.Conv2d, qat_modules.Conv3d,
                  *[kind for name,
                    kind in vars(fused_qat_modules).items() if name in fused_qat_modules.__all__ and type(kind) is type]]
DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[type, Any] = {
    **{kind: q for q in _QUANTIZED for kind in (q._float_module, *q._trained)}, qat_modules.Embedding: static_modules.Embedding}
DEFAULT_QAT_MODULE_MAPPINGS: dict[type, Any] = {kind._FLOAT_MODULE: kind for kind in _TRAINED}
_EMBEDDINGS: dict[type, Any] = {float_sparse.Embedding: qat_modules.Embedding,
                                float_sparse.EmbeddingBag: qat_modules.EmbeddingBag}


def get_default_static_quant_module_mappings() -> dict:
    """Return the int8 class for each float class."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> dict:
    """Return the training class for each float class."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict:
    """Return the training class for each float class, with embeddings."""
    return {**DEFAULT_QAT_MODULE_MAPPINGS, **_EMBEDDINGS}


class QuantStub(static_modules.Quantize):
    """Marker of where PyTorch's models become bytes; it changes nothing here."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig


class DeQuantStub(QuantStub):
    """Marker of where they become floats again."""


class QuantWrapper(Module):
    """Module between the two markers."""

    def __init__(self, module):
        super().__init__()
        if hasattr(module, "qconfig"):
            self.qconfig = module.qconfig
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module

    def forward(self, x):
        return self.dequant(self.module(self.quant(x)))


def _show_input(module, args, kwargs):
    """Pass a module's input through its observer."""
    if args:
        return (module.input_observer(args[0]), *args[1:]), kwargs
    return args, {**kwargs, "input": module.input_observer(kwargs["input"])}


def _with_settings(model):
    """Return (path, parent, name, module, its qconfig) of all modules below one. The qconfig is the module's own, or else its
    parent's. Modules that are replaced as one are not entered."""
    stack = [("", model, getattr(model, "qconfig", None))]
    while stack:
        path, parent, config = stack.pop()
        for name, child in parent._modules.items():     # `named_children` skips repeats
            if child is None:
                continue
            own = getattr(child, "qconfig", config)
            here = f"{path}.{name}" if path else name
            yield here, parent, name, child, own
            if not isinstance(child, (fused_modules._FusedModule, qat_modules.Rounding)):
                stack.append((here, child, own))


def propagate_qconfig_(module: Module, qconfig_dict=None, prepare_custom_config_dict=None):
    """Set the qconfig of all modules: their own, that of their name or type in `qconfig_dict`, or their parent's."""
    if prepare_custom_config_dict:
        raise ArgumentError("propagate_qconfig_ knows no special modules: leave prepare_custom_config_dict out, and set "
                            "module.qconfig = None for those that stay in floats")
    named, found = qconfig_dict or {}, {}
    for path, m in module.named_modules(remove_duplicate=False):
        config = found.get(path.rpartition(".")[0]) if path else None
        config = named.get(path, named.get(type_before_parametrizations(m), config))
        found[path] = m.qconfig = getattr(m, "qconfig", config)


def _observe(path, child, config, kinds, wanted):
    """Put an observer before a module."""
    observer = (config.activation or observers.default_observer)()
    if not isinstance(observer, kinds):
        raise ArgumentError(f"qconfig of {path}: its activation makes {type(observer).__name__}, {wanted}")
    if getattr(observer, "is_per_channel", isinstance(observer, observers.PerChannelMinMaxObserver)):
        raise ArgumentError(f"qconfig of {path}: its activation makes {type(observer).__name__} with a scale for each channel, "
                            f"which has no steps for bytes; take MinMaxObserver, HistogramObserver or one like them")
    child.input_observer = observer.to(next(child.parameters()).device)
    child.register_forward_pre_hook(_show_input, with_kwargs=True)


def prepare(model: Module, inplace: bool = False) -> Module:
    """Return the model (a copy, unless `inplace`) in evaluation mode with an observer before each layer to convert. The
    attribute `qconfig` of a module selects them. It holds for all modules inside; None excludes."""
    model = model if inplace else copy.deepcopy(model)
    if type_before_parametrizations(model) in DEFAULT_STATIC_QUANT_MODULE_MAPPINGS:
        raise ArgumentError("prepare looks for layers inside of a module; put the layer into nn.Sequential or QuantWrapper")
    model.eval()
    done = 0
    for path, _, _, child, config in _with_settings(model):
        known = type_before_parametrizations(child) in DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
        if config is not None and known and not hasattr(child, "input_observer"):
            _observe(path, child, config, UniformQuantizationObserverBase, "which has no steps for bytes; take MinMaxObserver, "
                     "HistogramObserver or one like them")
            done += 1
    if not done:
        raise ArgumentError("prepare found nothing to quantise: set model.qconfig = get_default_qconfig(), and see that the "
                            "model has nn.Linear, nn.Conv1d or nn.Conv2d")
    return model


def prepare_qat(model: Module, mapping=None, inplace: bool = False) -> Module:
    """Return the training model (a copy, unless `inplace`) with layers that train for int8.

    Fake quantisation rounds their weights and inputs, as the attribute `qconfig` of a module says. It holds for all modules
    inside; None excludes.

    mapping   float classes and their training classes, which have `from_float`
    """
    if not model.training:
        raise ArgumentError("prepare_qat takes a model in training mode; call model.train()")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    if type_before_parametrizations(model) in mapping:
        raise ArgumentError("prepare_qat looks for layers inside of a module; put the layer into nn.Sequential or "
                            "QuantWrapper")
    model = model if inplace else copy.deepcopy(model)
    made: dict[int, Module] = {}        # a module in several places stays one
    for path, parent, name, child, config in list(_with_settings(model)):
        if config is None or type_before_parametrizations(child) not in mapping:
            continue
        if id(child) not in made:
            child.qconfig = config
            new = made[id(child)] = in_place_of(child, mapping[type_before_parametrizations(child)].from_float(child))
            if getattr(new, "reads_floats", True):
                _observe(path, new, config, (FakeQuantizeBase, Identity, observers.NoopObserver), "which is no fake "
                         "quantisation; take get_default_qat_qconfig()")
        setattr(parent, name, made[id(child)])
    if not made:
        raise ArgumentError("prepare_qat found nothing to quantise: set model.qconfig = get_default_qat_qconfig(), and see "
                            "that the model has nn.Linear or convolutions")
    return model


def convert(module: Module, mapping=None, inplace: bool = False) -> Module:
    """Return the prepared model (a copy, unless `inplace`) with int8 layers, for inputs like those observed.

    Trained layers without an int8 class (convolutions over volumes, bags of rows) stay, and keep their scales.

    mapping   prepared classes and their int8 classes, which have `from_float`
    """
    mapping = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS if mapping is None else mapping
    model = module if inplace else copy.deepcopy(module)
    made: dict[int, Module] = {}        # a module in several places stays one
    stays = 0
    for path, parent, name, child, _ in list(_with_settings(model)):
        kind = type_before_parametrizations(child)
        if isinstance(child, qat_modules.Rounding) and kind not in mapping:
            child.eval().apply(disable_observer)
            stays += 1
        elif kind in mapping and (hasattr(child, "input_observer") or not getattr(child, "reads_floats", True)):
            if getattr(getattr(child, "input_observer", None), "is_empty", False):
                raise ArgumentError(f"convert: {path} has seen no input; run the prepared model on inputs like those to come, "
                                    f"or set its qconfig to None")
            if id(child) not in made:
                made[id(child)] = in_place_of(child, mapping[kind].from_float(child))
            setattr(parent, name, made[id(child)])
    if not made and not stays:
        raise ArgumentError("convert takes a model that prepare or prepare_qat has made, and that has run on inputs")
    return model


def in_place_of(child, new):
    """Give a new module the hooks of the one that it replaces, and return it."""
    given, taken = child._hooks, new._hooks
    taken.forward.update(given.forward)
    taken.forward_pre.update({n: hook for n, hook in given.forward_pre.items() if hook is not _show_input})
    taken.with_kwargs |= given.with_kwargs
    taken.always |= given.always
    return new


def quantize(model: Module, run_fn, run_args, mapping=None, inplace: bool = False) -> Module:
    """Run prepare, run_fn(model, *run_args), and convert."""
    prepared = prepare(model, inplace)
    run_fn(prepared, *run_args)
    return convert(prepared, mapping, inplace=True)


def quantize_qat(model: Module, run_fn, run_args, inplace: bool = False) -> Module:
    """Run prepare_qat, run_fn(model, *run_args), which trains, and convert."""
    model = model if inplace else copy.deepcopy(model)
    prepared = prepare_qat(model.train(), inplace=True)
    run_fn(prepared, *run_args)
    return convert(prepared, inplace=True)


# Fusion of layers.


def fuse_modules(model: Module, modules_to_fuse, inplace: bool = False) -> Module:
    """Return the model (a copy, unless `inplace`) with batch norms folded into the layers before them, for evaluation.

    `modules_to_fuse` is a list of names, or several lists: a convolution or linear layer, its batch norm, maybe a ReLU; or a
    layer and a ReLU. The first module becomes all of them, the others identities.
    """
    return _with_fused(model, modules_to_fuse, inplace, _fused)


def fuse_modules_qat(model: Module, modules_to_fuse, inplace: bool = False) -> Module:
    """Return the model (a copy, unless `inplace`) with the named modules joined for `prepare_qat`. Batch norms keep training.
    The first module becomes all of them, the others identities."""
    return _with_fused(model, modules_to_fuse, inplace, _joined)


def _with_fused(model, modules_to_fuse, inplace, join):
    model = model if inplace else copy.deepcopy(model)
    lists = [modules_to_fuse] if modules_to_fuse and isinstance(modules_to_fuse[0], str) else modules_to_fuse
    for names in lists:
        parents = [model.get_submodule(name.rpartition(".")[0]) for name in names]
        parts = [model.get_submodule(name) for name in names]
        for parent, name, module in zip(parents, names, [join(parts, names), *[Identity() for _ in parts[1:]]]):
            setattr(parent, name.rpartition(".")[2], module)
    return model


def _joined(parts, names):
    kind = fused_modules.JOINED.get(tuple(type_before_parametrizations(p) for p in parts))
    if kind is None:
        layers = ", ".join(f"{n} ({type(p).__name__})" for n, p in zip(names, parts))
        raise ArgumentError(f"cannot fuse {layers}: what is fused is a convolution or linear layer, its batch norm and maybe a "
                            f"ReLU, or a layer and a ReLU")
    norms = [p for p in parts if hasattr(p, "running_var")]
    if any(p.running_var is None or p.weight is None for p in norms):
        raise ArgumentError(f"cannot fuse {', '.join(names)}: the batch norm has no running statistics, or no weight")
    if len({p.training for p in parts[:1] + norms}) > 1:
        raise ArgumentError(f"cannot fuse {', '.join(names)}: the layer and its batch norm are not in the same mode; call "
                            f"model.train() or model.eval()")
    fused = kind(*parts).train(parts[0].training)
    if hasattr(parts[0], "qconfig"):
        fused.qconfig = parts[0].qconfig
    return fused


def _fused(parts, names):
    made = _joined(parts, names)
    norm = next((p for p in parts if hasattr(p, "running_var")), None)
    if norm is None:
        return made
    if norm.training:
        raise ArgumentError(f"fuse_modules folds {', '.join(names)} for evaluation; call model.eval(), or fuse_modules_qat to "
                            f"go on training")
    layer = (fuse_linear_bn_eval if isinstance(parts[0], FloatLinear) else fuse_conv_bn_eval)(parts[0], norm)
    kind = fused_modules.JOINED.get((type(layer), *map(type, parts[2:])))
    return layer if kind is None else kind(layer, *parts[2:]).eval()
