"""Hooks of modules: callbacks around forward and backward, and on registration of parameters, buffers and children."""

import types
from collections.abc import Callable
from functools import partial
from typing import Any

from ....ir.errors import ArgumentError, AutogradError
from ....ir.ops.core.shape import full as filled
from ...autograd.function import Function
from ...core.tensor import Tensor
from ...core.writes import Passed
from ...state.messages import warn
from ...state.mode import tls
from ...state.structure import HookTable
from ...state.structure import RemovableHandle as RemovableHandle
from ...state.structure import add_hook as add_hook

__all__ = ["register_module_buffer_registration_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
           "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
           "register_module_module_registration_hook", "register_module_parameter_registration_hook"]


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


def objects_of(hooks) -> list:
    """Return the objects among hooks, and the owners of bound methods, which may hold state."""
    return [h.__self__ if type(h) is types.MethodType else h for h in hooks if not isinstance(h, _FUNCTIONS)]


class Hooks:
    """The hooks of one module, or of all modules. It is true if calls of the module have hooks; those of its state dict do not
    count."""

    __slots__ = ("__weakref__", "always", "backward", "backward_pre", "forward", "forward_pre", "load_post", "load_pre",
                 "state_post", "state_pre", "with_kwargs")

    def __init__(self):
        self.forward_pre = HookTable()
        self.forward = HookTable()
        self.backward_pre = HookTable()
        self.backward = HookTable()
        self.state_pre = HookTable()
        self.state_post = HookTable()
        self.load_pre = HookTable()
        self.load_post = HookTable()
        self.with_kwargs = set()
        self.always = set()

    def __bool__(self):
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)

    def _tables(self) -> tuple:
        calls = (self.forward_pre, self.forward, self.backward_pre, self.backward) if self else ()
        of_state = self.state_pre or self.state_post or self.load_pre or self.load_post
        return calls + ((self.state_pre, self.state_post, self.load_pre, self.load_post) if of_state else ())

    def numbers(self) -> tuple:
        """Return the numbers of the hooks in call order, which no other hook ever has."""
        return tuple([table.numbers() for table in self._tables()])

    def objects(self) -> list:
        """Return the hook objects and the owners of hook methods."""
        return objects_of([hook for table in self._tables() for hook in table.values()])

    def __reduce__(self):
        state = {n: getattr(self, n) for n in self.__slots__ if n != "__weakref__"}
        return (type(self), (), state) if any(state.values()) else (type(self), ())

    def __setstate__(self, state):
        for n, v in state.items():
            setattr(self, n, v)


GLOBAL = Hooks()   # hooks of every module, called before the module's own


def register_module_forward_pre_hook(hook):
    """Call hook(module, args) before the forward of every module."""
    return add_hook(GLOBAL.forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call hook(module, args, output) after the forward of every module."""
    return _add_forward(GLOBAL, hook, with_kwargs, always_call)


def register_module_full_backward_pre_hook(hook):
    """Call hook(module, grad_output) before the backward of every module."""
    return add_hook(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook):
    """Call hook(module, grad_input, grad_output) after the backward of every module."""
    return add_hook(GLOBAL.backward, hook)


def _add_forward(hooks, hook, with_kwargs, always_call, prepend=False):
    marks = [hooks.with_kwargs] * with_kwargs + [hooks.always] * always_call
    return add_hook(hooks.forward, hook, prepend=prepend, marks=marks)


class HookMethods:
    """The registration methods of Module, and the tables of hooks under PyTorch's names."""

    _hooks: Any

    _forward_hooks = property(lambda self: self._hooks.forward)
    _forward_pre_hooks = property(lambda self: self._hooks.forward_pre)
    _backward_hooks = property(lambda self: self._hooks.backward)
    _backward_pre_hooks = property(lambda self: self._hooks.backward_pre)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call hook(module, args) before forward; a result replaces args. `with_kwargs` passes kwargs too."""
        marks = [self._hooks.with_kwargs] if with_kwargs else []
        return add_hook(self._hooks.forward_pre, hook, prepend=prepend, marks=marks)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call hook(module, args, output) after forward (`always_call`: even if it raised); a result replaces the output."""
        return _add_forward(self._hooks, hook, with_kwargs, always_call, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call hook(module, grad_output) before the module's backward; a result replaces grad_output."""
        return add_hook(self._hooks.backward_pre, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call hook(module, grad_input, grad_output) at the inputs' gradients; a result replaces grad_input."""
        return add_hook(self._hooks.backward, hook, prepend=prepend)

    register_backward_hook = register_full_backward_hook


def call_with_hooks(module, args, kwargs):
    """Call a module that has hooks."""
    own = module._hooks
    called: set = set()
    result = None
    try:
        args, kwargs = _run_pre(module, own, args, kwargs)
        has_backward = own.backward or own.backward_pre or GLOBAL.backward or GLOBAL.backward_pre
        backward_hooks = _BackwardHooks(module, own) if has_backward else None
        if backward_hooks is not None:
            args = backward_hooks.inputs(args)
        result = module.forward(*args, **kwargs)
        result = _run_post(module, own, args, kwargs, result, called)
    except Exception:
        _run_always(module, own, args, kwargs, result, called)
        raise
    return result if backward_hooks is None else backward_hooks.outputs(result)


def _run_pre(module, own, args, kwargs):
    for hooks in (GLOBAL, own):
        for key, hook in list(hooks.forward_pre.items()):
            if key in hooks.with_kwargs:
                new = hook(module, args, kwargs)
                if new is not None:
                    if not isinstance(new, tuple) or len(new) != 2:
                        raise ArgumentError(f"a forward pre-hook with kwargs must return None or (args, kwargs), got {new!r}")
                    args, kwargs = new
            else:
                new = hook(module, args)
                if new is not None:
                    args = new if isinstance(new, tuple) else (new,)
    return args, kwargs


def _call_forward_hook(hooks, key, hook, module, args, kwargs, result):
    if key in hooks.with_kwargs:
        return hook(module, args, kwargs, result)
    return hook(module, args, result)


def _run_post(module, own, args, kwargs, result, called):
    for hooks in (GLOBAL, own):
        for key, hook in list(hooks.forward.items()):
            called.add(key)
            new = _call_forward_hook(hooks, key, hook, module, args, kwargs, result)
            if new is not None:
                result = new
    return result


def _run_always(module, own, args, kwargs, result, called):
    """Call the hooks with `always_call` that have not run, after an error."""
    for hooks in (GLOBAL, own):
        for key, hook in list(hooks.forward.items()):
            if key in hooks.always and key not in called:
                _call_forward_hook(hooks, key, hook, module, args, kwargs, result)


class _BackwardHooks:
    """Join nodes before and after a module in the history, where backward hooks run."""

    def __init__(self, module, own):
        self.module = module
        self.backward = [*GLOBAL.backward.values(), *own.backward.values()]
        self.before = [*GLOBAL.backward_pre.values(), *own.backward_pre.values()]
        self.grad_output = None
        self.argument_count = 0        # number of arguments of the call
        self.others: dict = {}  # shapes of tensor arguments without gradients
        self.positions: Any = None   # positions of arguments with gradients, or None

    def inputs(self, args):
        """Return the arguments; those that need gradients pass through one node."""
        self.argument_count = len(args)
        positions, through, node = _join_node(args)
        if node is not None:
            self.positions = positions
            self.others = {i: a.aval for i, a in enumerate(args) if isinstance(a, Tensor) and i not in positions}
            node.register_hook(self._after)
        return through

    def outputs(self, result):
        """Return the result; its differentiable tensors pass through one node."""
        if not isinstance(result, (Tensor, tuple)):
            warn("full backward hooks are called for modules that return a tensor or a tuple of tensors; "
                 f"{type(self.module).__name__} returned {type(result).__name__}")
        listed = result if isinstance(result, tuple) else (result,)
        if not any(isinstance(t, Tensor) for t in listed):
            return result
        positions, through, node = _join_node(listed)
        if node is not None:
            node.register_prehook(lambda grads: self._before(grads, positions, len(listed)))
        if not isinstance(result, tuple):
            return through[0]
        return type(result)(*through) if hasattr(result, "_fields") else through

    def _before(self, grads, positions, size):
        full: Any = [None] * size
        for p, g in zip(positions, grads):
            full[p] = g
        full = tuple(full)
        for hook in self.before:
            full = _checked_gradients(hook(self.module, full), full, "pre hook", "grad_output")
        self.grad_output = full
        if self.positions is None:
            for hook in self.backward:
                hook(self.module, (None,) * self.argument_count, full)
        return tuple(full[p] for p in positions)

    def _after(self, grads, _):
        if self.grad_output is None:        # the gradient did not come through the module's outputs
            return None
        full: Any = [None] * self.argument_count
        for p, g in zip(self.positions, grads):
            full[p] = g
        for p, aval in self.others.items():
            full[p] = filled.call(grads[0], shape=aval.shape, value=0, dtype=aval.dtype)
        full = tuple(full)
        grad_output, self.grad_output = self.grad_output, None
        for hook in self.backward:
            full = _checked_gradients(hook(self.module, full, grad_output), full, "hook", "grad_input")
        return tuple(full[p] for p in self.positions)


def _checked_gradients(new, full, kind, what):
    """Return the gradients that a backward hook returned, or the current ones."""
    if new is None:
        return full
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(full):
        raise AutogradError(f"a module's backward {kind} returned {len(new)} gradients in place of {what}, expected "
                            f"{len(full)}")
    return new


class BackwardHookFunction(Function):
    """An identity with one history node for all arguments; results share their memory."""

    _passing = Passed("BackwardHookFunction", "full backward hooks watch a module that took or returned this tensor",
                      "write before there are views of it", True)

    @staticmethod
    def forward(ctx, *tensors):
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return grads


def _join_node(values):
    """Return (positions, values, node): differentiable tensors pass through one identity node."""
    positions = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v._node is not None]
    if not positions or not tls.m.grad:
        return positions, values, None
    sources = [values[i] for i in positions]
    out = list(values)
    for i, t in zip(positions, BackwardHookFunction.apply(*sources)):
        out[i] = t
    return positions, tuple(out), out[positions[0]]._node.source


PARAMETER_HOOKS = HookTable()
BUFFER_HOOKS = HookTable()
MODULE_HOOKS = HookTable()


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a module registers a parameter; a result replaces it."""
    return add_hook(PARAMETER_HOOKS, hook)


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a module registers a buffer; a result replaces it."""
    return add_hook(BUFFER_HOOKS, hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, child)` when a module registers a child; a result replaces it."""
    return add_hook(MODULE_HOOKS, hook)


def store_again(store: Callable, module, name: str, value):
    """Assign an attribute of a module by `store`, past the hooks on registration: these gave the value when it was recorded."""
    if not (PARAMETER_HOOKS or BUFFER_HOOKS or MODULE_HOOKS):
        store(module, name, value)
        return
    before, tls.m.repeats_stores = tls.m.repeats_stores, True
    try:
        store(module, name, value)
    finally:
        tls.m.repeats_stores = before


def after_hooks(hooks: HookTable, module, name: str, value) -> Any:
    """Return the value that a module keeps, after the hooks of its kind."""
    if tls.m.repeats_stores:
        return value
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.asked("registration_hooks", partial(hooks.numbers))
    for hook in list(hooks.values()):
        found = hook(module, name, value)
        value = value if found is None else found
    return value
