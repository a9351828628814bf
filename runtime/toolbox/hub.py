"""`ingot.hub` and `ingot.utils.model_zoo`: local models and weights.

Nothing here opens a connection. A file that would be downloaded is read from its place below `get_dir()`; if it is missing, the
error names address and place.
"""

import hashlib
import importlib.util
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from ...ir.errors import ArgumentError, FileError
from ...ir.process_state import import_folder
from ..serialization.save_load import load as load_file
from ..state.switches import Switch, question

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "load_url", "set_dir",
           "tqdm"]

_CONF = "hubconf.py"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")       # the start of the hash in names of weight files
_folder = Switch("the folder of ingot.hub", None)


@question
def get_dir() -> str:
    """Return the folder of repositories, with weights in `checkpoints`: that of `set_dir`, else `hub` below $TORCH_HOME,
    else in the user's cache."""
    return _folder.peek() or os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d):
    """Set the folder of repositories and weights."""
    _folder.set(os.path.expanduser(d))


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None,
                             weights_only=True):
    """Load the weights at an address, from the file of that name in `model_dir` (default `checkpoints` below `get_dir()`).

    `check_hash` compares the file's SHA-256 with the digits in its name, as in `resnet-0676ba61.pth`. `progress` is ignored: a
    file of this machine needs no bar. `weights_only` is ignored: no code in a file is run.
    """
    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    path = folder / (file_name or os.path.basename(urlparse(url).path))
    if not path.exists():
        raise FileError(f"ingot downloads nothing: save {url} as {path}, and this call finds it")
    if check_hash:
        _require_hash(path)
    return load_file(path, map_location=map_location)


def _require_hash(path):
    """Raise unless the file's SHA-256 begins with the digits in its name."""
    named = HASH_REGEX.search(path.name)
    if named is None or not named[1]:
        raise ArgumentError("load_state_dict_from_url: check_hash=True needs a name with a hash, such as resnet-0676ba61.pth, "
                            f"got {path.name}")
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if not found.startswith(named[1]):
        raise FileError(f"{path} is damaged or another file: its SHA-256 is {found} and does not begin with {named[1]}; save "
                        "it again")


load_url = load_state_dict_from_url


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Raise: ingot opens no connections."""
    raise FileError(f"ingot downloads nothing: save {url} as {dst} with a program of your choice")


def _conf(repo_or_dir, source) -> Any:
    if source != "local":
        raise ArgumentError(f"hub takes repositories from folders only: clone {repo_or_dir!r} and pass its folder with "
                            f"source='local' (got source={source!r})")
    path = Path(repo_or_dir, _CONF)
    if not path.exists():
        raise FileError(f"hub: there is no {_CONF} in {repo_or_dir}")
    spec: Any = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    with import_folder(os.fspath(repo_or_dir)):
        spec.loader.exec_module(module)
    return module


def _entry(repo_or_dir, model, source):
    found = getattr(_conf(repo_or_dir, source), model, None)
    if not callable(found):
        raise ArgumentError(f"hub: {repo_or_dir} has no model {model!r}")
    return found


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False, verbose=True, skip_validation=False,
         **kwargs):
    """Call the function `model` of a folder's hubconf.py; source must be "local".

    `trust_repo`, `force_reload`, `verbose` and `skip_validation` are ignored: they are about downloads, and the folder is
    local.
    """
    return _entry(repo_or_dir, model, source)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True, *, source="local"):
    """Return the names of the models of a folder's hubconf.py.

    `force_reload`, `skip_validation`, `trust_repo` and `verbose` are ignored: they are about downloads, and the folder is
    local.
    """
    return [n for n, f in vars(_conf(github, source)).items() if callable(f) and not n.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None, *, source="local"):
    """Return the docstring of a model.

    `force_reload`, `skip_validation` and `trust_repo` are ignored: they are about downloads, and the folder is local.
    """
    return _entry(github, model, source).__doc__


class _Quiet:
    """A progress bar that shows nothing, without the package tqdm."""

    def __init__(self, iterable=None, *args, **kwargs):
        self.iterable = iterable

    def __iter__(self):
        return iter(self.iterable)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def update(self, n=1):
        """Do nothing."""

    def close(self):
        """Do nothing."""


def tqdm(*args, **kwargs):
    """Return a progress bar of the package tqdm, or a silent one without it."""
    try:
        from tqdm.auto import tqdm as bar
    except ImportError:
        return _Quiet(*args, **kwargs)
    return bar(*args, **kwargs)
