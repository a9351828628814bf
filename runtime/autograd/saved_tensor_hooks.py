"""Hooks for saved tensors: a user's hook packs them in the forward, and unpacks them when backward needs them."""

from functools import partial

from ...ir.blocks import Block
from ...ir.errors import AutogradError
from ..core.placement import pinned
from ..core.tensor import Tensor
from ..state.mode import tls


class saved_tensors_hooks(Block):
    """Context manager: tensors saved for gradients go through `pack_hook(tensor)`. The gradient rule reads
    `unpack_hook(packed)`, which must be a tensor of the same shape, dtype and values."""

    keeps_values = False     # whether unpacked values equal packed ones, as a trace assumes

    def __init__(self, pack_hook, unpack_hook):
        super().__init__()
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def around(self):
        if _forbidden():
            raise AutogradError(_forbidden()[-1])
        m = tls.m
        if m.recorder is not None and not self.keeps_values:
            m.recorder.refuse("it uses saved_tensors_hooks, and a trace decides itself what to keep",
                              "enter them around calls of the traced function, which then runs as it is, or leave them out")
        hooks = _without_grad(self.pack_hook), _checked(self.unpack_hook)
        return partial(_put, hooks, self), partial(_put, m.saved_hooks)


def _put(hooks, result=None):
    m = tls.m
    m.saved_hooks = hooks
    m.refresh()
    return result


def _without_grad(pack):
    def packed(tensor):
        m, storage = tls.m, tensor._storage
        version = storage.version
        grad, m.grad = m.grad, False
        try:
            packed_value = pack(tensor)
        finally:
            m.grad = grad
        if storage.version != version:
            raise AutogradError("a pack hook of saved_tensors_hooks wrote in place to the tensor that it was given, which "
                                "others see; let it write to a clone()")
        return packed_value

    return packed


def _checked(unpack):
    def unpacked(value):
        tensor = unpack(value)
        if not isinstance(tensor, Tensor):
            raise AutogradError(f"unpack_hook must return a tensor, got {type(tensor).__name__}")
        return tensor

    return unpacked


def _forbidden() -> list:
    """Return the reasons of the disable_saved_tensors_hooks around this thread's code."""
    return getattr(tls, "no_saved_hooks", [])


def _forbid(reasons, result=None):
    tls.no_saved_hooks = reasons
    return result


class disable_saved_tensors_hooks(Block):
    """Context manager: saved_tensors_hooks raises this message inside."""

    def __init__(self, error_message: str):
        super().__init__()
        self.error_message = error_message

    def around(self):
        if tls.m.saved_hooks is not None:
            raise AutogradError(self.error_message)
        before = _forbidden()
        return partial(_forbid, [*before, self.error_message], self), partial(_forbid, before)


class save_on_cpu(saved_tensors_hooks):
    """Context manager that keeps saved tensors in main memory, page-locked with `pin_memory`, until backward needs them.

    `device_type` is ignored: tensors return to the device that they came from.
    """

    keeps_values = True

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(_to_pinned if pin_memory else _to_cpu, _to_device)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Context manager: tensors may be overwritten though a gradient rule reads them, because saving copies them."""

    keeps_values = True

    def __init__(self):
        super().__init__(_copied, _as_it_is)


def _copied(tensor):
    return tensor.clone()


def _as_it_is(packed):
    return packed


def _to_cpu(tensor):
    return tensor.device, tensor.clone() if tensor.device.type == "cpu" else tensor.cpu()


def _to_pinned(tensor):
    device, kept = _to_cpu(tensor)
    return device, pinned(kept)


def _to_device(packed):
    device, tensor = packed
    return tensor.to(device)
