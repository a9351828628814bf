"""Samples of choices between whole values."""

import numpy as np

from . import Sample, samples


@samples("choose")
def _choose(rng):
    for shape in ((3, 4), (), (2, 0)):
        for pred in (True, False):
            yield Sample((np.array(pred), np.asarray(rng.standard_normal(shape)), np.asarray(rng.standard_normal(shape))),
                         dtypes="any")
