"""Move to another device. Inside a graph it is the value itself: the runtime decides where memory lies."""

import numpy as np

from ...opdef.op import Host, op

place = op("place", infer=lambda x, *, device, source, wait: x,
           ref=lambda x, *, device, source, wait: np.array(x, order="C"),
           vjp=(lambda g, out, x, *, device, source, wait: place(g, device=source, source=device, wait=True),),
           lower=Host(), traits=("exact", "place", "float8", "keeps_order"),
           doc="A copy on `device` of a value on `source`; without `wait` it may still be on its way.")
