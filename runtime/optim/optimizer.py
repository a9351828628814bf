"""Optimizer: parameter groups, state, hooks, and the loop over parameters."""

import copy
import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import wraps
from types import FunctionType, GeneratorType
from typing import Any, TypeAlias

import numpy as np

from ...ir import dtype as dt
from ...ir.cached_property import cached_property
from ...ir.errors import ArgumentError, AutogradError, DTypeError, kind_of
from ...ir.lazy import lazy
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import enable_grad, no_grad
from ..core.composite_tensors import values_in
from ..core.device_array import DeviceArray, zeros_on_device_of
from ..core.tensor import Tensor, wrap
from ..core.writes import write
from ..foreach import lists
from ..nn.base.hooks import add_hook
from ..nn.base.module import TABLES, Module
from ..nn.base.parameter import Parameter
from ..state.messages import warn
from ..state.mode import tls
from ..state.saved_states import saved_state, saved_value
from ..state.structure import HookTable, Structure
from .parameter_views import NUMBERS, by_pairs, by_vectors

_UPDATES = ("_update_each", "_update", "_begin", "_names", "_numbers", "_rule")     # methods that one update calls
_PLAIN = frozenset((bool, int, float, str, tuple, list, type(None)))
_PACKAGE = __name__.partition(".")[0]
NUMPY_FLOATS = frozenset((np.float64, np.float32, np.float16))
_TO_CONVERT = NUMPY_FLOATS | {Tensor, Parameter}


def numeric_options(group):
    """Return the options of a group as numbers for updates. NumPy floats become Python floats. Tensors of one number become
    float64, like Python numbers: results from both round once, at the parameter."""
    if _TO_CONVERT.isdisjoint(map(type, _options(group))):
        return group
    return {name: value if name == "params" else _number(value) for name, value in group.items()}


def _is_ours(x) -> bool:
    """Return whether a function or class belongs to ingot."""
    return (getattr(x, "__module__", None) or "").partition(".")[0] == _PACKAGE


def _options(group):
    return *group.values(), *group.get("betas", ())


def has_tensors(group) -> bool:
    """Return whether an option is a tensor."""
    return any(isinstance(value, Tensor) for value in _options(group))


def _number(value):
    if type(value) is tuple:
        return tuple([_number(v) for v in value])
    if isinstance(value, Tensor) and not value.ndim and value.dtype.is_floating_point:
        return value.to(dt.float64)
    return float(value) if type(value) in NUMPY_FLOATS else value


_EVERY: dict[str, Any] = {"pre": HookTable(), "post": HookTable()}
_EVENTS = "pre", "post", "state_pre", "state_post", "load_pre", "load_post"
_NONE: dict[str, Any] = {name: {} for name in _EVENTS}


def register_optimizer_step_pre_hook(hook):
    """Call hook(optimizer, args, kwargs) before each step of any optimizer; args begin with the optimizer."""
    return add_hook(_EVERY["pre"], hook)


def register_optimizer_step_post_hook(hook):
    """Call hook(optimizer, args, kwargs) after each step of any optimizer."""
    return add_hook(_EVERY["post"], hook)


def step_hooks(optimizer) -> tuple[list, list]:
    """Return (hooks before a step, hooks after it)."""
    own = vars(optimizer).get("_hooks", _NONE)
    return [*_EVERY["pre"].values(), *own["pre"].values()], [*own["post"].values(), *_EVERY["post"].values()]


def all_hooks(optimizer) -> list[list]:
    """Return the hooks of an optimizer by event; those of every optimizer are among the hooks of its steps."""
    own = vars(optimizer).get("_hooks", _NONE)
    return [*step_hooks(optimizer), *[[*own[event].values()] for event in _EVENTS[2:]]]


def hooked(step):
    """Decorate `step` to run the hooks around it; subclasses get it for their own `step` too."""

    before_every, after_every = _EVERY["pre"], _EVERY["post"]

    @wraps(step)
    def run(self, *args, **kwargs):
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.optimizers.step_called(self)
        own = self.__dict__.get("_hooks", _NONE)
        if not (own["pre"] or own["post"] or before_every or after_every):      # the common case
            return step(self, *args, **kwargs)
        before, after = step_hooks(self)
        args = (self, *args)
        for hook in before:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if type(changed) is not tuple or len(changed) != 2:
                    raise DTypeError("a hook before an optimizer's step gives None or (args, kwargs), args beginning with the "
                                     f"optimizer; got {kind_of(changed)}")
                args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in after:
            hook(self, args, kwargs)
        return result

    return run


profiler_ranges = lazy(__package__, "..profiler.profiler_ranges")


ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


def put(dst: Tensor, value: Tensor) -> Tensor:
    """Write a value into a parameter or a state."""
    return write(dst, value, "step")


def zeros_like(p: Tensor) -> Tensor:
    """Return zeros like a parameter; an optimizer made inside a recorded function gets new zeros at each call."""
    recorder = tls.m.recorder
    is_recorded = recorder is not None and recorder.optimizers.makes_state
    return FUNCTIONS["zeros_like"](p.detach()) if is_recorded else wrap(zeros_on_device_of(p._a))


def _initial_count(p: Tensor, on_device: bool) -> Tensor:
    recorder = tls.m.recorder
    if recorder is not None and recorder.optimizers.makes_state:
        return FUNCTIONS["zeros"]((), dtype=dt.float32, device=p.device if on_device else "cpu")
    return wrap(zeros_on_device_of(p._a, (), np.dtype(np.float32)) if on_device else np.zeros((), np.float32))


def options_of(arguments: dict) -> dict:
    """Return the options of a group from the `locals()` of a constructor, which has no variables but its parameters."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


def check(**bounds):
    """Raise unless each named value is at least 0, or in [0, 1) for names that start with beta."""
    for name, value in bounds.items():
        if isinstance(value, str):          # of a command line; `float` would take it here, and no step can
            raise DTypeError(f"{name} must be a number, got {value!r}; convert it with float()")
        value = value if isinstance(value, (int, float)) else float(value)
        if name.startswith("beta") and not 0 <= value < 1:
            raise ArgumentError(f"{name} must be within 0 and 1 (1 excluded), got {value}")
        if not value >= 0:
            raise ArgumentError(f"{name} must be at least 0, got {value}")


def counts_on_device(p: Tensor, group) -> bool:
    """Return whether a parameter's steps are counted on its device, for manually captured CUDA graphs."""
    return p._a.__class__ is DeviceArray and bool(group.get("capturable"))


def device_of_scalars(p: Tensor, group):
    """Return the device of step counts and other scalar states, whatever the default device is."""
    return p.device if counts_on_device(p, group) else "cpu"


def count(state: dict, p: Tensor, group):
    """Count a step of a parameter and return the count. It is a Python float, or a 0-d tensor under a recorder (so that no
    number is baked in) and for counts on a device."""
    step, on_device = state.get("step"), counts_on_device(p, group)
    if not on_device and p._a.__class__ is DeviceArray and getattr(p._a.backend, "is_capturing", bool)():
        remedy = "make it with capturable=True, or " if "capturable" in group else ""
        raise AutogradError("this optimizer counts its steps on the host, and replays of the graph being captured would not: "
                            f"{remedy}have jit.trace make a graph of the step")
    if step is None:
        step = state["step"] = _initial_count(p, on_device)
    if on_device:
        return put(step, step + 1).to(dt.float64)
    if tls.m.special or tls.m.grad:
        put(step, step + 1)
    else:
        step._a += 1
        step._storage.wrote("step")
    return float(step._a) if tls.m.recorder is None else step.to(dt.float64)


def set_scalar(t: Tensor, value):
    """Write a number, or a tensor of one, into a scalar state."""
    if isinstance(value, Tensor) or tls.m.special or tls.m.grad:
        put(t, t * 0 + value)
    else:
        t._a.fill(value)
        t._storage.wrote("step")


class State(dict):
    """The state of one parameter. A trace captures the tensors in here, so added and removed entries bump a version that traces
    check. ingot's optimizers add entries only while a trace is recorded. Writes by user code are recorded like others."""

    def __setitem__(self, name, value):
        recorder = tls.m.recorder
        if recorder is not None and not recorder.optimizers.makes_state and (name in self or not isinstance(value, Tensor)):
            recorder.optimizers.state_replaced(self, name)
        self.put(name, value)

    def put(self, name, value):
        """Set an entry without telling a recorder. A changed number is not a change of layout."""
        if isinstance(value, Tensor) or name not in self or isinstance(self[name], Tensor):
            Structure.version += 1
        super().__setitem__(name, value)


def why_empty(params):
    """Return a function that tells why an iterable gave no parameters."""
    if not isinstance(params, GeneratorType):
        return lambda: f"params is an empty {type(params).__name__}"
    frame = params.gi_frame
    if frame is None:
        return lambda: "params is a generator that was read before, so it is empty; call parameters() once more"
    module = frame.f_locals.get("self")
    return lambda: _unregistered(module) if isinstance(module, Module) else "the generator params gave none"


def _unregistered(module) -> str:
    """Return why a module has no parameters: layers in a plain list or dict are not registered."""
    for path, m in module.named_modules():
        for name, value in vars(m).items():
            items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
            if name not in TABLES and any(isinstance(x, (Module, Parameter)) for x in items):
                kind = "Parameter" if any(isinstance(x, Parameter) for x in items) else "Module"
                where = f"{type(module).__name__}.{path}{'.' if path else ''}{name}"
                return (f"{where} is a plain {type(value).__name__}, and only attributes register; make it an "
                        f"nn.{kind}{'Dict' if isinstance(value, dict) else 'List'}")
    return f"{type(module).__name__} has none"


class Optimizer:
    """Base of optimizers: subclasses define `_update(p, g, state, group)`, and `_update_rows` for sparse gradients."""

    _update_rows: Any = None
    _takes_complex = True       # as pairs of real numbers, in an extra last dimension
    _repeats = False            # whether a group holds a parameter twice, which is then updated twice per step

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if isinstance(cls.__dict__.get("step"), FunctionType):
            cls.step = hooked(cls.__dict__["step"])  # type: ignore[method-assign]

    profile_hook_step = staticmethod(hooked)

    def _patch_step_function(self):
        """Prepare an optimizer whose class skips `__init__`; its step has had hooks since the class was made."""
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"

    def __init__(self, params, defaults):
        if tls.m.recorder is not None:
            tls.m.recorder.optimizers.created(self)
        self.defaults = defaults
        self.state = defaultdict(State)
        self.param_groups = []
        if isinstance(params, Tensor):
            raise DTypeError(f"{type(self).__name__} takes params as an iterable of tensors or of dicts, got one tensor "
                             f"{params.aval}; pass [tensor]")
        if not isinstance(params, Iterable):
            also = "; pass its .parameters()" if hasattr(params, "parameters") else ""
            raise DTypeError(f"{type(self).__name__} takes params as an iterable of tensors or of dicts, got "
                             f"{type(params).__name__}{also}")
        why = why_empty(params)         # asked first: the generator keeps no module once it is read
        groups = list(params)
        if not groups:
            raise ArgumentError(f"{type(self).__name__} got no parameters: {why()}")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Add parameters with their own options."""
        if not isinstance(param_group, dict):
            raise DTypeError(f"a parameter group is a dict, got {type(param_group).__name__}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise DTypeError("parameters need an order; a set has none. Use a list")
        params = [params] if isinstance(params, Tensor) else list(params)
        if params and isinstance(params[0], tuple):
            group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        # Optimize the values of sparse parameters.
        group["params"] = params = [values_in(p) if isinstance(p, Tensor) else p for p in params]
        self._check_parameters(params)
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise ArgumentError(f"a parameter group does not say {name}, and there is no default")
            group.setdefault(name, value)
        self.param_groups.append(group)

    def _check_parameters(self, params):
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        seen = set()
        for i, p in enumerate(params):
            if not isinstance(p, Tensor):
                also = "; pass the .parameters() of a module" if hasattr(p, "parameters") else ""
                raise DTypeError(f"{type(self).__name__} optimizes tensors, but params[{i}] is {kind_of(p)}{also}")
            if not (p.is_leaf or self._differentiable()):
                raise ArgumentError("an optimizer cannot optimize a tensor that was computed; pass leaf tensors")
            if id(p) in taken:
                raise ArgumentError("some parameters appear in more than one parameter group")
            if id(p) in seen:
                self._repeats = True
            seen.add(id(p))
        if len(seen) < len(params):
            warn("a parameter group names a parameter twice, which is updated twice at each step")

    # Steps.

    @hooked
    def step(self, closure=None):
        """Update all parameters that have gradients; `closure` recomputes the loss and is returned."""
        with enable_grad() if self._differentiable() else no_grad():
            if tls.m.observer is None:
                return self._step(closure)
            with profiler_ranges.record_function(f"Optimizer.step#{type(self).__name__}.step"):
                return self._step(closure)

    def _differentiable(self) -> bool:
        return bool(vars(self).get("defaults", {}).get("differentiable"))

    def _step(self, closure):
        loss = None
        if closure is not None:
            if not callable(closure):
                raise DTypeError(f"step takes a closure, a function that computes the loss again, got {kind_of(closure)}; call "
                                 "step() without it after backward()")
            with enable_grad():
                loss = closure()
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.optimizers.updating(self)
        for group in self.param_groups:
            down = not group.get("maximize", False)
            group = numeric_options(group) if recorder is None else recorder.optimizers.options(group)
            rows = []
            for p in group["params"]:
                g = p.grad
                if g is not None:
                    if (recorder is not None or g.is_sparse or g._node is not None) and not group.get("differentiable"):
                        g = g.detach()
                    row, a = (p, g if down else -g, self.state[p]), p._a
                    is_plain = a.dtype.kind == "f" and a.ndim and not g.is_sparse       # the common case
                    separate = None if is_plain else self._separate_update(p, g, group)
                    if separate is None:
                        rows.append(row)
                    else:
                        separate(*row, group)
            for some in [[row] for row in rows] if self._repeats else (rows,):
                own_code = tls.m.own_code
                if own_code is not None and self._runs_no_user_code(some, group):
                    own_code(self._update_each, some, group)
                else:
                    self._update_each(some, group)
        return loss

    def _runs_no_user_code(self, rows, group) -> bool:
        """Return whether an update runs ingot's functions alone, on plain tensors and numbers."""
        functions = [getattr(self, name) for name in _UPDATES if hasattr(self, name)]
        values = [*_options(group), *[x for p, g, state in rows for x in (p, g, *state.values())]]
        return all(map(_is_ours, (*functions, *({*map(type, values)} - _PLAIN))))

    def _separate_update(self, p, g, group):
        """Return the function that updates a parameter separately from its group, or None."""
        if g.is_sparse:
            return self._sparse_update()
        if p.dtype.is_complex:
            return self._update_complex
        if not p.ndim and (tls.m.recorder is not None or counts_on_device(p, group) or has_tensors(group)):
            return functools.partial(by_vectors, self._update)
        return None

    def _update_each(self, rows, group):
        for p, g, state in rows:
            self._update(p, g, state, group)

    def _update_complex(self, p, g, state, group):
        if not self._takes_complex:
            raise DTypeError(f"{type(self).__name__} does not support complex parameters; use Adam or SGD")
        by_pairs(self._update, p, g, state, group)

    def _sparse_update(self):
        if self._update_rows is None:
            raise AutogradError(f"{type(self).__name__} does not support sparse gradients: use SparseAdam, SGD or Adagrad, or "
                                "sparse=False for the embedding")
        return self._update_rows

    def layout(self) -> list:
        """Return the layout a trace must find again: (None or (id of state, name), group, parameter or state tensor)."""
        found: list = []
        for group in self.param_groups:
            found.append((None, group))
            for p in group["params"]:
                found.append((None, p))
                state = self.state.get(p, {})
                found += [((id(state), name), value) for name, value in state.items() if isinstance(value, Tensor)]
        return found

    def _update(self, p, g, state, group):
        """Update one parameter; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define _update()")

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or set them to zero."""
        if tls.m.recorder is not None:
            tls.m.recorder.optimizers.clearing(self)
        lists.clear_gradients([p for group in self.param_groups for p in group["params"]], set_to_none)

    # Hooks.

    @cached_property
    def _hooks(self) -> dict:
        """Return the hooks by event; made late, since subclasses may skip `__init__`."""
        return {name: HookTable() for name in _EVENTS}

    def _hooks_at(self, event: str) -> list:
        if tls.m.recorder is not None:
            tls.m.recorder.optimizers.runs_hooks(self)
        return [*self.__dict__.get("_hooks", _NONE)[event].values()]

    def register_step_pre_hook(self, hook):
        """Call hook(optimizer, args, kwargs) before each step; args begin with the optimizer, a result replaces both."""
        return add_hook(self._hooks["pre"], hook)

    def register_step_post_hook(self, hook):
        """Call hook(optimizer, args, kwargs) after each step."""
        return add_hook(self._hooks["post"], hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call hook(optimizer) before the state is collected."""
        return add_hook(self._hooks["state_pre"], hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call hook(optimizer, state_dict) after the state is collected; a result replaces it."""
        return add_hook(self._hooks["state_post"], hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call hook(optimizer, state_dict) before loading; a result replaces the state dict."""
        return add_hook(self._hooks["load_pre"], hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call hook(optimizer) after loading."""
        return add_hook(self._hooks["load_post"], hook, prepend=prepend)

    # State.

    def _shown_groups(self) -> list:
        """Return the groups for code that shows all their options and may show the states."""
        recorder = tls.m.recorder
        return self.param_groups if recorder is None else recorder.optimizers.shown(self)

    def state_dict(self):
        """Return {"state": states by parameter number, "param_groups": options with parameter numbers}."""
        for hook in self._hooks_at("state_pre"):
            hook(self)
        numbers, groups = {}, []
        for group in self._shown_groups():
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            options = {k: v for k, v in group.items() if k != "params"}
            groups.append({**options, "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers.get(id(k), k) if isinstance(k, Tensor) else k:
                 dict(v) if isinstance(v, State) else v for k, v in self.state.items() if not isinstance(v, State) or v}
        found = {"state": state, "param_groups": groups}
        for hook in self._hooks_at("state_post"):
            replaced = hook(self, found)
            found = found if replaced is None else replaced
        return found

    def load_state_dict(self, state_dict):
        """Load options and state from a state_dict() of another optimizer."""
        state_dict = saved_state(self, state_dict)
        for hook in self._hooks_at("load_pre"):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        state_dict = saved_state(self, state_dict, "state", "param_groups")
        saved_value(self, state_dict, "state", Mapping)
        saved = [saved_state(self, group, "params") for group in saved_value(self, state_dict, "param_groups", list, tuple)]
        if len(saved) != len(self.param_groups):
            raise ArgumentError(f"the loaded state has {len(saved)} parameter groups, the optimizer {len(self.param_groups)}")
        for mine, theirs in zip(self.param_groups, saved):
            if len(mine["params"]) != len(saved_value(self, theirs, "params", list, tuple)):
                raise ArgumentError(f"a loaded parameter group has {len(theirs['params'])} parameters, the optimizer's has "
                                    f"{len(mine['params'])}")
        by_number = {n: p for mine, theirs in zip(self.param_groups, saved) for n, p in zip(theirs["params"], mine["params"])}
        groups = {p: theirs for mine, theirs in zip(self.param_groups, saved) for p in mine["params"]}
        state: defaultdict[Any, Any] = defaultdict(State)
        for key, value in state_dict["state"].items():
            p = by_number.get(key)
            fitted = _fitted(value, p)
            if p is not None and isinstance(fitted, dict):
                for name in NUMBERS:
                    if isinstance(fitted.get(name), Tensor):
                        fitted[name] = fitted[name].to(device_of_scalars(p, groups[p]))
            state[key if p is None else p] = State(fitted) if isinstance(fitted, dict) else fitted
        Structure.version += 1
        self.__setstate__({"state": state, "param_groups": [
            {**copy.deepcopy({k: v for k, v in theirs.items() if k != "params"}), "params": mine["params"]}
            for mine, theirs in zip(self.param_groups, saved)]})
        for hook in self._hooks_at("load_post"):
            hook(self)

    def __getstate__(self):
        if tls.m.recorder is not None:
            tls.m.recorder.optimizers.copying(self)
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        """Take pickled or loaded state; subclasses update states of older versions here."""
        self.__dict__.update(state)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self._shown_groups()):
            lines += [*[""] * (i > 0), f"Parameter Group {i}"]
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])


def _fitted(value, p, key=None):
    """Return a copy of a state value: tensors move to the parameter's device (not scalars), floats to its dtype (not steps)."""
    if isinstance(value, Tensor):
        value = value.detach()
        if p is not None and key != "step":
            device = p.device if value.ndim or not p.ndim else value.device
            cast = p.dtype.is_floating_point and value.dtype.is_floating_point
            value = value.to(device=device, dtype=p.dtype if cast else value.dtype)
        return FUNCTIONS["clone"](value)
    if isinstance(value, dict):
        return {k: _fitted(v, p, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(v, p) for v in value)
    return copy.deepcopy(value)
