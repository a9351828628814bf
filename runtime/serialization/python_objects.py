"""Files of Python objects, such as whole modules: an ingot file of their tensors, and a pickle of everything else.

`save` writes this form only for what plain data cannot hold. `load` reads it with `PickleMachine`, which runs nothing. It
builds objects of ingot's own modules, and of classes that the user allows (`add_safe_globals`).
"""

import io
import pickle
from functools import cache

from ...ir import dtype as dt
from ...ir.errors import FileError
from .. import nn
from ..api.register.layouts import layout_named
from ..api.register.memory_formats import format_of
from ..api.register.torch_function import unasked
from ..api.sparse.sparse_factories import rebuilt
from ..api.tensor_classes.subclasses import as_class
from ..core.device import Device
from ..core.tensor import Size, Tensor
from ..interop.tensor_protocols import attributes_of
from ..masked.masked_tensor_class import made_again as masked_again
from ..nested.jagged import made_again
from ..nested.strided_nested import samples_again
from ..nn.base.hooks import Hooks
from ..nn.base.parameter import Buffer, Owned, Parameter, kept_again, owned_again, uninitialized_again
from ..nn.functional import activation
from ..nn.layers.linear import NonDynamicallyQuantizableLinear
from ..stored_weights.stored_weight import stored_again
from . import archive as container
from . import numpy_pickles
from .safe_unpickler import PLAIN_GLOBALS, Callable_, PickleMachine, are_atoms, are_plain
from .tensor_class_names import REBUILDS

_PROTOCOL = 4


class _Pickler(pickle.Pickler):
    """Pickler that collects tensors instead of pickling them."""

    def __init__(self, file):
        super().__init__(file, _PROTOCOL)
        self.tensors: list = []
        self.indices: dict[int, int] = {}

    def persistent_id(self, obj):
        if type(obj) not in (Tensor, Parameter, Buffer):
            return None
        if id(obj) not in self.indices:
            self.indices[id(obj)] = len(self.tensors)
            self.tensors.append(obj)
        return self.indices[id(obj)]

    def reducer_override(self, obj):
        """Reduce a tensor of a user's class to a plain one, which is collected, and its rebuild function; a traced module to
        the module that it stays, since files hold no recordings."""
        held = getattr(type(obj), "_plain_module", None)
        if held is not None:
            return held(obj).__reduce_ex__(_PROTOCOL)
        if not isinstance(obj, Tensor) or type(obj).__reduce_ex__ not in (Tensor.__reduce_ex__, Owned.__reduce_ex__):
            return NotImplemented
        with unasked():
            plain = obj.detach().as_subclass(Tensor)
        return of_class, (plain, type(obj), obj.requires_grad), attributes_of(obj) or None


def of_class(plain, cls, requires_grad):
    """Return a tensor of a user's class."""
    if type(plain) is not Tensor or not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise FileError("a tensor of a class that is none of tensors")
    with unasked():
        return as_class(plain.detach(), cls).requires_grad_(requires_grad is True)


def _entries(*functions, **how) -> dict:
    return {f"{fn.__module__}.{fn.__qualname__}": Callable_(fn, **how) for fn in functions}


_TABLE = (PLAIN_GLOBALS | _entries(Device, dt.by_name, format_of, layout_named, accepts=are_atoms)
          | _entries(Size, accepts=are_plain) | _entries(Hooks, of_class, kept_again, owned_again, uninitialized_again)
          | _entries(made_again, masked_again, rebuilt, samples_again, stored_again, with_data=True))


@cache
def _modules() -> frozenset:
    """Return ingot's own modules, and the options of some, which files may hold without permission."""
    own = [c for c in (*vars(nn).values(), NonDynamicallyQuantizableLinear) if isinstance(c, type) and issubclass(c, nn.Module)]
    return frozenset([*own, nn.LinearCrossEntropyOptions])


@cache
def _held() -> tuple:
    """Return functions that ingot's own modules hold, such as activations of transformer layers. No file may call them."""
    return tuple([fn for fn in (getattr(nn.functional, name) for name in nn.functional.__all__)
                  if getattr(fn, "__module__", None) == activation.__name__])


def table() -> dict:
    """Return the names that files may use without permission."""
    classes = {f"{c.__module__}.{c.__qualname__}": c for c in (*_modules(), *_held())}
    return _TABLE | _entries(*REBUILDS, with_data=True) | numpy_pickles.GLOBALS | classes


def write(obj, file) -> None:
    """Write any picklable object to an open binary file; write nothing if pickling fails."""
    memory = io.BytesIO()
    pickler = _Pickler(memory)
    pickler.dump(obj)
    container.write(pickler.tensors, file, {container.OBJECTS: memory.getvalue()})


def read(archive, where):
    """Return the object of a file, its tensors on the devices `where(location)`."""
    tensors, pickled = container.read(archive, where), io.BytesIO(archive.text(container.OBJECTS))
    try:
        return PickleMachine(table(), tensors.__getitem__, archive.budget, _modules(), numpy_pickles.KINDS,
                             numpy_pickles.restore).run(pickled)
    except FileError as e:
        if "add_safe_globals" in str(e):        # it names the class
            raise
        raise FileError(f"{e}. The file holds Python objects: allow their classes with "
                        "ingot.serialization.add_safe_globals([...]), or save a state_dict() instead") from e
