"""The type stubs: `stubs/ingot/**` for users, `runtime/core/tensor.pyi` for mypy on the source of the package.

`python -m ingot.tools.stubs` writes them from the live package; with `--check` it fails if committed stubs are out of date.
Types of users stand in one complete tree below a folder `ingot`: the wheel has its files inside of the package, an editable
install adds `stubs` to the path (`tools/packaging/backend.py`), and `pyproject.toml` names it for checkers in a checkout.
A package `ingot-stubs` would not do: pyright warns on each import of a path that has no file of its own in the package.
"""

from pathlib import Path

import ingot

from .internal import late_methods, tensor_stub
from .public import FOLDER, Tree

ROOT = Path(ingot.__file__).parent


def contents() -> dict:
    """Return {file: text} of all that is written."""
    public = Tree().files()
    return {"runtime/core/tensor.pyi": tensor_stub(), "runtime/api/register/lazy_method_names.py": late_methods(), **public}


def difference(root: Path, files: dict) -> list:
    """Return the files below a root that are not what they should be, and stubs that should not be there."""
    stale = [name for name, text in files.items() if not (root / name).exists() or (root / name).read_text() != text]
    there = [file.relative_to(root).as_posix() for file in sorted((root / FOLDER).rglob("*.pyi"))]
    return stale + [name for name in there if name not in files]


def write(root: Path, files: dict) -> None:
    """Write the files, and remove stubs of paths that are gone."""
    for name in difference(root, files):
        file = root / name
        if name in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(files[name])
        else:
            file.unlink()
