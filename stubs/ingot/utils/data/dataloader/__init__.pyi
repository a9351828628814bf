"""DataLoader: batches of a dataset, fetched in this process or in workers."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.utils.data import DataLoader as DataLoader
from ingot.utils.data import default_collate as default_collate
from ingot.utils.data import default_convert as default_convert
from ingot.utils.data import get_worker_info as get_worker_info
