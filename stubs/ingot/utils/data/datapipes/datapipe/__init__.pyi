"""Datasets that chain: `IterDataPipe` and `MapDataPipe`, whose classes can be called as methods of others."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.utils.data import IterDataPipe as IterDataPipe
from ingot.utils.data import MapDataPipe as MapDataPipe
from ingot.utils.data import functional_datapipe as functional_datapipe
