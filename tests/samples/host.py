"""Samples of host calls."""

from ingot.ir.ops.core.host_call import FUNCTIONS

from . import Sample, samples

FUNCTIONS["samples.double"] = lambda x: (x * 2,)


@samples("host_call")
def _(rng):
    yield Sample((rng.standard_normal((2, 3)),), {"function": "samples.double", "results": (((2, 3), "float64"),)}, grad=False,
                 dtypes=("float64",))


@samples("place")
def _(rng):
    for shape in ((2, 3), (), (0, 2)):
        yield Sample((rng.standard_normal(shape),), {"device": "cpu", "source": "cpu", "wait": True}, dtypes=("float64",))
