"""Names of the dtypes that no tensor of ingot has."""

from ...ir.dtype import complex32, qint8, quint8
from .register import FUNCTIONS

FUNCTIONS |= {d.name: d for d in (qint8, quint8, complex32)} | {"chalf": complex32}
