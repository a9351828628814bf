"""Assignment of qconfigs to modules: by name, by a pattern of names, by type, or for all."""

import re

from ..nn.base.module import Module
from ..nn.utils.parametrize import type_before_parametrizations
from .qconfig import get_default_qat_qconfig, get_default_qconfig

__all__ = ["QConfigMapping", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping"]


class QConfigMapping:
    """Qconfigs of modules. The most specific setting counts; None excludes. From the most specific: the n-th module of a type
    in a module, its name (or the nearest module around it), a pattern of names, its type, all."""

    def __init__(self):
        self.global_qconfig = None
        self.object_type_qconfigs: dict = {}
        self.module_name_regex_qconfigs: dict = {}
        self.module_name_qconfigs: dict = {}
        self.module_name_object_type_order_qconfigs: dict = {}

    def set_global(self, global_qconfig):
        """Set the qconfig of all modules."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type, qconfig):
        """Set the qconfig of modules of a class."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex, qconfig):
        """Set the qconfig of modules whose whole name matches a pattern; the first match counts."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name, qconfig):
        """Set the qconfig of a module and all that it contains."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(self, module_name, object_type, index, qconfig):
        """Set the qconfig of the n-th module of a class in a module, in the order of definition."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def to_dict(self) -> dict:
        """Return the settings as a dictionary of lists of pairs."""
        orders = [(*key, q) for key, q in self.module_name_object_type_order_qconfigs.items()]
        return {"": self.global_qconfig, "object_type": list(self.object_type_qconfigs.items()),
                "module_name_regex": list(self.module_name_regex_qconfigs.items()),
                "module_name": list(self.module_name_qconfigs.items()), "module_name_object_type_order": orders}

    @classmethod
    def from_dict(cls, qconfig_dict):
        """Return a mapping from such a dictionary; parts may be missing."""
        made = cls().set_global(qconfig_dict.get(""))
        for part in ("object_type", "module_name_regex", "module_name", "module_name_object_type_order"):
            for item in qconfig_dict.get(part, ()):
                getattr(made, f"set_{part}")(*item)
        return made

    def for_modules(self, model: Module) -> dict:
        """Return {name: qconfig} of all modules of a model."""
        kinds = {path: type_before_parametrizations(m) for path, m in model.named_modules(remove_duplicate=False)}
        counts: dict = {}
        found = {}
        for path, kind in kinds.items():
            parent = path.rpartition(".")[0]
            number = counts[parent, kind] = counts.get((parent, kind), -1) + 1
            found[path] = self._for(path, kind, (parent, kind, number))
        return found

    def _for(self, path, kind, order):
        if order in self.module_name_object_type_order_qconfigs:
            return self.module_name_object_type_order_qconfigs[order]
        for name in [path.rsplit(".", n)[0] for n in range(path.count(".") + 1)]:
            if name in self.module_name_qconfigs:
                return self.module_name_qconfigs[name]
        for pattern, qconfig in self.module_name_regex_qconfigs.items():
            if re.match(pattern, path):
                return qconfig
        return self.object_type_qconfigs.get(kind, self.global_qconfig)

    def __repr__(self):
        parts = "".join(f"\n {name}: {value!r}" for name, value in self.to_dict().items())
        return f"QConfigMapping ({parts}\n)"


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """Return a mapping of all layers to the range of least error."""
    return QConfigMapping().set_global(get_default_qconfig(backend, version))


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """Return a mapping for training of all layers, by moving averages of ranges."""
    return QConfigMapping().set_global(get_default_qat_qconfig(backend, version))
