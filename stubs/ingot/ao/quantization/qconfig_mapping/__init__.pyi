"""Assignment of qconfigs to modules: by name, by a pattern of names, by type, or for all."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.quantization import QConfigMapping as QConfigMapping
from ingot.quantization import get_default_qat_qconfig_mapping as get_default_qat_qconfig_mapping
from ingot.quantization import get_default_qconfig_mapping as get_default_qconfig_mapping
