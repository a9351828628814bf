"""Python state in exports: what is read is listed as constants, what is written is refused, caught errors are raised."""

import os
import time
import warnings

import pytest

import ingot
from ingot import jit, nn
from ingot.jit.exporting.capture.size_variants import optimized, record
from ingot.jit.exporting.file.writer import Content

SCALE, OPTIONS, LOG = 2.0, {"k": 3.0, "unread": 1}, []
SIZES = (None, {"x": {0: "batch"}})


class Holder:
    gain = 5.0


HOLDER = Holder()


def helper(x):
    return x * HOLDER.gain


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.factor, self.flag, self.unread, self.steps = nn.Linear(4, 3), 2.0, True, "no", 0
        self.register_buffer("mean", ingot.zeros(3))

    def forward(self, x):
        y = self.inner(x)
        if self.flag:
            y = y * self.factor
        return helper(y) * SCALE * OPTIONS["k"]


def writes(net, x):
    net.steps += 1
    return net.inner(x)


def keeps(net, x):
    net.last = net.inner(x)
    return net.last


def appends(net, x):
    LOG.append(1)
    return net.inner(x)


def replaces(net, x):
    net.mean = net.mean + 1
    return net.inner(x)


def catches(net, x):
    try:
        net.inner.weight.add_(1)
    except RuntimeError:
        return x
    return net.inner(x)


def reads_the_clock(net, x):
    return net.inner(x) * time.time()


def prints(net, x):
    print(end="")
    return net.inner(x)


REFUSED = {writes: r"writes to net\.steps \(in .*test_python_state", keeps: r"writes to net\.last", appends: "writes to LOG",
           replaces: r"writes to net\.mean", catches: r"writes to inner\.weight at .*test_python_state",
           reads_the_clock: r"reads the clock at .*test_python_state", prints: "it prints at .*test_python_state"}


def program(forward):
    return type("Program", (Net,), {"forward": forward})().eval()


@pytest.mark.parametrize("sizes", SIZES, ids=("fixed", "symbolic"))
@pytest.mark.parametrize("forward", REFUSED, ids=lambda f: f.__name__)
def test_what_a_file_cannot_do_is_refused_with_the_line(forward, sizes):
    with pytest.raises(ingot.IngotError, match=REFUSED[forward]):
        record(program(forward), (ingot.ones(5, 4),), sizes)


@pytest.mark.parametrize("sizes", SIZES, ids=("fixed", "symbolic"))
def test_python_state_that_was_read_is_listed(sizes):
    made = record(Net().eval(), (ingot.ones(5, 4),), sizes)
    constants = Content(made, *optimized(made, freeze=False)).manifest["constants"]
    found = {name: text.partition(" (read in ")[0] for name, text in constants.items()}
    assert found == {"Net.flag": "True", "Net.factor": "2.0", "SCALE": "2.0", "OPTIONS['k']": "3.0", "HOLDER.gain": "5.0"}
    assert os.path.basename(__file__) in constants["SCALE"]


def test_onnx_models_list_it_too():
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(jit.to_onnx(Net().eval(), (ingot.ones(5, 4),), verify=False))
    assert {p.key: p.value for p in model.metadata_props}["Net.factor"] == "2.0"


def test_warnings_are_shown_at_the_export():
    def forward(net, x):
        warnings.warn("look", stacklevel=1)
        return net.inner(x)

    with pytest.warns(UserWarning, match="look"):
        record(program(forward), (ingot.ones(5, 4),))


def test_buffers_may_be_replaced_where_state_is_kept():
    made = record(program(replaces), (ingot.ones(5, 4),), stateful=True)
    assert made.signature.state == ("mean",)
