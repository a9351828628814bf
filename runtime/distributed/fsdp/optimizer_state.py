"""States of optimizers with sharded parameters, by parameter names, as whole values or this rank's parts."""

from typing import Any

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ..collectives.object_collectives import all_gather_object, broadcast_object_list
from ..groups.world import the_group
from ..tensor.sharded_layout import Piece
from .module_state import ModuleStates, _segment_of
from .settings import OptimStateKeyType, StateDictType
from .wrap_policies import clean, is_unit


class OptimizerStates:
    """Optimizer state methods of FullyShardedDataParallel."""

    @staticmethod
    def optim_state_dict(model, optim, optim_state_dict=None, group=None) -> dict:
        """Return an optimizer's state by parameter names, in the form of `state_dict_type`. Every rank calls it."""
        form = ModuleStates.get_state_dict_type(model)
        config = form.optim_state_dict_config
        return _by_names(model, optim, optim_state_dict, form.state_dict_type, config.offload_to_cpu,
                         getattr(config, "rank0_only", False), group)

    @staticmethod
    def optim_state_dict_to_load(model, optim, optim_state_dict, is_named_optimizer=False, load_directly=False, group=None):
        """Return the argument of optim.load_state_dict() for a state by names; with `load_directly` also load it. Every rank
        calls it. With a `rank0_only` form only rank 0 needs a whole state."""
        if is_named_optimizer:
            raise ArgumentError("optim_state_dict_to_load: optimizers number their parameters; leave is_named_optimizer=False")
        config = ModuleStates.get_state_dict_type(model).optim_state_dict_config
        state = _by_numbers(model, optim, optim_state_dict, getattr(config, "rank0_only", False), group)
        if load_directly:
            optim.load_state_dict(state)
        return state

    @staticmethod
    def full_optim_state_dict(model, optim, optim_input=None, rank0_only=True, group=None) -> dict:
        """Return the whole state by names, on rank 0 or everywhere. `optim_input` is ignored: the optimizer knows its
        parameters."""
        return _by_names(model, optim, None, StateDictType.FULL_STATE_DICT, True, rank0_only, group)

    @staticmethod
    def sharded_optim_state_dict(model, optim, group=None) -> dict:
        """Return this rank's part of the state by names."""
        return _by_names(model, optim, None, StateDictType.SHARDED_STATE_DICT, False, False, group)

    @staticmethod
    def shard_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None) -> dict:
        """Return the argument of optim.load_state_dict() for a whole state on every rank. `optim_input` is ignored: the
        optimizer knows its parameters."""
        return _by_numbers(model, _require_optimizer(optim, "shard_full_optim_state_dict"), full_optim_state_dict, False, None)

    @staticmethod
    def flatten_sharded_optim_state_dict(sharded_optim_state_dict, model, optim) -> dict:
        """Return the argument of optim.load_state_dict() for this rank's part of a state."""
        return _by_numbers(model, optim, sharded_optim_state_dict, False, None)

    @staticmethod
    def scatter_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None, group=None) -> dict:
        """Return the argument of optim.load_state_dict() for a whole state on rank 0. `optim_input` is ignored: the optimizer
        knows its parameters."""
        optim = _require_optimizer(optim, "scatter_full_optim_state_dict")
        return _by_numbers(model, optim, full_optim_state_dict, True, group)

    @staticmethod
    def rekey_optim_state_dict(optim_state_dict, optim_state_key_type, model, optim_input=None, optim=None) -> dict:
        """Convert a whole state by names to one by numbers, or back, for a model without wrappers. `optim_input` is ignored:
        the optimizer knows its parameters."""
        params = [p for g in optim.param_groups for p in g["params"]] if optim is not None else [*model.parameters()]
        names = {id(p): name for name, p in model.named_parameters()}
        by_name = {names[id(p)]: i for i, p in enumerate(params)}
        keys: Any = by_name if optim_state_key_type is OptimStateKeyType.PARAM_ID else {i: n for n, i in by_name.items()}
        return {**optim_state_dict, "state": {keys[k]: v for k, v in optim_state_dict["state"].items()},
                "param_groups": [{**g, "params": [keys[k] for k in g["params"]]} for g in optim_state_dict["param_groups"]]}


def _require_optimizer(optim, what):
    if optim is None:
        raise ArgumentError(f"{what} needs optim=, the optimizer that the state is for")
    return optim


def _units_by_parameter(model) -> dict:
    """Return {id of a parameter: (unit, [(entry number, name)])}. The unit is None for parameters that are not sharded; a flat
    parameter has all entries of its unit."""
    parameters: dict = {id(p): (None, [(0, clean(name))]) for name, p in model.named_parameters()}
    for path, wrapped in model.named_modules():
        if not is_unit(wrapped):
            continue
        unit, start = wrapped._unit, clean(f"{path}." if path else "")
        names = [(i, start + e.name) for i, e in enumerate(unit.entries)]
        for i, p in enumerate(unit.params):
            parameters[id(p)] = unit, [names[i]] if unit.use_orig_params else names
    return parameters


def _params_by_number(optim, known) -> dict:
    """Return {number in optim.state_dict(): parameter}."""
    params = [p for group in optim.param_groups for p in group["params"]]
    if any(id(p) not in known for p in params):
        raise ArgumentError("the optimizer has a parameter that is not the model's; make it of model.parameters() once the "
                            "model is wrapped")
    return dict(enumerate(params))


# By names.


def _by_names(model, optim, state_dict, form, offload, rank0_only, group) -> dict:
    if form is StateDictType.LOCAL_STATE_DICT:
        raise ArgumentError("optim_state_dict: the local form is optim.state_dict() itself; choose FULL_STATE_DICT or "
                            "SHARDED_STATE_DICT by state_dict_type")
    known, state_dict = _units_by_parameter(model), optim.state_dict() if state_dict is None else state_dict
    params = _params_by_number(optim, known)
    of_param = {id(p): state_dict["state"].get(k, {}) for k, p in params.items()}
    units: dict = {}
    for k, p in params.items():
        units.setdefault(known[id(p)][0] or k, p)
    state: dict = {}
    for p in units.values():
        unit, names = known[id(p)]
        if unit is None:
            if of_param[id(p)]:
                state[names[0][1]] = dict(of_param[id(p)])
        else:
            make = _whole_values if form is StateDictType.FULL_STATE_DICT else _own_pieces
            all_names = [name for q in unit.params for _, name in known[id(q)][1]]
            state.update(make(unit, all_names, [of_param.get(id(q), {}) for q in unit.params]))
    order = [name for p in params.values() for _, name in known[id(p)][1]]
    groups = [{**g, "params": [name for k in g["params"] for _, name in known[id(params[k])][1]]}
              for g in state_dict["param_groups"]]
    if rank0_only and the_group(group).rank() != 0:
        return {}
    found = {name: state[name] for name in order if name in state}
    return {"state": _offloaded(found) if offload else found, "param_groups": groups}


def _offloaded(value):
    if isinstance(value, dict):
        return {k: _offloaded(v) for k, v in value.items()}
    if isinstance(value, Piece):
        return Piece(_offloaded(value.tensor), value.start, value.shape)
    return value.detach().cpu() if isinstance(value, Tensor) else value


def _is_part(value, p) -> bool:
    """Return whether a value of a parameter's state has an element for each of its own."""
    if not isinstance(value, Tensor) or value.dim() == 0:
        return False
    if value.shape != p.shape:
        raise ArgumentError(f"the optimizer keeps a tensor of shape {list(value.shape)} for {p.numel()} values of a flat "
                            "parameter; only what has one element for each, or is one number, can be put together")
    return True


def _gather_states(unit, names, states) -> tuple:
    """Return {name: values of any rank without parts}, and {state name: (dtype, parameter names with it)}."""
    mine: list = []
    for p, state in zip(unit.params, states):
        mine.append({k: (v.dtype, None) if _is_part(v, p) else (None, v) for k, v in state.items()})
    values: dict = {}
    parts: dict = {}
    for states_of_rank in unit.collect_objects(mine):
        for i, state in enumerate(states_of_rank):
            for name in [names[i]] if unit.use_orig_params else names:
                for k, (dtype, value) in state.items():
                    values.setdefault(name, {}).setdefault(k, value)
                    if dtype is not None:
                        parts.setdefault(k, (dtype, {}))[1][name] = None
    return values, parts


def _flat_state(unit, states, k, dtype) -> Tensor:
    """Return one kind of state of this rank's part; zeros for missing ones."""
    pieces = [s[k].reshape(-1) if k in s else FUNCTIONS["zeros_like"](p, dtype=dtype) for s, p in zip(states, unit.params)]
    pad = unit.length - sum([piece.numel() for piece in pieces])
    return FUNCTIONS["cat"]([*pieces, pieces[0].new_zeros((pad,))])


def _whole_values(unit, names, states) -> dict:
    values, parts = _gather_states(unit, names, states)
    with no_grad():
        for k, (dtype, having) in parts.items():
            whole = unit.collect(_flat_state(unit, states, k, dtype), f"state {k}")
            for name, v in zip(names, unit.cut(whole)):
                if name in having:
                    values[name][k] = v.clone()
    return values


def _own_pieces(unit, names, states) -> dict:
    values, parts = _gather_states(unit, names, states)
    for k, (dtype, having) in parts.items():
        flat = _flat_state(unit, states, k, dtype)
        for name, entry in zip(names, unit.entries):
            if name in having:
                values[name][k] = Piece(flat[unit.piece_of(entry)], unit.start_of(entry), entry.shape)
    return values


# By numbers.


def _by_numbers(model, optim, state_dict, from_first, group) -> dict:
    if from_first:
        state_dict = _from_rank_0(state_dict, group)
    known = _units_by_parameter(model)
    params = _params_by_number(optim, known)
    options = {name: g for g in state_dict["param_groups"] for name in g["params"]}
    groups, state = [], {}
    own = optim.state_dict()["param_groups"]
    for g in own:
        names = [name for k in g["params"] for _, name in known[id(params[k])][1]]
        if missing := [name for name in names if name not in options]:
            raise ArgumentError(f"the state of the optimizer does not name the parameters {missing[:5]}")
        taken = options[names[0]] if names else g
        groups.append({**{k: v for k, v in taken.items() if k not in ("params", "param_names")}, "params": g["params"]})
    for k, p in params.items():
        unit, names = known[id(p)]
        found = [state_dict["state"].get(name, {}) for _, name in names]
        if unit is None:
            state[k] = found[0]
        elif p.numel():
            state[k] = _own_state(unit, p, [(unit.entries[i], name) for i, name in names], found)
    return {"state": {k: s for k, s in state.items() if s}, "param_groups": groups}


def _from_rank_0(state_dict, group):
    """Return the state of rank 0, unless all ranks have one."""
    group = the_group(group)
    there: list = [None] * group.size()
    all_gather_object(there, bool(state_dict), group)
    if all(there):
        return state_dict
    box = [state_dict]
    broadcast_object_list(box, group=group, group_src=0)
    return box[0]


def _own_state(unit, p, entries, states) -> dict:
    """Return this rank's part of the states of the parameters in `p`."""
    own_state: dict = {}
    start = unit.piece_of(entries[0][0]).start if unit.use_orig_params else 0
    for (entry, name), state in zip(entries, states):
        for k, v in state.items():
            if not isinstance(v, (Tensor, Piece)) or (len(v.shape) == 0 and (entry.shape or k == "step")):
                own_state.setdefault(k, v)
                continue
            if tuple(v.shape) != entry.shape:
                raise ArgumentError(f"the state {k!r} of {name} has shape {list(v.shape)}, the parameter {list(entry.shape)}")
            values, first = _segment_of(v)
            if k not in own_state:
                own_state[k] = FUNCTIONS["zeros"](tuple(p.shape), dtype=values.dtype, device=p.device)
            piece = unit.piece_of(entry)
            own = Piece(own_state[k][piece.start - start:piece.stop - start], unit.start_of(entry), entry.shape)
            if own.fill(values, first) != own.tensor.numel():
                raise ArgumentError(f"the state {k!r} of {name} is a part that begins at {first}, this rank keeps another; "
                                    "load it by distributed.checkpoint, which puts parts together")
    return own_state
