"""Post-training static quantisation module by module, as PyTorch's eager mode has it.

    model.qconfig = get_default_qconfig()
    prepared = prepare(fuse_modules(model.eval(), [["conv", "bn", "relu"]]))
    for x in calibration: prepared(x)
    fast = jit.trace(convert(prepared))

`prepare` puts an observer before each linear layer and each convolution, `convert` puts modules in whole numbers in their
place.
"""

import copy
from typing import Any

from ...ir.errors import ArgumentError
from ..nn import conv as float_conv
from ..nn.activation import ReLU
from ..nn.container import Sequential
from ..nn.linear import Identity
from ..nn.linear import Linear as FloatLinear
from ..nn.module import Module
from ..nn.norm import BatchNorm1d, BatchNorm2d
from ..nn.utils.fusion import fuse_conv_bn_eval
from ..nn.utils.parametrize import type_before_parametrizations
from . import observers, static

_CLASSES: dict[type, Any] = {FloatLinear: static.Linear, float_conv.Conv1d: static.Conv1d, float_conv.Conv2d: static.Conv2d}
_NORMS = {float_conv.Conv1d: BatchNorm1d, float_conv.Conv2d: BatchNorm2d}


class QuantStub(static.Quantize):
    """Marks where PyTorch's models become bytes; here it changes nothing."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig


class DeQuantStub(QuantStub):
    """Marks where they become floats again."""


class QuantWrapper(Module):
    """A module between the two marks."""

    def __init__(self, module):
        super().__init__()
        if hasattr(module, "qconfig"):
            self.qconfig = module.qconfig
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module

    def forward(self, x):
        return self.dequant(self.module(self.quant(x)))


class _Watch:
    """A hook that shows an observer what a module is called with."""

    def __init__(self, observer):
        self.observer = observer

    def __call__(self, module, args):
        self.observer(args[0])


def _with_settings(model):
    """(path, parent, name, module, its qconfig) of all modules below one, which have their parents' qconfig unless they have
    their own."""
    stack = [("", model, getattr(model, "qconfig", None))]
    while stack:
        path, parent, config = stack.pop()
        for name, child in parent._modules.items():     # `named_children` leaves out what it has had
            if child is None:
                continue
            own = getattr(child, "qconfig", config)
            here = f"{path}.{name}" if path else name
            yield here, parent, name, child, own
            stack.append((here, child, own))


def prepare(model: Module, inplace: bool = False) -> Module:
    """The model (a copy, unless `inplace`) in evaluation mode with an observer before each layer that `convert` will replace.
    Which these are says the attribute `qconfig` of modules: it holds for all that they contain, and None leaves out."""
    model = model if inplace else copy.deepcopy(model)
    if type_before_parametrizations(model) in _CLASSES:
        raise ArgumentError("prepare looks for layers inside of a module; put the layer into nn.Sequential or QuantWrapper")
    model.eval()
    done = 0
    for path, _, _, child, config in _with_settings(model):
        if config is not None and type_before_parametrizations(child) in _CLASSES and not hasattr(child, "input_observer"):
            observer = (config.activation or observers.default_observer)()
            if not isinstance(observer, observers.PerTensorObserver):
                raise ArgumentError(f"qconfig of {path}: its activation makes {type(observer).__name__}, which has no steps "
                                    f"for bytes; take MinMaxObserver, HistogramObserver or one like them")
            child.input_observer = observer
            child.register_forward_pre_hook(_Watch(observer))
            done += 1
    if not done:
        raise ArgumentError("prepare found nothing to quantise: set model.qconfig = get_default_qconfig(), and see that the "
                            "model has nn.Linear, nn.Conv1d or nn.Conv2d")
    return model


def convert(module: Module, inplace: bool = False) -> Module:
    """The prepared model (a copy, unless `inplace`) with layers in whole numbers, for inputs like those observed."""
    model = module if inplace else copy.deepcopy(module)
    made: dict[int, Module] = {}        # a module in several places stays one
    for path, parent, name, child, _ in list(_with_settings(model)):
        if not hasattr(child, "input_observer"):
            continue
        if child.input_observer.is_empty:
            raise ArgumentError(f"convert: {path} has seen no input; run the prepared model on calibration inputs, or set its "
                                f"qconfig to None")
        if id(child) not in made:
            made[id(child)] = _replaced(child)
        setattr(parent, name, made[id(child)])
    if not made:
        raise ArgumentError("convert takes a model that prepare has made, and that has run on calibration inputs")
    return model


def _replaced(child):
    new = _CLASSES[type_before_parametrizations(child)].from_float(child)
    new._forward_hooks.update(child._forward_hooks)
    new._forward_pre_hooks.update({n: hook for n, hook in child._forward_pre_hooks.items() if not isinstance(hook, _Watch)})
    return new


def quantize(model: Module, run_fn, run_args, mapping=None, inplace: bool = False) -> Module:
    """prepare, run_fn(model, *run_args), convert."""
    if mapping is not None:
        raise ArgumentError("quantize takes no mapping; it replaces nn.Linear, nn.Conv1d and nn.Conv2d")
    prepared = prepare(model, inplace)
    run_fn(prepared, *run_args)
    return convert(prepared, inplace=True)


def fuse_modules(model: Module, modules_to_fuse, inplace: bool = False) -> Module:
    """The model (a copy, unless `inplace`) with batch norms folded into the convolutions before them. `modules_to_fuse` is a
    list of names, or several: a convolution, its batch norm, maybe a ReLU; or a convolution or linear layer and a ReLU. The
    first becomes all of them, the others nothing."""
    model = model if inplace else copy.deepcopy(model)
    lists = [modules_to_fuse] if modules_to_fuse and isinstance(modules_to_fuse[0], str) else modules_to_fuse
    for names in lists:
        parents = [model.get_submodule(name.rpartition(".")[0]) for name in names]
        parts = [model.get_submodule(name) for name in names]
        for parent, name, module in zip(parents, names, [_fused(parts, names), *[Identity() for _ in parts[1:]]]):
            setattr(parent, name.rpartition(".")[2], module)
    return model


def _fused(parts, names):
    kinds = [type_before_parametrizations(p) for p in parts]
    first, *after = kinds
    norm = _NORMS.get(first)
    if first not in _CLASSES or after not in ([norm], [norm, ReLU], [ReLU]) or None in after:
        said = ", ".join(f"{n} ({k.__name__})" for n, k in zip(names, kinds))
        raise ArgumentError(f"fuse_modules cannot fuse {said}: it takes a convolution, its batch norm and maybe a ReLU, or a "
                            f"layer and a ReLU")
    layer = fuse_conv_bn_eval(*parts[:2]) if norm in after else parts[0]
    return Sequential(layer, parts[-1]) if after[-1] is ReLU else layer
