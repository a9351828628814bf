"""Loads the package from the root of the repository, whatever its folder is called.

An editable install has the folder `stubs` on its path (`tools/packaging/backend.py`), for type checkers. Files keep their real
paths: the module that `import ingot` gives is the root's, and breakpoints there are hit. Wheels do not contain this file.
"""

import importlib.util
import pathlib
import sys

_root = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("ingot", _root / "__init__.py", submodule_search_locations=[str(_root)])
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
sys.modules["ingot"] = _module
_spec.loader.exec_module(_module)
