"""The public stubs: `stubs/ingot/**/__init__.pyi`, one for each path that users import, complete in themselves.

Type checkers, editors and jedi read this tree alone: it imports nothing of `ingot.runtime`, so no checker analyses the source.
A class or function is defined on the page of its shortest path; other pages import it from there. Private classes are merged
into the public classes below them, and have a page only if an annotation names them.

Types come from annotations, then from texts in `hand_written`, then from the code (`inference`) and from the names of
parameters (`parameters`). A public path is a folder with an `__init__.pyi`, never a file: pyright asks for the source of each
stub, and takes the folder for it.
"""

import importlib
import types

import ingot
from ingot.paths import PUBLIC
from ingot.runtime import api

from .hand_written import Texts
from .page import PREFIX, Page

FOLDER = "stubs/ingot"

# Modules of public packages that are imported by their own path, too.
INSIDE = {
    "amp": ("autocast_mode", "grad_scaler"), "backends": ("cpu", "cuda", "mkl", "mps", "openmp"),
    "cuda": ("graphs", "memory", "nvtx", "profiler", "random", "streams"), "distributed": ("rpc",),
    "distributions": ("categorical", "constraint_registry", "constraints", "distribution", "gamma", "kl", "transforms"),
    "fx": ("graph", "graph_module", "immutable_collections", "interpreter", "node", "passes", "proxy", "subgraph_rewriter"),
    "multiprocessing": ("reductions", "spawn"),
    "nn": ("attention", "common_types", "functional", "grad", "init", "modules", "parallel", "parameter", "utils"),
    "nn.parallel": ("data_parallel", "distributed"),
    "nn.utils": ("clip_grad", "convert_parameters", "fusion", "memory_format", "parametrizations", "parametrize", "prune",
                 "rnn", "stateless", "weight_norm"),
    "optim": ("adam", "lbfgs", "lr_scheduler", "optimizer", "sgd", "sparse_adam", "swa_utils"),
    "quantization": ("fake_quantize", "qconfig"), "signal": ("windows",),
    "utils.data": ("dataloader", "dataset", "distributed", "sampler"),
}
SAME_PATH = ("generation", "jit")        # public, and imported by the path of the source
NOT_LOADED = {"as_torch": "ingot under the name `torch`."}      # importing it renames classes, here too
LAST_HOMES = ("array_api", "ao", "nested", "return_types", "types", "overrides")      # they repeat names


def public_paths() -> list:
    """Return the paths below the package that users import."""
    paths = {path for path in PUBLIC if not path.startswith("_")} | {*SAME_PATH}
    for parent, names in INSIDE.items():
        paths |= {f"{parent}.{name}" for name in names}
    return sorted(paths)


def parents(path: str) -> list:
    """Return the packages above a path."""
    names = path.split(".")
    return [".".join(names[:i]) for i in range(1, len(names))]


def names_of(module) -> dict:
    """Return {name: object} of what a module promises: its `__all__`, or what it defines, and what it loads late."""
    named = getattr(module, "__all__", None)
    if named is None:
        named = [n for n, value in vars(module).items() if not n.startswith("_")
                 and getattr(value, "__module__", None) == module.__name__]
    if type(module) is not types.ModuleType:        # such as `backends.cudnn`, whose switches are properties
        named = [*named, *[n for n, value in vars(type(module)).items() if isinstance(value, property)]]
    late = vars(module).get("_LATE", ())
    names = dict.fromkeys([*named, *late, *(["__version__"] if module is ingot else [])])
    values = {name: getattr(module, name) for name in sorted(names) if hasattr(module, name)}
    return {name: getattr(value, name) if isinstance(value, types.ModuleType) and callable(value) else value
            for name, value in values.items()}       # `autograd.gradcheck` is a function and a module


def is_path(name: str) -> bool:
    """Return whether `import name` works."""
    try:
        return isinstance(importlib.import_module(name), types.ModuleType)
    except ModuleNotFoundError:
        return False


class Tree:
    """All pages, with the home of each class and function."""

    def __init__(self):
        api.load_rest()
        api.load_twins()
        paths = {*public_paths()}
        paths |= {f"{path}.{name}" for path in paths for name, value in names_of(importlib.import_module(PREFIX + path)).items()
                  if isinstance(value, types.ModuleType) and is_path(f"{PREFIX}{path}.{name}")}
        self.paths = sorted(paths | {parent for path in paths for parent in parents(path)} | {""})
        self.modules = {path: importlib.import_module(PREFIX + path if path else "ingot") for path in self.paths}
        self.names = {path: names_of(module) for path, module in self.modules.items()}
        self.texts = Texts(self.paths)
        self.homes: dict = {}
        for path in sorted(self.paths, key=lambda p: (p.split(".")[0] in LAST_HOMES, p.count(".") + bool(p), p)):
            mine = self.names[path].items()
            for name, thing in sorted(mine, key=lambda item: item[0] != getattr(item[1], "__name__", None)):
                if isinstance(thing, (type, types.FunctionType)) and (thing.__module__ or "").startswith("ingot"):
                    self.homes.setdefault(thing, (path, name))
        self.waiting: dict = {path: [] for path in self.paths}        # private classes that annotations name
        self.pages = {path: Page(self, path) for path in self.paths}

    def home(self, cls, page) -> tuple:
        """Return (path, name) of a class; a private one gets its home on the page that needs it first."""
        if cls not in self.homes:
            name = "_" + cls.__name__.lstrip("_")
            while any(self.homes.get(c) == (page.path, name) for c in self.homes):
                name += "_"
            self.homes[cls] = (page.path, name)
            self.waiting[page.path].append(cls)
        return self.homes[cls]

    def files(self) -> dict:
        """Return {file: text} of the stubs."""
        for page in self.pages.values():
            page.write()
        while any(self.waiting.values()):
            for path, classes in self.waiting.items():
                while classes:
                    self.pages[path].cls(*self.homes[classes[0]][1:], classes.pop(0))
        files = {f"{FOLDER}/{path}/__init__.pyi": f'"""{doc}"""\n' for path, doc in NOT_LOADED.items()}
        for path, page in self.pages.items():
            folder = f"{FOLDER}/{path.replace('.', '/')}".rstrip("/")
            files[f"{folder}/__init__.pyi"] = page.text()
        return dict(sorted((files | {f"{FOLDER}/py.typed": ""}).items()))
