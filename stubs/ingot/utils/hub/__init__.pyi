"""`ingot.hub` and `ingot.utils.model_zoo`: local models and weights."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.hub import download_url_to_file as download_url_to_file
from ingot.hub import get_dir as get_dir
from ingot.hub import help as help
from ingot.hub import list as list
from ingot.hub import load as load
from ingot.hub import load_state_dict_from_url as _load_state_dict_from_url
from ingot.hub import load_state_dict_from_url as load_state_dict_from_url
from ingot.hub import set_dir as set_dir
from ingot.hub import tqdm as tqdm

load_url = _load_state_dict_from_url
