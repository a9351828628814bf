"""Weight-only quantisation: `quantize_` replaces weights of a model by stored ones, rounded to the nearest numbers of a format.

Inputs, sums and results stay floats. A weight in several modules, such as a table that is the head as well, stays one.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.errors import ArgumentError, DTypeError, kind_of
from ...ir.reference.weight_formats import LARGEST_GROUP, UNIT, format_named
from ..nn.base.module import Module
from ..nn.base.parameter import Parameter
from ..nn.layers.embedding import Embedding
from ..nn.layers.linear import Linear
from ..stored_weights.stored_weight import StoredWeight, store

__all__ = ["Int4WeightOnlyConfig", "Int8WeightOnlyConfig", "StoredWeight", "WeightOnlyConfig", "quantize_"]


@dataclass(frozen=True)
class WeightOnlyConfig:
    """Any format: "Q4_K", "Q8_0" and others of GGUF files, "BF16", "F16", or groups such as "int6_group32"."""

    format: str

    def __post_init__(self):
        format_named(self.format)

    def format_for(self, numbers: int) -> str:
        """Return the format of rows of so many numbers. `numbers` is ignored: one format serves all lengths."""
        return self.format


@dataclass(frozen=True)
class Int4WeightOnlyConfig:
    """4 bits, with a scale and a minimum for each group of a row."""

    group_size: int = 128

    def __post_init__(self):
        self.format_for(0)

    def format_for(self, numbers: int) -> str:
        """Return the format of rows of so many numbers. `numbers` is ignored: one format serves all lengths."""
        return format_named(f"uint4_group{self.group_size}").name


@dataclass(frozen=True)
class Int8WeightOnlyConfig:
    """8 bits from -127 to 127, with a scale for each group of a row; one group is the whole row without a `group_size`."""

    group_size: int | None = None

    def __post_init__(self):
        self.format_for(UNIT)

    def format_for(self, numbers: int) -> str:
        """Return the format of rows of so many numbers."""
        size = self.group_size or -(-max(numbers, 1) // UNIT) * UNIT
        if size > LARGEST_GROUP:
            raise ArgumentError(f"Int8WeightOnlyConfig: rows of {numbers} numbers are no one group; give a group_size up to "
                                f"{LARGEST_GROUP}")
        return format_named(f"int8_group{size}").name


def quantize_(model: Module, config, filter_fn: Callable[[Module, str], bool] | None = None, device=None) -> None:
    """Store the weights of linear modules in the format of `config`, in place.

    filter_fn   function of a module and its name that chooses: modules with a weight of rows, nn.Linear and nn.Embedding
    device      to which the modules are moved before
    """
    if not isinstance(config, (WeightOnlyConfig, Int4WeightOnlyConfig, Int8WeightOnlyConfig)):
        raise DTypeError("quantize_ takes a WeightOnlyConfig, Int4WeightOnlyConfig or Int8WeightOnlyConfig, got "
                         f"{kind_of(config)}")
    done: dict[int, Parameter] = {}
    chosen = [(name, module) for name, module in model.named_modules()
              if (type(module) is Linear if filter_fn is None else filter_fn(module, name))]
    for name, module in chosen:
        _check(name, module)
    for _, module in chosen:
        if device is not None:
            module.to(device)
        weight = module.weight
        if id(weight) not in done:
            done[id(weight)] = Parameter(store(weight, config.format_for(weight.shape[-1])), requires_grad=False)
        module.weight = done[id(weight)]


def _check(name, module):
    """Raise for a module whose weight cannot be stored, before any is changed."""
    shown = f"{name or 'the model'} ({type(module).__name__})"
    if not isinstance(module, (Linear, Embedding)) or "weight" not in module._parameters:
        raise ArgumentError(f"quantize_ stores the weights of nn.Linear and nn.Embedding, and filter_fn chose {shown}")
    if isinstance(module.weight, StoredWeight):
        raise ArgumentError(f"quantize_: the weight of {shown} is stored as {module.weight.format} already")
