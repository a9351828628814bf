"""`torch._subclasses`: fake tensors, which have shapes but no elements, to infer shapes or count memory.

A fake tensor is a tensor on the device meta with an attribute `fake_mode`, the mode that made it.
"""

from collections.abc import Callable
from typing import Any

from ..ir.errors import DeviceError
from ..runtime.api.register.register import FUNCTIONS
from ..runtime.autograd.grad_mode import no_grad
from ..runtime.core.device import Device
from ..runtime.core.meta import NoElementsError as DataDependentOutputException
from ..runtime.core.tensor import Tensor
from ..runtime.nn.base.parameter import Parameter
from ..runtime.pytree.pytree import tree_leaves, tree_map
from .torch_dispatch_mode import TorchDispatchMode

__all__ = ["DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
           "UnsupportedFakeTensorException", "active_fake_mode", "fake_tensor_tls", "is_fake", "unset_fake_temporarily"]

DynamicOutputShapeException = UnsupportedFakeTensorException = DataDependentOutputException
_MOVES = frozenset(("to", "cpu", "cuda"))


class _IsFake(type(Tensor)):        # type: ignore[misc]
    """Metaclass that counts marked tensors as instances."""

    def __instancecheck__(cls, x):
        return is_fake(x)


class FakeTensor(Tensor, metaclass=_IsFake):
    """The type of fake tensors for `isinstance`. They have shape, dtype and history; reading an element raises
    `DataDependentOutputException`."""

    fake_mode: "FakeTensorMode"


def is_fake(x: object) -> bool:
    """Return whether `x` is a fake tensor."""
    return "fake_mode" in getattr(x, "__dict__", ())


class FakeTensorMode(TorchDispatchMode):
    """A mode in which new tensors are fake, whatever device is named, and functions compute shapes and dtypes only.

        with FakeTensorMode():
            net = Net()                                  # of any size
            print(net(ingot.randn(8, 3, 512, 512)).shape)

    Real tensors with dims are refused, unless `allow_non_fake_inputs` converts them by `from_tensor`. The other options change
    nothing.
    """

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env=None,
                 static_shapes=None, export: bool = False):
        self.allow_non_fake_inputs, self.shape_env, self.static_shapes = allow_non_fake_inputs, shape_env, static_shapes
        self._devices: list = []

    def __enter__(self):
        device = Device("meta")
        device.__enter__()
        self._devices.append(device)
        _open.append(self)
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        _open.remove(self)
        self._devices.pop().__exit__(*exc)

    def from_tensor(self, tensor: Tensor, **options) -> Tensor:
        """Return a fake tensor of the same shape and dtype, a parameter for a parameter, without history."""
        if is_fake(tensor):
            return tensor
        with no_grad():
            made = FUNCTIONS["empty_like"](tensor.detach(), device="meta")
        made = Parameter(made, requires_grad=tensor.requires_grad) if isinstance(tensor, Parameter) else (
            made.requires_grad_(tensor.requires_grad))
        return self._mark(made)

    def __torch_dispatch__(self, func: Callable, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if kwargs.get("device") is not None:
            kwargs["device"] = "meta"
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        if tensors and not any(t.ndim or t.device.type == "meta" for t in tensors):
            return func(*args, **kwargs)            # step counts of optimizers
        args, kwargs = tree_map(self._fake_argument, (args, kwargs))
        if name in _MOVES and args and is_fake(args[0]):
            args = tuple([x for x in args if not isinstance(x, (str, Device)) and not (name != "to" and x is not args[0])])
            kwargs = {k: v for k, v in kwargs.items() if k != "device"}
            if name != "to" or (len(args) == 1 and not kwargs):
                return args[0]
        return tree_map(self._mark, func(*args, **kwargs))

    def _fake_argument(self, x):
        if not isinstance(x, Tensor) or is_fake(x):
            return x
        if x.device.type == "meta":
            return self._mark(x)
        if x.ndim and not self.allow_non_fake_inputs:
            raise DeviceError(f"a FakeTensorMode takes tensors that it has made, got one of {x.aval}: convert it by "
                              "from_tensor(), or allow it by FakeTensorMode(allow_non_fake_inputs=True)")
        return self.from_tensor(x)

    def _mark(self, x: Any):
        if isinstance(x, Tensor) and x.device.type == "meta":
            x.__dict__.setdefault("fake_mode", self)
        return x


_open: list = []


class _Tls:
    """State of the thread, by PyTorch's name."""

    allow_unbacked_int = False

    @property
    def force_mode(self):
        """Return the innermost mode."""
        return active_fake_mode()


fake_tensor_tls = _Tls()


def active_fake_mode() -> FakeTensorMode | None:
    """Return the innermost mode, or None."""
    return _open[-1] if _open else None


class unset_fake_temporarily:
    """Leave all modes inside."""

    def __enter__(self):
        self._before = [*_open]
        for mode in reversed(self._before):
            mode.__exit__(None, None, None)
        return self._before[-1] if self._before else None

    def __exit__(self, *exc):
        for mode in self._before:
            mode.__enter__()


def detect_fake_mode(inputs=None) -> FakeTensorMode | None:
    """Return the mode of the first fake tensor among `inputs`, or else the innermost mode."""
    return next((t.__dict__["fake_mode"] for t in tree_leaves(inputs) if is_fake(t)), active_fake_mode())
