"""`ingot.hub` and `ingot.utils.model_zoo`: local models and weights."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

def download_url_to_file(url: _t.Any, dst: _t.Any, hash_prefix: _t.Any = None, progress: _b.bool = True) -> _t.Any:
    """Raise: ingot opens no connections."""
def get_dir() -> _b.str:
    """Return the folder of repositories, with weights in `checkpoints`: that of `set_dir`, else `hub` below $TORCH_HOME,
    else in the user's cache."""
def help(github: _t.Any, model: _t.Any, force_reload: _b.bool = False, skip_validation: _b.bool = False,
         trust_repo: _t.Any = None, *, source: _b.str = 'local') -> _t.Any:
    """Return the docstring of a model."""
def list(github: _t.Any, force_reload: _b.bool = False, skip_validation: _b.bool = False,
         trust_repo: _t.Any = None, verbose: _b.bool = True, *, source: _b.str = 'local') -> _b.list[_t.Any]:
    """Return the names of the models of a folder's hubconf.py."""
def load(repo_or_dir: _t.Any, model: _t.Any, *args: _t.Any, source: _b.str = 'github',
         trust_repo: _t.Any = None, force_reload: _b.bool = False, verbose: _b.bool = True,
         skip_validation: _b.bool = False, **kwargs: _t.Any) -> _t.Any:
    """Call the function `model` of a folder's hubconf.py; source must be "local"."""
def load_state_dict_from_url(url: _t.Any, model_dir: _t.Any = None, map_location: _t.Any = None,
                             progress: _b.bool = True, check_hash: _b.bool = False, file_name: _t.Any = None,
                             weights_only: _b.bool = True) -> _t.Any:
    """Load the weights at an address, from the file of that name in `model_dir` (default `checkpoints` below
    `get_dir()`)."""
def set_dir(d: _t.Any) -> None:
    """Set the folder of repositories and weights."""
def tqdm(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Return a progress bar of the package tqdm, or a silent one without it."""

load_url = load_state_dict_from_url
