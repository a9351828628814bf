"""`state_dict()` and `load_state_dict()` of modules."""

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....ir.errors import DTypeError, IngotError, ShapeError, kind_of
from ....ir.suggestions import close_name
from ...autograd.grad_mode import no_grad
from ...core.composite_tensors import PARTS
from ...core.creation import as_array_tensor
from ...core.tensor import Tensor
from ...core.writes import write
from ...state.messages import warn
from .hooks import add_hook
from .parameter import Parameter, is_lazy

EXTRA = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """Names that load_state_dict(strict=False) did not match."""

    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"


class StateDictError(IngotError, RuntimeError):
    """A state dict does not fit its module."""


def state_dict_arguments(args, destination, prefix, keep_vars) -> tuple:
    """Return (destination, prefix, keep_vars) from arguments that old programs give by position."""
    if args:
        destination, prefix, keep_vars = args + (destination, prefix, keep_vars)[len(args):]
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    return destination, prefix, keep_vars


class StateMethods:
    """Methods of Module for state dicts."""

    _version: Any
    _hooks: Any
    _modules: dict
    _parameters: dict
    _buffers: dict
    _non_persistent_buffers_set: set

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Return all parameters and persistent buffers by name, as tensors over the module's memory."""
        destination, prefix, keep_vars = state_dict_arguments(args, destination, prefix, keep_vars)
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in list(self._hooks.state_pre.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for path, child in self._children_in_state(prefix):
            child.state_dict(destination=destination, prefix=path, keep_vars=keep_vars)
        for hook in list(self._hooks.state_post.values()):
            replaced = hook(self, destination, prefix, local)
            destination = destination if replaced is None else replaced
        return destination

    def _children_in_state(self, prefix):
        return [(f"{prefix}{name}.", child) for name, child in self._modules.items() if child is not None]

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Add this module's own tensors, not its children's."""
        for name, t in self._own_state():
            if t is not None:
                destination[prefix + name] = t if keep_vars else t.detach()
        if type(self).get_extra_state is not StateMethods.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _own_state(self):
        yield from self._parameters.items()
        for name, t in self._buffers.items():
            if name not in self._non_persistent_buffers_set:
                yield name, t

    def get_extra_state(self):
        """Return state beside tensors; subclasses override it."""
        raise StateDictError(f"{type(self).__name__} has no extra state; define get_extra_state() and set_extra_state()")

    def set_extra_state(self, state):
        """Restore the state of get_extra_state; subclasses override it."""
        raise StateDictError(f"{type(self).__name__} has no extra state; define get_extra_state() and set_extra_state()")

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy tensors by name into parameters and buffers, or replace these (`assign`); `strict` requires equal names."""
        if not hasattr(state_dict, "items"):
            raise DTypeError(f"load_state_dict takes a dict of tensors by name, got {type(state_dict).__name__}")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        report = _Report()
        self._load_tree(state, "", assign, report)
        if strict and report.unexpected:
            report.errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(report.unexpected)}. ")
        if strict and report.missing:
            report.errors.insert(0, f"Missing key(s) in state_dict: {_quoted(report.missing)}. ")
        if report.errors:
            report.errors += _advice(state, report)
            raise StateDictError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(report.errors))
        return IncompatibleKeys(report.missing, report.unexpected)

    def _load_tree(self, state, prefix, assign, report):
        """Load this module, then its children."""
        metadata = getattr(state, "_metadata", None)
        local = dict(metadata.get(prefix[:-1], {})) if metadata is not None else {}
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, report.missing, report.unexpected, report.errors)
        for path, child in self._children_in_state(prefix):
            child._load_tree(state, path, assign, report)
        keys = IncompatibleKeys(report.missing, report.unexpected)
        for hook in list(self._hooks.load_post.values()):
            if hook(self, keys) is not None:
                raise StateDictError("a load_state_dict post hook edits the lists it is given and returns nothing")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Copy this module's own tensors, not its children's, and record mismatches."""
        for hook in list(self._hooks.load_pre.values()):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = dict(self._own_state())
        for name, t in own.items():
            if t is not None and prefix + name in state_dict:
                _load_one(self, name, t, state_dict[prefix + name], prefix + name, assign, error_msgs)
            elif t is not None and strict:
                missing_keys.append(prefix + name)
        self._load_extra(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            known = set(own) | set(self._modules)
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + EXTRA:
                    first, dot, _ = key[len(prefix):].partition(".")
                    if first not in known or (dot and first not in self._modules) or (first in own and own[first] is None):
                        unexpected_keys.append(key)

    def _load_extra(self, state_dict, prefix, strict, missing_keys, unexpected_keys):
        key = prefix + EXTRA
        if type(self).set_extra_state is not StateMethods.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def register_state_dict_pre_hook(self, hook):
        """Call hook(module, prefix, keep_vars) before the module's state is collected."""
        return add_hook(self._hooks.state_pre, hook)

    def register_state_dict_post_hook(self, hook):
        """Call hook(module, state_dict, prefix, local_metadata) after the module's state is collected; it may edit the dict."""
        return add_hook(self._hooks.state_post, _ReturnsNothing(hook))

    def _register_state_dict_hook(self, hook):
        return add_hook(self._hooks.state_post, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors) before loading."""
        return add_hook(self._hooks.load_pre, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._hooks.load_pre, hook if with_module else _WithoutModule(hook))

    def register_load_state_dict_post_hook(self, hook):
        """Call hook(module, incompatible_keys) after loading; it may edit the lists of keys."""
        return add_hook(self._hooks.load_post, hook)


class _ReturnsNothing:
    """A picklable hook that edits its arguments."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, *args):
        if self.hook(*args) is not None:
            raise StateDictError("a state_dict post hook edits the dict it is given and returns nothing")


class _WithoutModule:
    """A picklable hook that is called without the module."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, module, *args):
        return self.hook(*args)


_CLOSE_NAMES = 3        # unexpected keys for which a message suggests a missing one


def _advice(state, report):
    """Return advice for a dict that wraps the state, or has longer names."""
    missing, unexpected = set(report.missing), set(report.unexpected)
    for key in report.unexpected:
        if isinstance(state[key], Mapping) and missing & state[key].keys():
            yield f"The state of such a module is in the dict under {key!r}; load that: state_dict[{key!r}]. "
            return
    ends = {key[:-len(name)] for name in missing for key in unexpected if key.endswith("." + name)}
    prefix = next((p for p in sorted(ends) if {p + name for name in missing} <= unexpected), None)
    if prefix is not None:
        yield (f"The missing keys are there with {prefix!r} before them; take it off: "
               f"{{k.removeprefix({prefix!r}): v for k, v in state_dict.items()}}. ")
        return
    close = {key: close_name(key, report.missing) for key in report.unexpected[:_CLOSE_NAMES]}
    if any(close.values()):
        yield "; ".join(f"{key!r}: did you mean {name!r}?" for key, name in close.items() if name)


class _Report:
    """The mismatches found while loading."""

    def __init__(self):
        self.missing, self.unexpected, self.errors = [], [], []


def _load_one(module, name, t, value, key, assign, errors):
    """Load one value into the module, or record why not."""
    if not isinstance(value, (Tensor, np.ndarray, np.generic)):
        errors.append(f"{key}: expected a tensor, got {kind_of(value)}.")
        return
    value = as_array_tensor(value)
    if is_lazy(value):
        if not is_lazy(t):
            errors.append(f"{key}: the given tensor has no shape yet, as its lazy module has not run.")
        return
    if is_lazy(t):
        t.materialize(value._a.shape, dtype=value.dtype)
    elif tuple(value.shape) != tuple(t.shape):
        if tuple(value.shape) == (1,) and tuple(t.shape) == ():
            value = value.reshape(())
        else:
            errors.append(f"size mismatch for {key}: copying a param with shape {list(value.shape)} from checkpoint, "
                          f"the shape in current model is {list(t.shape)}.")
            return
    if assign:
        _assign(module, name, t, value)
        return
    if t.is_meta and not value.is_meta:
        warn(f"load_state_dict: {key} is on the meta device, where nothing can be copied to; pass assign=True to take "
             "the given tensors, or call to_empty() before")
    try:
        with no_grad():
            if type(t) not in PARTS and type(value) not in PARTS:
                write(t, value.detach(), "load_state_dict")
            else:
                t.copy_(value)
    except ShapeError as e:
        errors.append(f"{key}: {e}")


def _assign(module, name, t, value):
    if isinstance(t, Parameter):
        value = value if isinstance(value, Parameter) else Parameter(value, requires_grad=t.requires_grad)
    setattr(module, name, value)


def _quoted(keys):
    return ", ".join(f'"{k}"' for k in keys)
