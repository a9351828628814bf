"""States of wrapped modules: whole values by names, this rank's flat parameters, or its part of each value."""

import contextlib
from typing import Any

from ....ir.errors import ArgumentError
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...nn.base.state_dict import state_dict_arguments
from ..tensor.sharded_layout import Piece
from . import settings as kinds
from .flat_parameter import units_below
from .settings import StateDictSettings, StateDictType
from .summon_full_params import summoned
from .wrap_policies import PREFIX, named_modules_of_unit

_CONFIGS: dict[StateDictType, tuple[Any, Any]] = {
    StateDictType.FULL_STATE_DICT: (kinds.FullStateDictConfig, kinds.FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (kinds.LocalStateDictConfig, kinds.LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (kinds.ShardedStateDictConfig, kinds.ShardedOptimStateDictConfig),
}
_FLAT = "_flat_param"


class ModuleStates:
    """Methods state_dict() and load_state_dict() of FullyShardedDataParallel."""

    _unit: Any
    _buffer_dtypes: Any
    _fsdp_wrapped_module: Any
    _settings: StateDictSettings | None = None

    # Form.

    @staticmethod
    def set_state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """Set the form of states of the wrapped modules in a module; return the settings before."""
        of_module, of_optimizer = _CONFIGS[state_dict_type]
        config, optim_config = state_dict_config or of_module(), optim_state_dict_config or of_optimizer()
        if type(config) is not of_module or type(optim_config) is not of_optimizer:
            raise ArgumentError(f"{state_dict_type.name} takes a {of_module.__name__} and a {of_optimizer.__name__}, got "
                                f"{type(config).__name__} and {type(optim_config).__name__}")
        before = ModuleStates.get_state_dict_type(module)
        for inner in units_below(module):
            inner.__dict__["_settings"] = StateDictSettings(state_dict_type, config, optim_config)
        return before

    @staticmethod
    def get_state_dict_type(module) -> StateDictSettings:
        """Return the form of states of the wrapped modules in a module."""
        return next((m._settings for m in units_below(module) if m._settings is not None), StateDictSettings())

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """Return a context in which states have a form."""
        inner = units_below(module)
        before = [m._settings for m in inner]
        ModuleStates.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            for m, one in zip(inner, before):
                m.__dict__["_settings"] = one

    # Saving.

    def _own_state(self):
        return ()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Return the state in the form of `state_dict_type`, by default whole values. Every rank calls it."""
        destination, prefix, _ = state_dict_arguments(args, destination, prefix, keep_vars)
        chosen = self._settings or StateDictSettings()
        form, config = chosen.state_dict_type, chosen.state_dict_config
        before = set(destination)
        with self._in_form(form, writeback=False):
            super().state_dict(destination=destination, prefix=prefix)  # type: ignore[misc]
        if form is StateDictType.LOCAL_STATE_DICT and self._unit.entries:
            destination[prefix + _FLAT] = self._unit.part().detach()
        elif form is StateDictType.SHARDED_STATE_DICT:
            destination.update(self._pieces(prefix))
        for (path, name), dtype in self._named_buffer_dtypes().items():
            if prefix + path + name in destination:
                destination[prefix + path + name] = destination[prefix + path + name].to(dtype)
        new = [key for key in destination if key not in before]
        if getattr(config, "rank0_only", False) and self._unit.group_rank() != 0:
            for key in new:
                del destination[key]
        elif config.offload_to_cpu:
            destination.update((key, _on_cpu(destination[key])) for key in new)
        return destination

    def _in_form(self, form, writeback):
        """Return a context in which the unit's modules have the values of their states."""
        if form is StateDictType.FULL_STATE_DICT:
            return summoned(self, recurse=False, writeback=writeback)
        return self._unit.without_parameters()

    def _pieces(self, prefix) -> dict:
        """Return this rank's part of each parameter."""
        unit = self._unit
        part: Any = unit.part().detach() if unit.entries else None
        return {prefix + name: Piece(part[unit.piece_of(e)], unit.start_of(e), e.shape) for name, e in self._named_entries()}

    def _named_entries(self):
        """Yield (dotted name, entry) of all parameters, shared ones under each of their names."""
        unit = self._unit
        paths = {m: path for path, m in named_modules_of_unit(self._fsdp_wrapped_module)}
        return [(paths[slot.module] + slot.name, unit.entries[slot.number]) for slot in unit.slots]

    def _named_buffer_dtypes(self) -> dict:
        """Return {(module path, buffer name): its dtype before mixed precision}."""
        paths = {m: path for path, m in named_modules_of_unit(self._fsdp_wrapped_module)} if self._buffer_dtypes else {}
        return {(paths[m], name): dtype for (m, name), dtype in (self._buffer_dtypes or {}).items()}

    # Loading.

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Load a state in the form of `state_dict_type`; every rank calls it, with the whole state in that form."""
        if assign:
            raise ArgumentError("load_state_dict(assign=True): parameters lie in a flat one, into which values are copied; "
                                "leave assign=False")
        return super().load_state_dict(state_dict, strict)  # type: ignore[misc]

    def _load_tree(self, state, prefix, assign, report):
        form = (self._settings or StateDictSettings()).state_dict_type
        if form is not StateDictType.FULL_STATE_DICT:
            (self._load_pieces if form is StateDictType.SHARDED_STATE_DICT else self._load_flat)(state, prefix, report)
        for key in [key for key in state if key.startswith(prefix + PREFIX)]:
            state[prefix + key[len(prefix + PREFIX):]] = state.pop(key)
        with self._in_form(form, writeback=True):
            super()._load_tree(state, prefix, False, report)  # type: ignore[misc]

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Do nothing: this module's own values load with the wrapped module, under the same names."""

    def _load_flat(self, state, prefix, report):
        unit, value = self._unit, state.pop(prefix + _FLAT, None)
        if not unit.entries:
            return
        if value is None:
            report.missing.append(prefix + _FLAT)
        elif tuple(value.shape) != (unit.length,):
            report.errors.append(f"{prefix}{_FLAT} has {value.numel()} values, this rank keeps {unit.length}: local states fit "
                                 "the number of ranks that they were saved with.")
        else:
            unit.write(value)

    def _load_pieces(self, state, prefix, report):
        unit = self._unit
        if not unit.entries:
            return
        part = unit.part().detach().clone()
        for name, entry in self._named_entries():
            value = state.pop(prefix + name, None)
            own = Piece(part[unit.piece_of(entry)], unit.start_of(entry), entry.shape)
            if value is None:
                report.missing.append(prefix + name)
            elif tuple(value.shape) != entry.shape:
                report.errors.append(f"size mismatch for {prefix}{name}: the given value has shape {list(value.shape)}, the "
                                     f"module's {list(entry.shape)}.")
            elif own.fill(*_segment_of(value)) != own.tensor.numel():
                report.errors.append(f"{prefix}{name}: the given part goes from {value.start} to {value.stop}, this rank keeps "
                                     f"{own.start} to {own.stop}; load it by distributed.checkpoint, which puts parts "
                                     "together.")
        with no_grad():
            unit.write(part)


def _segment_of(value) -> tuple:
    """Return (elements, number of the first) of a part of a tensor, or a whole one."""
    return (value.tensor, value.start) if isinstance(value, Piece) else (value.detach(), 0)


def _on_cpu(value):
    if isinstance(value, Piece):
        return Piece(value.tensor.cpu(), value.start, value.shape)
    return value.cpu() if isinstance(value, Tensor) else value
