"""Rows of small programs: how graphs come to hold operators that only passes make.

Option `holds`: operators that the compiled graph has (`test_operators.py` looks).
"""

from ..row import FUNCTIONS, fill, function, prepare
from ..tensors import flatten, gradients, to_tensor
from . import kind


@kind("program")
def run(library, row, wrap):
    """Call the function `target` of the library; gradients for every leaf."""
    called = FUNCTIONS[row.target](library)
    args, given = prepare(library, row.args)

    def body(*tensors):
        out = flatten(library, called(*fill(args, tensors)))
        leaves = {str(i): t for i, (t, (_, leaf)) in enumerate(zip(tensors, given)) if leaf}
        return out | gradients(library, out, leaves)

    return wrap(body)(*[to_tensor(library, a, leaf) for a, leaf in given])


@function("training step")
def training_step(library):
    """Convolutions with normalisation and pools."""
    F = library.nn.functional

    def network(x, first, bias, gain, shift, second):
        y = F.conv2d(x, first, bias, padding=1)
        y = F.relu(F.batch_norm(y, None, None, gain, shift, True))
        y = F.max_pool2d(y, 2)
        return F.avg_pool2d(F.conv2d(y, second, None, padding=1), 2)

    return network


@function("inference")
def inference(library):
    """Convolutions with epilogues, one for each channel."""
    F = library.nn.functional

    def network(x, first, bias, each, second):
        y = F.relu(F.conv2d(x, first, bias, stride=2, padding=1))
        y = F.hardtanh(F.conv2d(y, each, None, padding=1, groups=each.shape[0]), 0.0, 6.0)
        y = F.conv2d(y, second, None)
        return F.avg_pool2d(F.max_pool2d(y, 2, 1), 2)

    return network


@function("recurrent layer")
def recurrent_layer(library):
    """An LSTM without gradients."""
    def layer(x, h, c, w_ih, w_hh):
        with library.no_grad():
            return library.lstm(x, (h, c), [w_ih, w_hh], False, 1, 0.0, False, False, False)

    return layer
