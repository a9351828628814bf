"""Modules whose sizes come from the first input."""

from ....ir.errors import ArgumentError
from ...state.mode import tls
from .module import Module
from .parameter import is_lazy


class LazyModuleMixin(Module):
    """Mixin for lazy modules, before the module's own class. Subclasses define initialize_parameters(*args), which sets the
    shapes, and may set `cls_to_become`, the class after the first call."""

    cls_to_become: type | None = None

    def __init_subclass__(cls, becomes=None, **options):
        super().__init_subclass__(**options)
        cls.cls_to_become = becomes or cls.cls_to_become

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer has no shape yet."""
        own = self.__dict__
        return any(is_lazy(t) for table in ("_parameters", "_buffers") for t in own.get(table, {}).values() if t is not None)

    def initialize_parameters(self, *args, **kwargs):
        """Set shapes from the first input; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define initialize_parameters()")

    def __call__(self, *args, **kwargs):
        if self.has_uninitialized_params():
            self.initialize_parameters(*args, **kwargs)
            if self.has_uninitialized_params():
                raise ArgumentError(f"{type(self).__name__}.initialize_parameters left a parameter without a shape; call its "
                                    "materialize(shape)")
            if tls.m.recorder is not None:
                tls.m.recorder.only_once(f"a {type(self).__name__} took its sizes from its first input")
        if self.cls_to_become is None:
            return super().__call__(*args, **kwargs)
        self.__class__ = self.cls_to_become
        return self(*args, **kwargs)
