"""States of models and optimizers by parameter names without wrappers."""

from dataclasses import dataclass, field
from typing import Any

from ....ir.errors import ArgumentError
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor, wrap
from ...nn.parallel import DataParallel, DistributedDataParallel
from ..collectives.object_collectives import broadcast_object_list
from ..fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from ..fsdp.settings import StateDictType
from ..groups.world import get_rank, is_initialized
from ..tensor.dtensor import DTensor
from ..tensor.dtensor_factories import sharded
from ..tensor.sharded_layout import Piece, without_terms

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
           "set_optimizer_state_dict", "set_state_dict"]


@dataclass
class StateDictOptions:
    """Options of states. Models are whole on every rank, except in FullyShardedDataParallel: without `full_state_dict` each
    rank has pieces. `dsd_fqn_modifiers` is ignored: modules have no methods that rename parameters."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = field(default="_fqn_modifiers")


def _plain_names(model) -> dict:
    """Return {name in the model: name without wrappers}."""
    wrappers = {f"{path}.module." if path else "module." for path, m in model.named_modules()
                if isinstance(m, (DataParallel, DistributedDataParallel))}

    def plain(name):
        for prefix in sorted(wrappers, key=len, reverse=True):      # inner ones first
            if name.startswith(prefix):
                name = prefix[: -len("module.")] + name[len(prefix):]
        return name.replace("_orig_mod.", "")

    return {name: plain(name) for name in model.state_dict(keep_vars=True)}


def _detached(value, options):
    """Return a value on the device of the options, without history."""
    if isinstance(value, dict):
        return {k: _detached(v, options) for k, v in value.items()}
    if isinstance(value, Piece):
        return Piece(_detached(value.tensor, options), value.start, value.shape)
    if isinstance(value, DTensor) and options.full_state_dict:
        bare: Any = value.detach()
        return _detached(bare.full_tensor(), options)
    if isinstance(value, Tensor):
        return value.detach().cpu() if options.cpu_offload else value.detach()
    return value


def _in_form(model, options):
    """Return a context that sets the form of states of sharded modules."""
    form = StateDictType.FULL_STATE_DICT if options.full_state_dict else StateDictType.SHARDED_STATE_DICT
    return FullyShardedDataParallel.state_dict_type(model, form)


def get_model_state_dict(model, *, submodules=None, options=None) -> dict:
    """Return the model's state, under names without wrappers."""
    options = options or StateDictOptions()
    with _in_form(model, options):
        found = _model_state(model, submodules, options)
    return {} if _is_left_to_first(model, options) else found


def _is_left_to_first(model, options) -> bool:
    """Return whether rank 0 alone keeps whole values of DTensors."""
    first_alone = options.full_state_dict and options.cpu_offload and is_initialized() and get_rank() != 0
    return first_alone and any(isinstance(t, DTensor) for t in model.parameters())


def _model_state(model, submodules, options) -> dict:
    names, found = _plain_names(model), {}
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    prefixes = [path for path, m in model.named_modules() if submodules is not None and m in submodules]
    for name, value in model.state_dict(keep_vars=True).items():
        if options.ignore_frozen_params and name in frozen:
            continue
        prefix = next((p for p in prefixes if name.startswith(f"{p}.")), None)
        if submodules is None:
            found[names[name]] = _detached(value, options)
        elif prefix is not None:
            found[names[name] if options.keep_submodule_prefixes else name[len(prefix) + 1:]] = _detached(value, options)
    return found


def _listed(optimizers) -> list:
    return list(optimizers) if isinstance(optimizers, (list, tuple)) else [optimizers]


def _parameter_names(model) -> dict:
    names = _plain_names(model)
    return {id(p): names.get(name, name) for name, p in model.named_parameters()}


def _name(names, p) -> str:
    if id(p) not in names:
        raise ArgumentError("the optimizer has a parameter that is not the model's")
    return names[id(p)]


def _make_state(optimizer):
    """Make an optimizer create its state, by a step with gradients and learning rates of zero."""
    params = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    before = [p.detach().clone() for p in params]
    for p in params:
        p.grad = p.detach() * 0
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = wrap(group["lr"]._a * 0) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates):
        if "lr" in group:
            group["lr"] = rate
    with no_grad():
        for p, value in zip(params, before):
            p.copy_(value)
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None) -> dict:
    """Return the states of optimizers by parameter names, of `submodules` if given; one without a step creates its state
    first."""
    options = options or StateDictOptions()
    names = _parameter_names(model)
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _make_state(optimizer)
        if FullyShardedDataParallel.fsdp_modules(model):
            with _in_form(model, options):
                own = FullyShardedDataParallel.optim_state_dict(model, optimizer)
            found["state"].update((p, _detached(state, options)) for p, state in own["state"].items())
            found["param_groups"] += own["param_groups"]
            continue
        params = [_name(names, p) for group in optimizer.param_groups for p in group["params"]]
        own = optimizer.state_dict()
        found["state"].update((params[k], _detached(state, options)) for k, state in own["state"].items())
        found["param_groups"] += [{**group, "params": [params[k] for k in group["params"]]} for group in own["param_groups"]]
    if submodules is not None:
        found = _within(found, {names[id(p)] for m in submodules for p in m.parameters() if id(p) in names})
    if _is_left_to_first(model, options):
        return {}
    return _flat(found) if options.flatten_optimizer_state_dict else found


def _within(state, names) -> dict:
    """Return the states and options of some parameters."""
    groups = [{**group, "params": [p for p in group["params"] if p in names]} for group in state["param_groups"]]
    return {"state": {p: entry for p, entry in state["state"].items() if p in names},
            "param_groups": [group for group in groups if group["params"]]}


def _flat(state) -> dict:
    """Return states under "state.parameter.name", options under "param_groups.parameter.name"."""
    found = {f"state.{p}.{name}": value for p, entry in state["state"].items() for name, value in entry.items()}
    for group in state["param_groups"]:
        for p in group["params"]:
            found.update((f"param_groups.{p}.{name}", value) for name, value in group.items()
                         if name not in ("params", "param_names"))
    return found


def _nested(flat, names) -> dict:
    """Undo `_flat`, with a group for each parameter."""
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for p in names:
        state = {k[len(f"state.{p}."):]: v for k, v in flat.items() if k.startswith(f"state.{p}.")}
        state = {k: v for k, v in state.items() if "." not in k}
        options = {k[len(f"param_groups.{p}."):]: v for k, v in flat.items() if k.startswith(f"param_groups.{p}.")}
        options = {k: v for k, v in options.items() if "." not in k}
        if state:
            found["state"][p] = state
        if options:
            found["param_groups"].append({**options, "params": [p]})
    return found


def get_state_dict(model, optimizers, *, submodules=None, options=None) -> tuple:
    """Return (the model's state, the optimizers' state)."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def _from_first(state, options):
    """Return the state of rank 0, if the options say that only rank 0 has one."""
    if not options.broadcast_from_rank0 or not is_initialized():
        return state
    box = [state if get_rank() == 0 else None]
    broadcast_object_list(box, 0)
    return box[0]


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Load a state under names without wrappers into a model; return the result of load_state_dict."""
    options = options or StateDictOptions()
    state = _from_first(model_state_dict, options)
    with _in_form(model, options):
        wrapped = {plain: name for name, plain in _plain_names(model).items()}
        own = model.state_dict(keep_vars=True)
        given = {wrapped.get(k, k): v for k, v in state.items()}
        return model.load_state_dict({k: _in_layout_of(v, own.get(k)) for k, v in given.items()}, strict=options.strict)


def _in_layout_of(value, like):
    """Return a whole value as a tensor with the layout of a DTensor of its shape."""
    is_whole = isinstance(value, Tensor) and not isinstance(value, DTensor)
    if not isinstance(like, DTensor) or not is_whole or value.shape != like.shape:
        return value
    return sharded(value.to(like.device), like.device_mesh, without_terms(like.placements), None)


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Load the states of optimizers, by parameter names."""
    options = options or StateDictOptions()
    names = _parameter_names(model)
    whole = _from_first(optim_state_dict, options)
    if options.flatten_optimizer_state_dict:
        whole = _nested(whole, list(dict.fromkeys(names.values())))
    of_parameter = {p: group for group in whole["param_groups"] for p in group["params"]}
    for optimizer in _listed(optimizers):
        if FullyShardedDataParallel.fsdp_modules(model):
            FullyShardedDataParallel.optim_state_dict_to_load(model, optimizer, whole, load_directly=True)
            continue
        groups, state, number = [], {}, 0
        for group in optimizer.param_groups:
            params = [_name(names, p) for p in group["params"]]
            if missing := [p for p in params if p not in of_parameter]:
                raise ArgumentError(f"the state of the optimizer does not name the parameters {missing[:5]}")
            options_of = of_parameter[params[0]] if params else group
            groups.append({**{k: v for k, v in options_of.items() if k != "params"},
                           "params": list(range(number, number + len(params)))})
            state.update((number + i, {k: _in_layout_of(v, own) for k, v in whole["state"][p].items()})
                         for i, (p, own) in enumerate(zip(params, group["params"])) if p in whole["state"])
            number += len(params)
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load the states of a model and its optimizers."""
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
