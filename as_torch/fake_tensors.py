"""`ingot._subclasses`: programs on tensors without elements, to count parameters and memory or to infer shapes without
computing anything. Such a tensor lies on the device meta, and is marked with the mode that made it."""

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


class _Marked(type(Tensor)):        # type: ignore[misc]
    """What is marked counts as an instance."""

    def __instancecheck__(cls, x):
        return is_fake(x)


class FakeTensor(Tensor, metaclass=_Marked):
    """What `isinstance` asks for: a tensor that a `FakeTensorMode` has made. It has a shape, a dtype and a history, no
    elements, and lies on the device meta; `fake_mode` is the mode. Reading its elements is a `DataDependentOutputException`."""

    fake_mode: "FakeTensorMode"


def is_fake(x: object) -> bool:
    """Whether something is a tensor that a `FakeTensorMode` has made."""
    return "fake_mode" in getattr(x, "__dict__", ())


class FakeTensorMode(TorchDispatchMode):
    """Inside, tensors are made without elements, whatever device is asked for, and functions say what their results are like.

        with FakeTensorMode():
            net = Net()                                  # of any size
            print(net(ingot.randn(8, 3, 512, 512)).shape)

    Tensors from outside that have dims are refused, unless `allow_non_fake_inputs` has them stand for themselves without their
    elements; `from_tensor` makes such a tensor of one. The other options change nothing.
    """

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env=None,
                 static_shapes=None, export: bool = False):
        self.allow_non_fake_inputs, self.shape_env, self.static_shapes = allow_non_fake_inputs, shape_env, static_shapes
        self._places: list = []

    def __enter__(self):
        place = Device("meta")
        place.__enter__()
        self._places.append(place)
        _open.append(self)
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        _open.remove(self)
        self._places.pop().__exit__(*exc)

    def from_tensor(self, tensor: Tensor, **options) -> Tensor:
        """What stands for a tensor: of its shape, dtype and class of parameters, with a history that begins here."""
        if is_fake(tensor):
            return tensor
        with no_grad():
            made = FUNCTIONS["empty_like"](tensor.detach(), device="meta")
        made = Parameter(made, requires_grad=tensor.requires_grad) if isinstance(tensor, Parameter) else (
            made.requires_grad_(tensor.requires_grad))
        return self._marked(made)

    def __torch_dispatch__(self, func: Callable, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if kwargs.get("device") is not None:
            kwargs["device"] = "meta"
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        if tensors and not any(t.ndim or t.device.type == "meta" for t in tensors):
            return func(*args, **kwargs)            # counters, such as optimizers have
        args, kwargs = tree_map(self._taken, (args, kwargs))
        if name in _MOVES and args and is_fake(args[0]):
            args = tuple([x for x in args if not isinstance(x, (str, Device)) and not (name != "to" and x is not args[0])])
            kwargs = {k: v for k, v in kwargs.items() if k != "device"}
            if name != "to" or (len(args) == 1 and not kwargs):
                return args[0]
        return tree_map(self._marked, func(*args, **kwargs))

    def _taken(self, x):
        if not isinstance(x, Tensor) or is_fake(x):
            return x
        if x.device.type == "meta":
            return self._marked(x)
        if x.ndim and not self.allow_non_fake_inputs:
            raise DeviceError(f"a FakeTensorMode takes tensors that it has made, got one of {x.aval}: convert it by "
                              "from_tensor(), or allow it by FakeTensorMode(allow_non_fake_inputs=True)")
        return self.from_tensor(x)

    def _marked(self, x: Any):
        if isinstance(x, Tensor) and x.device.type == "meta":
            x.__dict__.setdefault("fake_mode", self)
        return x


_open: list = []


class _Tls:
    """As code asks which mode is on for all."""

    allow_unbacked_int = False

    @property
    def force_mode(self):
        """The last mode that was entered."""
        return active_fake_mode()


fake_tensor_tls = _Tls()


def active_fake_mode() -> FakeTensorMode | None:
    """The last mode that was entered, or None."""
    return _open[-1] if _open else None


class unset_fake_temporarily:
    """Inside, no mode is on."""

    def __enter__(self):
        self._before = [*_open]
        for mode in reversed(self._before):
            mode.__exit__(None, None, None)
        return self._before[-1] if self._before else None

    def __exit__(self, *exc):
        for mode in self._before:
            mode.__enter__()


def detect_fake_mode(inputs=None) -> FakeTensorMode | None:
    """The mode of the tensors among some values, or that which is on."""
    return next((t.__dict__["fake_mode"] for t in tree_leaves(inputs) if is_fake(t)), active_fake_mode())
