"""`ingot.ao.quantization`: models of 8 bits and less, with a quarter of the memory of float32.

`quantize_` stores weights alone, in 4 to 8 bits, for language models whose speed is that of memory (`weight_only.py`).

`quantize_dynamic` needs no calibration: weights are int8, inputs are quantised at each call. It is two to six times as fast as
float32 where reading weights dominates (few rows, large layers, recurrent ones). On x86-64 without VNNI products of many rows
take up to half as long again, as bytes are multiplied as 16 bits. `prepare` and `convert` (`prepare_convert.py`) find ranges
of inputs first. The quickest way for a whole model is `jit.quantize`; `quantize_fx` has it under PyTorch's names.
"""

import copy
from collections.abc import Callable
from typing import Any

from ...ir.dtype import qint8
from ...ir.errors import ArgumentError, DTypeError
from ..nn.base.module import Module
from ..nn.layers import rnn
from ..nn.layers.linear import Linear
from ..nn.utils.parametrize import type_before_parametrizations
from . import dynamic_modules, fake_quantize, observers, prepare_convert, qconfig, qconfig_mapping, weight_only
from .fake_quantize import *  # noqa: F403
from .int8_weights import require_int8
from .observers import *  # noqa: F403
from .prepare_convert import *  # noqa: F403  (the names in its __all__)
from .qconfig import *  # noqa: F403
from .qconfig_mapping import *  # noqa: F403
from .weight_only import *  # noqa: F403

_PARTS = (prepare_convert, fake_quantize, observers, qconfig, qconfig_mapping, weight_only)
__all__ = sorted(["DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "get_default_dynamic_quant_module_mappings", "quantize_dynamic",
                  *[name for part in _PARTS for name in part.__all__]])

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[type, Any] = {
    Linear: dynamic_modules.Linear, rnn.LSTM: dynamic_modules.LSTM, rnn.GRU: dynamic_modules.GRU,
    rnn.LSTMCell: dynamic_modules.LSTMCell,
    rnn.GRUCell: dynamic_modules.GRUCell, rnn.RNNCell: dynamic_modules.RNNCell}


def get_default_dynamic_quant_module_mappings() -> dict:
    """Return the dynamic class for each float class."""
    return dict(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def quantize_dynamic(model: Module, qconfig_spec=None, dtype=qint8, mapping=None, inplace: bool = False) -> Module:
    """Return a model in evaluation mode with int8 weights in linear and recurrent modules; the model itself with `inplace`.

    qconfig_spec  types or names of modules to quantise (by default all possible); None in a dictionary excludes a key
    mapping       float classes and their dynamic classes, which have `from_float`
    """
    require_int8(dtype)
    classes = get_default_dynamic_quant_module_mappings() if mapping is None else dict(mapping)
    chosen = _chooser(model, qconfig_spec, classes)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    if chosen("", model):
        return _replaced(model, classes)
    done: dict[int, Module] = {}       # a module in several places stays one
    for path, parent in list(model.named_modules()):
        for name, child in list(parent._modules.items()):       # `named_children` skips repeats
            if child is not None and chosen(f"{path}.{name}" if path else name, child):
                if id(child) not in done:
                    done[id(child)] = _replaced(child, classes)
                setattr(parent, name, done[id(child)])
    return model


def _chooser(model, spec, classes) -> Callable[[str, Module], bool]:
    """Return a function that tells whether to quantise a module, by its name in the model."""
    spec = dict.fromkeys(classes if spec is None else spec, True) if not isinstance(spec, dict) else spec
    wanted = {key: config is not None for key, config in spec.items()}
    names = {name for name, _ in model.named_modules()}
    for key in wanted:
        if isinstance(key, str):
            if key not in names:
                raise ArgumentError(f"quantize_dynamic: the model has no module {key!r}; see model.named_modules()")
        elif not isinstance(key, type):
            raise DTypeError(f"quantize_dynamic takes types and names of modules, got {key!r}")
        elif wanted[key] and key not in classes:
            raise ArgumentError(f"quantize_dynamic has nothing that stands for {key.__name__}; it has for "
                                f"{', '.join(sorted(c.__name__ for c in classes))}")

    def chosen(path, module):
        kind = type_before_parametrizations(module)
        if kind not in classes:
            return False
        parents = [path.rsplit(".", n)[0] for n in range(path.count(".") + 1)]
        named = next((wanted[name] for name in parents if name in wanted), None)     # the innermost name counts
        return wanted.get(kind, False) if named is None else named

    return chosen


def _replaced(module, classes):
    return prepare_convert.in_place_of(module, classes[type_before_parametrizations(module)].from_float(module)).eval()
