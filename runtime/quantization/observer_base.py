"""Base of observers: factories, and steps for observed ranges."""

from functools import partial

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ...ir.ops.quantized.quantization_ranges import AFFINE, FLOATING, SYMMETRIC
from ..api.nn.quantize_dequantize import EPS, steps_between
from ..api.register import quantized_dtypes as schemes
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..nn.base.module import Module
from ..state.mode import tls

RANGES = {dt.quint8: (0, 255), dt.qint8: (-128, 127), dt.uint8: (0, 255), dt.int8: (-128, 127), dt.int16: (-32768, 32767)}


class Factory:
    """Factory of observers with fixed arguments; functions in `with_callable_args` are called for each observer."""

    def __init__(self, make, called=None):
        self.p, self.callable_args = make, called or {}

    def __call__(self, *args, **keywords):
        made = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **keywords, **made)

    def __repr__(self):
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **settings):
        """Return a factory with more arguments."""
        return Factory(partial(self, **settings))

    def with_callable_args(self, **makers):
        """Return a factory that calls these functions for arguments."""
        return Factory(self.p, {**self.callable_args, **makers})


class HasFactories(Module):
    """Modules whose class makes factories."""

    @classmethod
    def with_args(cls, **settings):
        """Return a factory of such modules."""
        return Factory(partial(cls, **settings))

    @classmethod
    def with_callable_args(cls, **makers):
        """Return a factory of such modules that calls these functions for arguments."""
        return Factory(partial(cls), makers)


class ObserverBase(HasFactories):
    """Module that observes its inputs and derives a scale and zero point."""

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def calculate_qparams(self, **kwargs):
        """Return (scale, zero point)."""
        raise NotImplementedError(f"{type(self).__name__} finds no scale")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was observed yet."""
        return False


class UniformQuantizationObserverBase(ObserverBase):
    """Observers of ranges divided evenly, from `quant_min` to `quant_max`."""

    _schemes: tuple = schemes.PER_TENSOR
    _dtype, _scheme = dt.quint8, schemes.per_tensor_affine
    _version = 3

    def __init__(self, dtype=None, qscheme=None, reduce_range=False, quant_min=None, quant_max=None, factory_kwargs=None,
                 eps=EPS, is_dynamic=False, **others):
        super().__init__(self._dtype if dtype is None else dtype, is_dynamic)
        if others:
            raise ArgumentError(f"{type(self).__name__} does not take {', '.join(others)}")
        self.qscheme, self.reduce_range = self._scheme if qscheme is None else schemes.qscheme(qscheme), reduce_range
        self._tensor_options = {"dtype": dt.float32, **(factory_kwargs or {})}
        if self.dtype not in RANGES:
            raise ArgumentError(f"{type(self).__name__} takes a dtype of {', '.join(map(str, RANGES))}, got {self.dtype.name}")
        if self.qscheme not in self._schemes:
            raise ArgumentError(f"{type(self).__name__} takes a qscheme of {', '.join(self._schemes)}, got {self.qscheme}")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        self.quant_min, self.quant_max = self._limits(quant_min, quant_max)
        self.register_buffer("eps", FUNCTIONS["tensor"]([eps], **self._tensor_options))
        self._least_scale = eps

    def _limits(self, least, most):
        """Return the first and last step; half as many steps with `reduce_range`."""
        lowest, highest = RANGES[self.dtype]
        if not self.has_customized_qrange:
            least, most = lowest, highest
        elif not lowest <= least <= 0 <= most <= highest or least == most:
            raise ArgumentError(f"{type(self).__name__}: quant_min and quant_max are a range of {self.dtype.name} that 0 is a "
                                f"part of, got {least} and {most}")
        return (least // 2, most // 2) if self.reduce_range else (least, most)

    @property
    def is_symmetric(self) -> bool:
        """Whether steps are symmetric about zero."""
        return self.qscheme in schemes.SYMMETRIC

    def steps_between(self, low, high):
        """Return (scale, zero point) for the ends of ranges."""
        kind = SYMMETRIC if self.is_symmetric else AFFINE
        if self.qscheme == schemes.per_channel_affine_float_qparams:
            kind = FLOATING
        middle = 0
        if self.is_symmetric and RANGES[self.dtype][0] == 0:
            middle = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
        with no_grad():
            return steps_between(low, high, self.quant_min, self.quant_max, kind, eps=self._least_scale, middle=middle)

    def reset_min_max_vals(self):
        """Forget the observations."""
        raise NotImplementedError(f"{type(self).__name__} cannot forget what it has seen")

    def _load_from_state_dict(self, state_dict, prefix, *others):
        make_room(self, state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *others)
        self._least_scale = float(self.eps)


def first_time(module):
    """Tell a trace that a module resizes buffers for channels, which happens once."""
    if tls.m.recorder is not None:
        tls.m.recorder.only_once(f"a {type(module).__name__} took its sizes from its first input")


def make_room(module, state_dict, prefix):
    """Resize a module's buffers to those in a saved state: there is one scale for each observed channel."""
    for name, own in list(module._buffers.items()):
        saved = state_dict.get(prefix + name)
        if saved is not None and saved.shape != own.shape:
            module._buffers[name] = own.new_empty(saved.shape)
